package namespace

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// maker is a process that makes the boxes of a slot. It has joined the slot's
// control group and is in the slot's user name space, so that a box is born
// there: joining a group takes the kernel longer than all the rest. It runs
// nothing but the operations it is sent, and holds nothing of one box when it
// makes the next.
type maker struct {
	control link
	pid     int
	network sandbox.Network // of its boxes
	// doubtful: nobody knows whether the last box left the network as new.
	doubtful bool
	users    *os.File // the user name space, when owners must be mapped to it
	back     uint32   // where an order goes on in the maker
}

// The descriptors that a maker is given.
const (
	makerControl = fdStatus // its boxes have their status channel there
	makerLife    = fdLife
	makerLease   = 5 // the slot's file, locked as long as one of our processes lives
	makerImage   = 6
	makerGroups  = 7 // files that are written to join the control group
)

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

// newMaker starts the maker of a slot. Its user name space maps the caller's
// own id, or for a privileged caller 65536 ids from the slot's range.
func (s *slots) newMaker(of *slot, network sandbox.Network) (*maker, error) {
	control, err := newChannel()
	if err != nil {
		return nil, err
	}
	m := &maker{control: control, network: network}
	if err := m.start(s, of); err != nil {
		m.close()
		return nil, fmt.Errorf("starting the maker of boxes: %w", err)
	}
	if err := m.settle(s.host, of.number); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// start runs the maker in the slot's control group. It is born there when the
// kernel can do that, and moves itself otherwise.
func (m *maker) start(s *slots, of *slot) error {
	directory := of.group.directory()
	if directory >= 0 {
		err := m.spawn(s, of, directory, nil)
		unix.Close(directory)
		if err == nil {
			return nil
		}
	}
	return m.spawn(s, of, -1, of.group.joins())
}

func (m *maker) spawn(s *slots, of *slot, directory int, joins []int) error {
	program, back := makerProgram(s.host, len(joins), m.network)
	image, err := compile(program, "maker")
	if err != nil {
		return err
	}
	defer unix.Close(image)
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	files := []int{null, null, null, m.control.theirs, s.lifeTheirs, int(of.lease.Fd()), image}
	if m.pid, err = spawn(makerImage, append(files, joins...), directory); err != nil {
		m.pid = 0
		return err
	}
	m.back = program.Address(back, launch.Base)
	m.control.give()
	return nil
}

// settle maps the ids of the maker's user name space and waits for it to be
// ready.
func (m *maker) settle(h *host, number int) error {
	c := &cradle{status: m.control}
	if err := c.step(); err != nil {
		return fmt.Errorf("user name space: %w", err)
	}
	if err := h.writeMaps(m.pid, number); err != nil {
		return fmt.Errorf("user name space mapping: %w", err)
	}
	if h.privileged {
		var err error
		if m.users, err = os.Open(fmt.Sprintf("/proc/%d/ns/user", m.pid)); err != nil {
			return fmt.Errorf("user name space: %w", err)
		}
	}
	if _, err := m.control.ours.Write([]byte{1}); err != nil {
		return err
	}
	if err := c.step(); err != nil {
		return fmt.Errorf("user name space limits: %w", err)
	}
	return nil
}

// step waits for the maker to report that a step is done.
func (c *cradle) step() error {
	m, err := c.receive()
	switch {
	case err != nil:
		return errors.New("it could not be made")
	case m.kind == reportFailed:
		return unix.Errno(m.value)
	}
	return nil
}

// alive says whether the maker still runs.
func (m *maker) alive() bool {
	pid, err := unix.Wait4(m.pid, nil, unix.WNOHANG, nil)
	if pid == m.pid {
		m.pid = 0
	}
	return err == nil && pid == 0
}

// close ends the maker.
func (m *maker) close() {
	if m == nil {
		return
	}
	m.control.close()
	if m.users != nil {
		m.users.Close()
	}
	if m.pid != 0 {
		reap(m.pid)
		m.pid = 0
	}
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

// makerProgram is the life of a maker. The label is where orders come back to.
func makerProgram(h *host, joins int, network sandbox.Network) (*launch.Program, launch.Label) {
	p := newPlan(h, sandbox.Limits{}, nil)
	p.Note("closing the image")
	p.Call(unix.SYS_CLOSE, makerImage)
	p.Try(unix.SYS_PRCTL, unix.PR_SET_NAME, processName, 0, 0, 0)
	p.Note("asking to be killed first when the machine is short of memory")
	fd := p.Try(unix.SYS_OPENAT, unix.AT_FDCWD, "/proc/self/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC)
	p.Try(unix.SYS_WRITE, fd, "500", 3)
	p.Note("giving up real-time priority, which no control group for processors takes")
	p.Try(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_NORMAL, p.Zero(8))
	p.Note("joining the control group")
	for i := range joins {
		p.Call(unix.SYS_WRITE, makerGroups+i, "0", 1)
	}
	p.Note("making the user name space")
	p.Call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	p.send(p.report(reportReady), 8)
	if network == sandbox.NetworkNone {
		p.ownNetwork() // while its ids are mapped
	}
	p.lowerLimits()
	p.Note("taking the box's identity")
	if h.privileged {
		p.Call(unix.SYS_SETGROUPS, 0, 0)
		p.Call(unix.SYS_SETRESGID, 0, 0, 0)
		p.Call(unix.SYS_SETRESUID, 0, 0, 0)
	}
	p.bound()
	p.Call(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	p.Note("closing what only the maker needed")
	p.Call(unix.SYS_CLOSE_RANGE, makerImage, 1<<31-1, 0)
	p.send(p.report(reportReady), 8)
	back := p.serve()
	return p.end(), back
}

// lowerLimits waits for the ids to be mapped and lowers the limits of the user
// name space.
func (p *plan) lowerLimits() {
	buffer, gone, mapped := p.Zero(8), p.Label(), p.Label()
	n := p.Call(unix.SYS_READ, makerControl, buffer, 8)
	p.JumpIf(n, -1, 1, mapped)
	p.Bind(gone)
	p.Call(unix.SYS_EXIT_GROUP, 0)
	p.Bind(mapped)
	for _, l := range userLimits {
		fd := p.Try(unix.SYS_OPENAT, unix.AT_FDCWD, "/proc/sys/user/"+l.name, unix.O_WRONLY|unix.O_CLOEXEC)
		p.Try(unix.SYS_WRITE, fd, l.value, len(l.value))
		p.Try(unix.SYS_CLOSE, fd)
	}
}

// serve takes one order after another. An order comes back to the label when
// its box is born; then everything that came with it is dropped. The box's init
// inherits the network that the maker has then.
func (p *plan) serve() launch.Label {
	take, back := p.Label(), p.Label()
	p.mapOrders(orderControl)
	p.Bind(take)
	p.receive(orderControl)
	p.Bind(back)
	p.Note("forgetting the last box")
	p.Call(unix.SYS_CLOSE_RANGE, makerImage, 1<<31-1, 0)
	p.Call(unix.SYS_MADVISE, launch.At(orderControl), orderPage+maxOrder, unix.MADV_DONTNEED)
	p.Call(unix.SYS_MUNMAP, launch.At(longBase), maxLong)
	p.Jump(take)
	return back
}

// birth clones the box's init and lets the maker go back. What follows runs in
// init.
func (p *plan) birth(back uint32) {
	p.Note("making the name spaces")
	inner, stuck := p.Label(), p.Label()
	status := arrived(orderControl, arrivedStatus)
	pid := p.CallOr(stuck, unix.SYS_CLONE, newSpaces, 0, 0, 0, 0)
	p.JumpIf(pid, -1, 0, inner)
	report := p.report(reportBorn)
	p.Set(report.value, pid)
	p.OnFail(launch.Next)
	p.Call(unix.SYS_WRITE, status, report.at, 8)
	p.Enter(back)
	p.Bind(stuck)
	p.fail(status)
	p.Bind(inner)
	p.OnFail(launch.Failed)
	p.Note("taking the streams")
	for i, fd := range []int{fdIn, fdOut, fdErr, fdStatus} {
		p.Call(unix.SYS_DUP3, arrived(orderControl, i), fd, 0)
		p.Call(unix.SYS_CLOSE, arrived(orderControl, i))
	}
}

// newSpaces are the name spaces that a box's init is born with. It has its
// user and its network name space from the maker.
const newSpaces = unix.CLONE_PARENT | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | int(unix.SIGCHLD)
