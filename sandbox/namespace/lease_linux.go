package namespace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// lease is what a slot's file says about the box in it: enough to clean up
// after a workbench that was killed. An empty file means no box.
type lease struct {
	// Init is the box's process 1 as the host counts, Born its start time,
	// which tells it from a later process with the same number.
	Init int    `json:"init,omitempty"`
	Born string `json:"born,omitempty"`
	// Works are overlay scratch directories; those in Own were made for the box.
	Works []string `json:"works,omitempty"`
	Own   []string `json:"own,omitempty"`
}

// leases are the directory of all slots' files.
type leases struct{ dir string }

func (l leases) path(slot int) string { return filepath.Join(l.dir, fmt.Sprintf("slot-%04d", slot)) }

// claim locks the file of a slot. It returns nil when somebody else has it.
func (l leases) claim(slot int) (*os.File, error) {
	for {
		f, err := os.OpenFile(l.path(slot), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lease: %w", err)
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			f.Close()
			return nil, nil
		}
		if l.current(f, slot) {
			return f, nil
		}
		f.Close() // removed by somebody between opening and locking
	}
}

// current says whether f is still the file at the slot's path.
func (l leases) current(f *os.File, slot int) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(l.path(slot))
	return err == nil && os.SameFile(mine, there)
}

// taken lists the slots that have a file.
func (l leases) taken() ([]int, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		if digits, ok := strings.CutPrefix(e.Name(), "slot-"); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				out = append(out, n)
			}
		}
	}
	return out, nil
}

// write puts the lease into a slot's file.
func (s *slot) write(l lease) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := s.lease.Truncate(0); err != nil {
		return err
	}
	_, err = s.lease.WriteAt(text, 0)
	return err
}

// clear says that no box is in the slot.
func (s *slot) clear() { s.lease.Truncate(0) }

// startTime is when a process began, in the kernel's own unit; empty when it
// is gone.
func startTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
}

// Reconcile removes what killed workbenches left behind.
func (r *Runtime) Reconcile(ctx context.Context) (sandbox.Reclaimed, error) {
	var total sandbox.Reclaimed
	h, err := r.host()
	if err != nil {
		return total, err
	}
	c, err := r.groups()
	if err != nil {
		return total, err
	}
	all := leases{h.stateDir}
	slots, err := all.taken()
	if err != nil {
		return total, err
	}
	for _, n := range slots {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		f, err := all.claim(n)
		if err != nil {
			return total, err
		}
		if f == nil {
			continue
		}
		add(&total, sweep(f, h.groupPrefix(n), c))
		os.Remove(all.path(n))
		f.Close()
	}
	return total, nil
}

func add(total *sandbox.Reclaimed, more sandbox.Reclaimed) {
	total.Boxes += more.Boxes
	total.Processes += more.Processes
	total.Groups += more.Groups
	total.Directories += more.Directories
}

// sweep cleans up after the box that a locked lease file names, if it names
// one.
func sweep(f *os.File, prefix string, c *cgroups) sandbox.Reclaimed {
	var got sandbox.Reclaimed
	text, err := os.ReadFile(f.Name())
	var l lease
	if err == nil && len(text) > 0 {
		json.Unmarshal(text, &l) // a torn lease names nothing, but there was a box
		got.Boxes = 1
		got.Processes += l.kill()
	}
	processes, groups := c.sweep(prefix)
	got.Processes += processes
	got.Groups = groups
	var works []workDir
	for _, dir := range l.Works {
		works = append(works, workDir{path: dir})
	}
	for _, dir := range l.Own {
		works = append(works, workDir{path: dir, own: true})
	}
	clearWorks(works)
	got.Directories = len(l.Own)
	return got
}

// kill ends the box's init if it still lives, and with it the box. It says
// how many processes it ended.
func (l lease) kill() int {
	if l.Init <= 1 || l.Born == "" || startTime(l.Init) != l.Born {
		return 0
	}
	fd, err := unix.PidfdOpen(l.Init, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	if startTime(l.Init) != l.Born || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return 0
	}
	const patience = 2 * time.Second
	unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	return 1
}

// sweep removes the groups whose names start with prefix, ending what still
// runs in them.
func (c *cgroups) sweep(prefix string) (processes, groups int) {
	seen := map[string]bool{}
	for _, base := range c.bases {
		dirs, err := filepath.Glob(filepath.Join(base, prefix+"*"))
		if err != nil {
			continue
		}
		for _, dir := range dirs {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			processes += killGroup(dir)
			if removeGroup(dir) {
				groups++
			}
		}
	}
	return processes, groups
}

// killGroup kills every process of a group.
func killGroup(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return 0
	}
	pids := strings.Fields(string(text))
	if writeFile(filepath.Join(dir, "cgroup.kill"), "1") == nil {
		return len(pids)
	}
	for _, word := range pids {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
	return len(pids)
}
