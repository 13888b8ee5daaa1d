package namespace

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/namespace/launch"
)

const (
	// firstID is the first host id given to boxes of a privileged caller; the
	// ids up to 65535 belong to the system, those up to 165535 by custom to
	// the first sub-id ranges.
	firstID = 165536
	idRange = 65536
	// maxSlots bounds the boxes alive at once on one machine for one user.
	maxSlots = 1024
)

// slot is a place for one live box: a number that no other process uses (a
// locked file says so), with the user name space that belongs to it. A slot
// serves one box after another, never two at once.
type slot struct {
	number int
	lease  *os.File
	users  *os.File // the user name space
	group  *group

	written int // bytes in the lease file
}

// slots hands out slots.
type slots struct {
	host   *host
	groups *cgroups
	pool   *pool
	common []part // what every box has

	mu   sync.Mutex
	free []*slot
	next int
}

func (s *slots) get() (*slot, error) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		got := s.free[n-1]
		s.free = s.free[:n-1]
		s.mu.Unlock()
		return got, nil
	}
	s.mu.Unlock()
	return s.open()
}

func (s *slots) put(used *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, used)
}

// open claims the first slot that nobody holds.
func (s *slots) open() (*slot, error) {
	lease, number, err := s.claim()
	if err != nil {
		return nil, err
	}
	made := &slot{number: number, lease: lease}
	if made.users, err = s.host.newUsers(number); err == nil {
		made.group, err = s.groups.open(s.host.groupPrefix(number) + "box")
	}
	if err != nil {
		made.close()
		return nil, err
	}
	return made, nil
}

// close gives the slot up and removes its traces.
func (s *slot) close() {
	s.group.remove()
	if s.users != nil {
		s.users.Close()
	}
	os.Remove(s.lease.Name())
	s.lease.Close()
}

// close gives up all slots that no box is in.
func (s *slots) close() {
	s.mu.Lock()
	free := s.free
	s.free = nil
	s.mu.Unlock()
	for _, f := range free {
		f.close()
	}
}

func (s *slots) claim() (*os.File, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := leases{s.host.stateDir}
	for s.next < maxSlots {
		number := s.next
		s.next++
		f, err := all.claim(number)
		if err != nil {
			return nil, 0, err
		}
		if f != nil {
			sweep(f, s.host.groupPrefix(number), s.groups)
			return f, number, nil
		}
	}
	return nil, 0, fmt.Errorf("%d boxes are alive; wait for some to end", maxSlots)
}

// userLimits are lowered in the box's user name space, so that what a program
// uses up there still leaves most of it to the user outside. None of them
// gives a box the right to make name spaces: it has no capability.
var userLimits = []struct{ name, value string }{
	{"max_user_namespaces", "0"},
	{"max_inotify_instances", "32"},
	{"max_inotify_watches", "16384"},
	{"max_fanotify_groups", "0"},
	{"max_fanotify_marks", "0"},
}

// newUsers makes a user name space. Its mapping is the caller's own id, or for
// a privileged caller 65536 ids from the slot's range.
func (h *host) newUsers(number int) (*os.File, error) {
	report, err := fromBox()
	if err != nil {
		return nil, err
	}
	defer report.close()
	mapped, err := toBox()
	if err != nil {
		return nil, err
	}
	defer mapped.close()
	pid, err := h.spawnUsers(mapped.theirs, report.theirs)
	if err != nil {
		return nil, err
	}
	defer reap(pid)
	defer mapped.ours.Close()
	report.give()
	mapped.give()
	if err := await(report.ours); err != nil {
		return nil, fmt.Errorf("user name space: %w", err)
	}
	if err := h.writeMaps(pid, number); err != nil {
		return nil, fmt.Errorf("user name space mapping: %w", err)
	}
	if _, err := mapped.ours.Write([]byte{1}); err != nil {
		return nil, err
	}
	if err := await(report.ours); err != nil {
		return nil, fmt.Errorf("user name space limits: %w", err)
	}
	return os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
}

func (h *host) spawnUsers(in, out int) (int, error) {
	image, err := compile(usersProgram(), "users")
	if err != nil {
		return 0, err
	}
	defer unix.Close(image)
	return spawn(2, []int{in, out, image})
}

// await reads the error number that a step of usersProgram reports.
func await(r *os.File) error {
	var word [4]byte
	if _, err := r.Read(word[:]); err != nil {
		return errors.New("it could not be made")
	}
	if errno := unix.Errno(word[0]) | unix.Errno(word[1])<<8; errno != 0 {
		return errno
	}
	return nil
}

func (h *host) writeMaps(pid, number int) error {
	base := firstID + number*idRange
	uids := fmt.Sprintf("0 %d %d", base, idRange)
	gids := uids
	if !h.privileged {
		uids, gids = fmt.Sprintf("%d %d 1", h.uid, h.uid), fmt.Sprintf("%d %d 1", h.gid, h.gid)
		if err := writeProc(pid, "setgroups", "deny"); err != nil {
			return err
		}
	}
	if err := writeProc(pid, "uid_map", uids); err != nil {
		return err
	}
	return writeProc(pid, "gid_map", gids)
}

func writeProc(pid int, name, value string) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/%s", pid, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

// usersProgram enters a new user name space, reports, waits for its mapping
// (standard input), lowers the limits, reports and waits to be looked at. The
// report is the error number on standard output.
func usersProgram() *launch.Program {
	p := launch.New()
	fine := p.Word(0)
	gone := p.Label()
	p.Call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	p.Call(unix.SYS_WRITE, 1, fine.Addr(), 4)
	buffer := p.Zero(8)
	n := p.Call(unix.SYS_READ, 0, buffer, 1)
	p.JumpIf(n, -1, 0, gone)
	for _, l := range userLimits {
		fd := p.Try(unix.SYS_OPENAT, unix.AT_FDCWD, "/proc/sys/user/"+l.name, unix.O_WRONLY)
		p.Try(unix.SYS_WRITE, fd, l.value, len(l.value))
		p.Try(unix.SYS_CLOSE, fd)
	}
	p.Call(unix.SYS_WRITE, 1, fine.Addr(), 4)
	p.Call(unix.SYS_READ, 0, buffer, 1)
	p.Bind(gone)
	p.Call(unix.SYS_EXIT_GROUP, 0)
	p.Bind(launch.Failed)
	p.OnFail(launch.Next)
	p.Call(unix.SYS_WRITE, 1, launch.LastErrno().Addr(), 4)
	p.Call(unix.SYS_EXIT_GROUP, 1)
	return p
}
