package namespace

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/namespace/launch"
)

// owner is whom a tree on the host belongs to.
type owner struct{ uid, gid int }

// lend finds the user name space through which a tree is shown to the boxes of
// a slot, so that who owns it on the host is the box's user inside: what the
// box writes belongs to that owner again. The name spaces are kept with the
// slot.
func (s *slot) lend(path string) (int, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return -1, fmt.Errorf("lending %s to the box: %w", path, err)
	}
	who := owner{int(st.Uid), int(st.Gid)}
	if who == (owner{}) {
		return int(s.maker.users.Fd()), nil
	}
	if s.owners[who] == nil {
		users, err := newOwnerMap(who, firstID+s.number*idRange)
		if err != nil {
			return -1, fmt.Errorf("lending %s of user %d to the box: %w", path, who.uid, err)
		}
		if s.owners == nil {
			s.owners = map[owner]*os.File{}
		}
		s.owners[who] = users
	}
	return int(s.owners[who].Fd()), nil
}

// newOwnerMap makes a user name space that only its mapping is wanted of.
func newOwnerMap(who owner, base int) (*os.File, error) {
	p := launch.New()
	p.Call(unix.SYS_PPOLL, 0, 0, 0, 0, 8)
	p.Bind(launch.Failed)
	p.Call(unix.SYS_EXIT_GROUP, 1)
	image, err := compile(p, "owner")
	if err != nil {
		return nil, err
	}
	defer unix.Close(image)
	attr := &syscall.ProcAttr{Dir: "/", Files: []uintptr{uintptr(image)}, Sys: &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, Setsid: true, Pdeathsig: syscall.SIGKILL,
		UidMappings: swapped(who.uid, base), GidMappings: swapped(who.gid, base),
	}}
	pid, err := syscall.ForkExec("/proc/self/fd/0", []string{processName}, attr)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = unix.Kill(pid, unix.SIGKILL)
		reap(pid)
	}()
	return os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
}

// swapped maps the ids of files to the range at base, as a maker does, but for
// the owner and 0, which change places.
func swapped(id, base int) []syscall.SysProcIDMap {
	var out []syscall.SysProcIDMap
	add := func(file, box, size int) {
		if size > 0 {
			out = append(out, syscall.SysProcIDMap{ContainerID: file, HostID: base + box, Size: size})
		}
	}
	switch {
	case id == 0:
		add(0, 0, idRange)
	case id >= idRange: // outside of the range: 0 has no place then
		add(1, 1, idRange-1)
		add(id, 0, 1)
	default:
		add(0, id, 1)
		add(1, 1, id-1)
		add(id, 0, 1)
		add(id+1, id+1, idRange-id-1)
	}
	return out
}
