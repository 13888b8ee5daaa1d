package abuse

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
)

// quotaPlans are those of quotas that the kernel keeps for a user or for the
// machine. While the box has what it took, the host asks for a little.
func quotaPlans() map[string]plan {
	return map[string]plan{
		"write-out":      {alone: true, setup: showsDirty, during: unwritten},
		"file-lease":     {setup: showFile, during: neverWaits},
		"async-requests": {alone: true, during: roomForRequests},
		"flying-files":   {alone: true, setup: usualFiles, during: stillSends},
		"fat-pipes":      {alone: true, setup: usualFiles, during: stillPipes},
		"epoll-watches":  {during: ownUser},
	}
}

// usualFiles gives the box as many open files as it has by default.
func usualFiles(t *trial) error {
	t.spec.Limits.OpenFiles = 0
	return nil
}

// roomForRequests wants room for asynchronous requests to be left on the
// machine.
func roomForRequests(*trial) probe.Verdict {
	number := func(name string) int {
		text, _ := os.ReadFile(filepath.Join("/proc/sys/fs", name))
		n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return n
	}
	used, most := number("aio-nr"), number("aio-max-nr")
	if used > most/2 {
		return probe.Breachf("%d of the machine's %d asynchronous requests are taken", used, most)
	}
	return probe.Heldf("%d of the machine's %d asynchronous requests are taken", used, most)
}

// commonFiles is how many files a program of the host may have open unless it
// asks for more: the soft limit that systemd sets.
const commonFiles = 1024

// stillSends wants a program of the host with the common limit to be able to
// send a descriptor.
func stillSends(*trial) probe.Verdict {
	var old unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		return probe.Errorf("%v", err)
	}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(commonFiles, old.Max), Max: old.Max}, nil); err != nil {
		return probe.Errorf("%v", err)
	}
	err := sendOne()
	if back := unix.Prlimit(0, unix.RLIMIT_NOFILE, &old, nil); back != nil {
		return probe.Errorf("%v", back)
	}
	if err != nil {
		return probe.Breachf("the host's user cannot send a descriptor: %v", err)
	}
	return probe.Heldf("the host's user can send descriptors")
}

func sendOne() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	return unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(pair[1]), nil, 0)
}

// stillPipes wants the host's user to get pipes of the usual size.
func stillPipes(*trial) probe.Verdict {
	const usual = 64 << 10
	var pair [2]int
	if err := unix.Pipe2(pair[:], unix.O_CLOEXEC); err != nil {
		return probe.Breachf("the host's user gets no pipe: %v", err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	size, err := unix.FcntlInt(uintptr(pair[0]), unix.F_GETPIPE_SZ, 0)
	if err != nil || size < usual {
		return probe.Breachf("the host's user gets pipes of %d bytes, %v", size, err)
	}
	return probe.Heldf("the host's user gets pipes of %d bytes", size)
}

// ownUser wants the kernel to count the box's watches as nobody's on the host.
// Using all of them up takes a minute, and the user's programs fail meanwhile.
func ownUser(t *trial) probe.Verdict {
	us := strconv.Itoa(os.Geteuid())
	for _, pid := range processesWith(t.token) {
		if slices.Contains(strings.Fields(status(pid, "Uid")), us) {
			return probe.Breachf("the kernel counts them as the user's")
		}
	}
	return probe.Heldf("the kernel counts them apart from the user's")
}

// showsDirty wants a scratch directory whose files can be seen to be in memory
// only.
func showsDirty(t *trial) error {
	pages, err := dirtyAfter(t.dir, 0)
	if err != nil {
		return notHere("the kernel does not tell what is on the disk: " + err.Error())
	}
	if pages == 0 {
		return notHere("the scratch directory is on no disk")
	}
	return nil
}

// unwritten wants what the host writes to stay in memory for a while. Others have
// the disk written out too, an engine with every container that ends, but not
// every time.
func unwritten(t *trial) probe.Verdict {
	const rounds = 25
	for n := range rounds {
		pages, err := dirtyAfter(t.dir, 100*time.Millisecond)
		if err != nil {
			return probe.Errorf("%v", err)
		}
		if pages > 0 {
			return probe.Heldf("what the host wrote stays in memory (look %d)", n+1)
		}
	}
	return probe.Breachf("what the host wrote was on the disk within 100 ms, %d times", rounds)
}

// dirtyAfter writes a file in dir, waits, and counts the pages of it that are
// not on the disk yet.
func dirtyAfter(dir string, wait time.Duration) (uint64, error) {
	f, err := os.CreateTemp(dir, "dirty-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		return 0, err
	}
	time.Sleep(wait)
	var st unix.Cachestat_t
	err = unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &st, 0)
	return st.Dirty, err
}

// showFile shows the box a file of the user.
func showFile(t *trial) error {
	path := filepath.Join(t.dir, "shown")
	t.spec.Mounts = append(t.spec.Mounts, sandbox.Mount{Source: path, Target: "/shown"})
	t.param("shown", "/shown")
	return os.WriteFile(path, []byte("shown"), 0o644)
}

// neverWaits wants the host's files to open for writing at once.
func neverWaits(t *trial) probe.Verdict {
	for _, path := range []string{filepath.Join(t.dir, "shown"), t.project("original")} {
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return probe.Breachf("whoever writes %s outside waits for the box", filepath.Base(path))
		}
		if err != nil {
			return probe.Errorf("%v", err)
		}
		unix.Close(fd)
	}
	return probe.Heldf("the host writes at once")
}
