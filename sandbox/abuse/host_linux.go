package abuse

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/abuse/probe"
)

// processesWith lists the processes of the host that have the token on their
// command line and are not dead yet.
func processesWith(token string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && bytes.Contains(line, []byte(token)) {
			out = append(out, pid)
		}
	}
	return out
}

// awaitNone waits until no process has the token, and returns those that
// remain.
func awaitNone(token string, most time.Duration) []int {
	end := time.Now().Add(most)
	for {
		left := processesWith(token)
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// awaitSome waits until a process has the token.
func awaitSome(token string, most time.Duration) []int {
	end := time.Now().Add(most)
	for {
		if found := processesWith(token); len(found) > 0 || time.Now().After(end) {
			return found
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// slow is the longest that a process of the host may take to start while a
// box misbehaves.
const slow = time.Second

// responsive wants the host to be able to start a process, in good time.
func responsive(*trial) probe.Verdict {
	var most time.Duration
	for range 5 {
		began := time.Now()
		if err := exec.Command("true").Run(); err != nil {
			return probe.Breachf("the host cannot start a process: %v", err)
		}
		most = max(most, time.Since(began))
	}
	if most > slow {
		return probe.Breachf("starting a process on the host took %v", most)
	}
	return probe.Heldf("the host starts a process in %d ms", most.Milliseconds())
}

// status returns a field of /proc/PID/status.
func status(pid int, field string) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// initOf finds the first process of the box in which pid runs: the nearest
// ancestor, or any process of the same pid name space, that is number 1 there.
func initOf(pid int) int {
	space, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	if err != nil {
		return 0
	}
	for pid > 1 {
		numbers := strings.Fields(status(pid, "NSpid"))
		if len(numbers) > 1 && numbers[len(numbers)-1] == "1" {
			return pid
		}
		pid, _ = strconv.Atoi(status(pid, "PPid"))
		if s, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid"); err == nil && s != space {
			return 0
		}
	}
	return 0
}

// residentNow is the resident memory of this process, in bytes.
func residentNow() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// flat measures how far this process grows until stop is called, in bytes.
func flat() (stop func() int64) {
	begin, most := residentNow(), int64(0)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			most = max(most, residentNow()-begin)
			select {
			case <-quit:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(quit)
		<-done
		return most
	}
}

// baseline is what the host has of the things that leak.
type baseline struct {
	mounts, groups, orphans map[string]bool
	files                   int
	// ready is how many more groups a runtime may keep for its next boxes.
	ready int
}

func takeBaseline() baseline {
	files, _ := os.ReadDir("/proc/self/fd")
	return baseline{mounts: hostMounts(), groups: hostGroups(), orphans: orphans(), files: len(files)}
}

// hostMounts are the mounts that could be a box's: those that name us, and
// those below the directories that a box's root is built on. Other programs of
// the machine come and go with theirs.
func hostMounts() map[string]bool {
	b, _ := os.ReadFile("/proc/self/mountinfo")
	out := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		built := len(fields) > 4 && (within(fields[4], "/sys") || within(fields[4], "/proc"))
		if built || strings.Contains(line, "kintsugi") {
			out[line] = true
		}
	}
	return out
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// hostGroups are the control groups that a workbench of this user made and
// that hold no process: those of live boxes, perhaps of other workbenches, do.
func hostGroups() map[string]bool {
	out := map[string]bool{}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(d.Name(), "kintsugi") && isEmpty(path) {
			out[path] = true
		}
		return nil
	})
	return out
}

func isEmpty(group string) bool {
	var st unix.Stat_t
	b, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	return err == nil && len(b) == 0 && unix.Stat(group, &st) == nil && int(st.Uid) == os.Geteuid()
}

// orphans are first processes of boxes whose workbench is gone.
func orphans() map[string]bool {
	out := map[string]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		numbers := strings.Fields(status(pid, "NSpid"))
		if len(numbers) > 1 && numbers[len(numbers)-1] == "1" && status(pid, "PPid") == "1" && alive(pid) {
			out[e.Name()] = true
		}
	}
	return out
}

// alive says that a process is there and not just waiting to be counted.
func alive(pid int) bool {
	state := status(pid, "State")
	return state != "" && state[0] != 'Z' && state[0] != 'X'
}

// same wants nothing to have been added since before.
func (b baseline) same(now baseline) probe.Verdict {
	if m := added(b.mounts, now.mounts); len(m) > 0 {
		return probe.Breachf("%d mounts are left: %s", len(m), m[0])
	}
	if g := added(b.groups, now.groups); len(g) > b.ready {
		return probe.Breachf("%d control groups are left: %s", len(g), g[0])
	}
	if o := added(b.orphans, now.orphans); len(o) > 0 {
		return probe.Breachf("%d boxes outlive their workbench: process %s", len(o), o[0])
	}
	if now.files > b.files {
		return probe.Breachf("%d descriptors are left open", now.files-b.files)
	}
	return probe.Heldf("mounts, control groups and descriptors are as before")
}

func added(before, now map[string]bool) []string {
	var out []string
	for name := range now {
		if !before[name] {
			out = append(out, name)
		}
	}
	return out
}

// settled takes a baseline, giving what goes away in the background a moment.
func settled(want baseline) baseline {
	now := takeBaseline()
	for end := time.Now().Add(time.Second); time.Now().Before(end) && want.same(now).Verdict != probe.Held; {
		time.Sleep(20 * time.Millisecond)
		now = takeBaseline()
	}
	return now
}

// content is what a file of the host is now: its inode, links and bytes.
type content struct {
	inode, links uint64
	text         string
}

func contentOf(path string) (content, error) {
	var st unix.Stat_t
	b, err := os.ReadFile(path)
	if err = errors.Join(err, unix.Stat(path, &st)); err != nil {
		return content{}, err
	}
	return content{st.Ino, uint64(st.Nlink), string(b)}, nil
}
