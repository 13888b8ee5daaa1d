package probe

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// memoryBomb touches memory up to four times the limit, holds it for a
// moment so that a watcher gets its chance, and is dead by then.
func memoryBomb(a Args) Verdict {
	limit := a.Int("limit")
	for used := 0; used < 4*limit; used += 8 * mib {
		if err := touch(8 * mib); err != nil {
			return Heldf("refused at %d MiB", used/mib)
		}
	}
	time.Sleep(time.Second)
	return Breachf("%d MiB in use under a limit of %d MiB", 4*limit/mib, limit/mib)
}

func touch(size int) error {
	_, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	return err
}

// memoryMany uses many processes, each of which stays below the limit.
func memoryMany(a Args) Verdict {
	limit := a.Int("limit")
	const count = 16
	k := &kit{}
	size := limit / 8
	take := k.call(unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE, -1, 0)

	var children []int
	for range count {
		if pid, err := forkCalls([]call{take, k.pause()}); err == nil {
			children = append(children, pid)
		}
	}
	time.Sleep(700 * time.Millisecond)
	dead, total := reapDead(), 0
	for _, pid := range children {
		total += ownMemory(pid)
	}
	if total > limit {
		return Breachf("%d MiB in %d processes under a limit of %d MiB", total/mib, len(children)-dead, limit/mib)
	}
	return Heldf("%d of %d processes of %d MiB survived, with %d MiB", len(children)-dead, count, size/mib, total/mib)
}

// ownMemory is the memory of a process that it shares with nobody, in bytes.
func ownMemory(pid int) int {
	b, err := os.ReadFile("/proc/" + itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0
	}
	total := 0
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.Fields(line); len(f) == 3 && strings.HasPrefix(f[0], "Private_") {
			n, _ := strconv.Atoi(f[1])
			total += n << 10
		}
	}
	return total
}

func reapDead() int {
	n := 0
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return n
		}
		n++
	}
}

// memoryFile fills anonymous files, memory that no process has mapped.
func memoryFile(a Args) Verdict {
	limit, total := a.Int("limit"), 0
	for total < 2*limit {
		fd, err := unix.MemfdCreate("bomb", unix.MFD_CLOEXEC)
		if err != nil {
			return Heldf("memfd_create: %s at %d MiB", short(err), total/mib)
		}
		n, _ := fill(fd, limit/2)
		total += n
		if n == 0 {
			return Heldf("refused at %d MiB", total/mib)
		}
	}
	time.Sleep(time.Second)
	return Breachf("%d MiB in anonymous files under a limit of %d MiB", total/mib, limit/mib)
}

// memoryShared touches memory that it could share with others, up to four times
// the limit.
func memoryShared(a Args) Verdict {
	limit := a.Int("limit")
	for used := 0; used < 4*limit; used += 8 * mib {
		if _, err := unix.Mmap(-1, 0, 8*mib, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
			return Heldf("refused at %d MiB", used/mib)
		}
	}
	time.Sleep(time.Second)
	return Breachf("%d MiB of shared memory under a limit of %d MiB", 4*limit/mib, limit/mib)
}

// fill writes until the file takes no more, or most bytes.
func fill(fd, most int) (int, error) {
	block := make([]byte, mib)
	total := 0
	for total < most {
		n, err := unix.Write(fd, block)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// swapOut pushes what it touches out to swap, again and again.
func swapOut(a Args) Verdict {
	limit := a.Int("limit")
	for used := 0; used < 4*limit; used += 8 * mib {
		b, err := unix.Mmap(-1, 0, 8*mib, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
		if err != nil {
			return Heldf("refused at %d MiB", used/mib)
		}
		_ = unix.Madvise(b, unix.MADV_PAGEOUT)
	}
	time.Sleep(time.Second)
	return Breachf("%d MiB, swap included, under a limit of %d MiB", 4*limit/mib, limit/mib)
}

// lockMemory pins memory.
func lockMemory(a Args) Verdict {
	limit := a.Int("limit")
	locked := 0
	for locked <= limit {
		b, err := unix.Mmap(-1, 0, mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			break
		}
		if err := unix.Mlock(b); err != nil {
			return Heldf("%s after %d MiB", short(err), locked/mib)
		}
		locked += mib
	}
	return Breachf("%d MiB pinned", locked/mib)
}

// pipeBloat fills pipes of the greatest size.
func pipeBloat(a Args) Verdict {
	return bloat(a, func() (int, error) {
		fds := make([]int, 2)
		if err := unix.Pipe2(fds, unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			return 0, err
		}
		_, _ = unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, mib)
		return fds[1], nil
	})
}

// socketBloat fills socket buffers.
func socketBloat(a Args) Verdict {
	return bloat(a, func() (int, error) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return 0, err
		}
		_ = unix.SetsockoptInt(fds[1], unix.SOL_SOCKET, unix.SO_SNDBUF, 64*mib)
		return fds[1], nil
	})
}

// bloat makes and fills buffers in the kernel until descriptors or memory run
// out.
func bloat(a Args, open func() (int, error)) Verdict {
	total, files := 0, a.Int("files")
	for range 2 * files {
		fd, err := open()
		if err != nil {
			return Heldf("%s with %d MiB in buffers", short(err), total/mib)
		}
		n, _ := fill(fd, 64*mib)
		total += n
		if total > a.Int("limit") {
			return Breachf("%d MiB in buffers under a limit of %d MiB", total/mib, a.Int("limit")/mib)
		}
	}
	return Breachf("no limit met with %d MiB in buffers", total/mib)
}

// openFiles opens as many descriptors as it gets, and asks for more.
func openFiles(a Args) Verdict {
	limit := a.Int("limit")
	more := unix.Rlimit{Cur: uint64(16 * limit), Max: uint64(16 * limit)}
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &more)
	n := 0
	for n <= 4*limit {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			break
		}
		n++
	}
	hold()
	if n > limit {
		return Breachf("%d descriptors under a limit of %d", n, limit)
	}
	return Heldf("refused after %d descriptors of %d", n, limit)
}

// inotifyStarve takes all inotify instances that it gets and holds them.
func inotifyStarve(a Args) Verdict {
	n := 0
	var err error
	for n < a.Int("most") {
		if _, err = unix.InotifyInit1(unix.IN_CLOEXEC); err != nil {
			break
		}
		n++
	}
	_, fan := unix.FanotifyInit(unix.FAN_REPORT_FID, unix.O_RDONLY)
	hold()
	return Heldf("%d inotify instances, then %s; fanotify %s", n, short(err), short(fan))
}

// terminalStarve takes all pseudo-terminals that it gets and holds them.
func terminalStarve(a Args) Verdict {
	n := 0
	var err error
	for n < a.Int("most") {
		if _, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
			break
		}
		n++
	}
	hold()
	return Heldf("%d pseudo-terminals, then %s", n, short(err))
}

// lookups asks for names that do not exist, for half a second.
func lookups(Args) Verdict {
	dir, err := os.Getwd()
	if err != nil {
		return Errorf("%v", err)
	}
	n, end := 0, time.Now().Add(500*time.Millisecond)
	for time.Now().Before(end) {
		for range 1000 {
			n++
			_, _ = os.Lstat(dir + "/absent-" + time.Now().String())
		}
	}
	return Heldf("%d lookups of absent names in half a second", n)
}
