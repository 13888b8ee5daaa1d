package namespace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// lease is what a slot's file says about the box in it: enough to clean up
// after a workbench that was killed. An empty file means no box. The file is
// locked by the workbench and, since it inherits the lock, by the box's init.
type lease struct {
	// Owner is the workbench, Born its start time, which tells it from a later
	// process with the same number.
	Owner int    `json:"owner"`
	Born  string `json:"born"`
	// Init is the box's process 1 as the host counts. It is written where no
	// control group tells what belongs to the box.
	Init int `json:"init,omitempty"`
	// Works are overlay scratch directories; those in Own were made for the box.
	Works []string `json:"works,omitempty"`
	Own   []string `json:"own,omitempty"`
}

// with is the lease of a box that has scratch directories.
func (l lease) with(works []workDir) lease {
	for _, w := range works {
		if w.own {
			l.Own = append(l.Own, w.path)
		} else {
			l.Works = append(l.Works, w.path)
		}
	}
	return l
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

// write puts the lease into a slot's file, in one call, so that it is either
// the old one or the new one; what is left of a longer old one is overwritten
// with spaces.
func (s *slot) write(l lease) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	size := len(text)
	for len(text) < s.written {
		text = append(text, ' ')
	}
	_, err = s.lease.WriteAt(text, 0)
	s.written = max(size, s.written)
	return err
}

// note writes the lease again once the box has a process, if that is needed
// to find it.
func (s *slot) note(l lease) error {
	if s.group != nil {
		return nil
	}
	return s.write(l)
}

// clear says that no box is in the slot.
func (s *slot) clear() {
	if s.lease.Truncate(0) == nil {
		s.written = 0
	}
}

// isInit says whether a process is the init of a box: the number may belong
// to another process by now.
func isInit(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.TrimRight(string(text), "\x00") == processName
}

// Reconcile removes what killed workbenches left behind.
func (r *Runtime) Reconcile(ctx context.Context) (sandbox.Reclaimed, error) {
	var total sandbox.Reclaimed
	s, err := r.slots()
	if err != nil {
		return total, err
	}
	all := leases{s.host.stateDir}
	taken, err := all.taken()
	if err != nil {
		return total, err
	}
	for _, n := range append(taken, s.groups.slots(s.host.groupsPrefix())...) {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		more, err := s.reclaim(all, n)
		if err != nil {
			return total, err
		}
		add(&total, more)
	}
	return total, nil
}

const (
	// settling is how long a dead workbench's box may take to end by itself, and
	// whoever takes its slot to say so in the lease.
	settling = 50 * time.Millisecond
	// patience is how long what was killed may take to be gone.
	patience = 2 * time.Second
)

// reclaim cleans a slot up unless a living workbench has it. Nothing is killed
// before the slot was asked for: somebody else may have taken it meanwhile, and
// makes boxes in a group of the same name.
func (s *slots) reclaim(all leases, n int) (sandbox.Reclaimed, error) {
	var got sandbox.Reclaimed
	f, err := all.claimWithin(n, settling)
	if f == nil && err == nil && all.read(n).orphaned() {
		got.Processes = all.read(n).kill() + s.groups.kill(s.host.groupPrefix(n))
		f, err = all.claimWithin(n, patience)
	}
	if f == nil || err != nil {
		return got, err
	}
	add(&got, sweep(f, s.host.groupPrefix(n), s.groups))
	os.Remove(all.path(n))
	return got, f.Close()
}

// read returns what a slot's file says; nothing when it is empty or torn.
func (l leases) read(slot int) lease {
	var got lease
	if text, err := os.ReadFile(l.path(slot)); err == nil {
		_ = json.Unmarshal(text, &got)
	}
	return got
}

// orphaned says whether the lease is of a workbench that is gone.
func (l lease) orphaned() bool { return l.Owner != 0 && startTime(l.Owner) != l.Born }

// claimWithin claims a slot; one whose workbench is gone, but whose box is just
// ending, is waited for.
func (l leases) claimWithin(slot int, most time.Duration) (*os.File, error) {
	for deadline := time.Now().Add(most); ; time.Sleep(time.Millisecond) {
		f, err := l.claim(slot)
		if f != nil || err != nil || !l.read(slot).orphaned() || time.Now().After(deadline) {
			return f, err
		}
	}
}

// startTime is when a process began, in the kernel's own unit; empty when it
// is gone.
func startTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

func add(total *sandbox.Reclaimed, more sandbox.Reclaimed) {
	total.Boxes += more.Boxes
	total.Processes += more.Processes
	total.Groups += more.Groups
	total.Directories += more.Directories
}

// sweep cleans up after the box that a locked lease file names, if it names
// one. The box itself is gone: its init had the lock too.
func sweep(f *os.File, prefix string, c *cgroups) sandbox.Reclaimed {
	var got sandbox.Reclaimed
	text, err := os.ReadFile(f.Name())
	var l lease
	if err == nil && len(text) > 0 {
		_ = json.Unmarshal(text, &l) // a torn lease names nothing, but there was a box
		got.Boxes = 1
	}
	got.Processes = c.kill(prefix)
	got.Groups = c.remove(prefix)
	var works []workDir
	for _, dir := range l.Works {
		works = append(works, workDir{path: dir})
	}
	for _, dir := range l.Own {
		works = append(works, workDir{path: dir, own: true})
	}
	clearWorks(works)
	got.Directories = len(l.Own)
	_ = f.Truncate(0)
	return got
}

// kill ends the box's init if it still lives, and with it the box. It says
// how many processes it ended.
func (l lease) kill() int {
	if l.Init <= 1 {
		return 0
	}
	fd, err := unix.PidfdOpen(l.Init, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	if !isInit(l.Init) || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return 0
	}
	const patience = 2 * time.Second
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	return 1
}

// named lists the directories of the groups whose names start with prefix.
func (c *cgroups) named(prefix string) []string {
	var out []string
	for _, base := range c.bases {
		dirs, err := filepath.Glob(filepath.Join(base, prefix+"*"))
		if err == nil {
			out = append(out, dirs...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// slots lists the slots that have a group.
func (c *cgroups) slots(prefix string) []int {
	var out []int
	for _, dir := range c.named(prefix) {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		if n, err := strconv.Atoi(number); err == nil && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// kill ends what runs in the groups whose names start with prefix.
func (c *cgroups) kill(prefix string) (processes int) {
	for _, dir := range c.named(prefix) {
		processes += killGroup(dir)
	}
	return processes
}

// remove removes those groups.
func (c *cgroups) remove(prefix string) (groups int) {
	for _, dir := range c.named(prefix) {
		if removeGroup(dir) {
			groups++
		}
	}
	return groups
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
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return len(pids)
}
