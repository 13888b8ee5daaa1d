package namespace

import (
	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// The descriptors that a box's first process is given.
const (
	fdIn = iota
	fdOut
	fdErr
	fdStatus // reports to us, orders from us
	fdLife   // readable at its end when we are gone
	fdUsers  // the user name space
	fdImage  // the file that the box itself is
	fdLease  // the slot's file, locked as long as init lives
	fdGroups // cgroup.procs files, from here on; then open trees
)

// Kinds of reports, the first word of each.
const (
	reportFailed  = 1 // then: error number, operation
	reportBorn    = 2 // then: process id of the box's init
	reportStarted = 3 // the program runs
	reportSocket  = 4 // then: index of the listener; with a descriptor
	reportEnded   = 5 // then: wait status, resource usage
	reportOverdue = 6 // the wall clock ran out
	reportReady   = 7 // the box waits for its order
)

// plan is a box as a program. It runs in three processes: the outer one still
// sees the host and places the box; init builds the root and stays as process
// 1; the target becomes the user's program.
//
// A cold box has all of it in one program. A warm box runs what is the same
// for all boxes beforehand, then waits for a second program, its order.
type plan struct {
	*launch.Program
	host   *host
	limits sandbox.Limits
	group  *group
	// handle is the descriptor of an open tree, counted from 1: a number, or
	// the cell that has it.
	handle func(n int) any

	opened int             // directories with numbers of their own
	hidden bool            // the scratch space is mounted
	made   map[string]bool // directories below the new root
}

func newPlan(h *host, limits sandbox.Limits, g *group) *plan {
	p := &plan{Program: launch.New(), host: h, limits: limits, group: g, made: map[string]bool{}}
	first := fdGroups + len(g.joins(limits))
	p.handle = func(n int) any { return first + n - 1 }
	return p
}

// coldPlan is a whole box.
func coldPlan(h *host, spec *sandbox.Spec, limits sandbox.Limits, v *view, g *group) *launch.Program {
	p := newPlan(h, limits, g)
	p.outer(spec.Network)
	p.root(v.links)
	p.attachAll(v.parts)
	p.devices()
	p.proc()
	p.settle(spec.Network)
	p.finish(spec, v.parts)
	return p.end()
}

// warmPlan is a box up to the point where its program must be known.
func warmPlan(h *host, v *view, g *group) *launch.Program {
	p := newPlan(h, sandbox.DefaultLimits, g)
	p.outer(sandbox.NetworkNone)
	p.root(v.links)
	p.attachAll(v.parts)
	p.devices()
	p.proc()
	p.settle(sandbox.NetworkNone)
	p.receive()
	return p.end()
}

// orderPlan is the rest of a warm box: what is not in all boxes, and the
// program. Its descriptors arrive with it.
func orderPlan(h *host, spec *sandbox.Spec, limits sandbox.Limits, parts, all []part, g *group) *launch.Program {
	p := newPlan(h, limits, g)
	p.handle = func(n int) any { return arrived(fdErr + n) }
	p.Note("taking the streams")
	for fd := fdIn; fd <= fdErr; fd++ {
		p.Call(unix.SYS_DUP3, arrived(fd), fd, 0)
	}
	if limits.Disk != sandbox.DefaultLimits.Disk || limits.Inodes != sandbox.DefaultLimits.Inodes {
		p.Note("limiting the disk")
		p.Call(unix.SYS_MOUNT, 0, ".", 0, unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, "mode=755"+p.sizes())
	}
	p.attachAll(parts)
	p.finish(spec, all)
	return p.end()
}

// end adds the failure handler: it tells us which operation failed and why.
func (p *plan) end() *launch.Program {
	p.Bind(launch.Failed)
	p.OnFail(launch.Next)
	kind := p.Word(reportFailed)
	p.Call(unix.SYS_WRITEV, fdStatus, p.vectors(kind.Addr(), 4, launch.LastErrno().Addr(), 8), 2)
	p.Call(unix.SYS_EXIT_GROUP, 1)
	return p.Program
}

// vectors makes the vectors of two pieces of data.
func (p *plan) vectors(a launch.Addr, alen int, b launch.Addr, blen int) launch.Addr {
	at := p.Zero(32)
	p.Point(at, a)
	p.PutWord(at+8, uint32(alen))
	p.Point(at+16, b)
	p.PutWord(at+24, uint32(blen))
	return at
}

// outer runs on the host's side and ends when init is born. What follows runs
// in init.
func (p *plan) outer(network sandbox.Network) {
	p.Note("closing the image")
	p.Call(unix.SYS_CLOSE, fdImage)
	p.Try(unix.SYS_PRCTL, unix.PR_SET_NAME, processName, 0, 0, 0)
	p.Note("asking to be killed first when the machine is short of memory")
	fd := p.Try(unix.SYS_OPENAT, unix.AT_FDCWD, "/proc/self/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC)
	p.Try(unix.SYS_WRITE, fd, "500", 3)
	p.Note("joining the control group")
	for i := range p.group.joins(p.limits) {
		p.Call(unix.SYS_WRITE, fdGroups+i, "0", 1)
	}
	p.Note("entering the user name space")
	p.Call(unix.SYS_SETNS, fdUsers, unix.CLONE_NEWUSER)
	if p.host.privileged {
		p.Call(unix.SYS_SETGROUPS, 0, 0)
		p.Call(unix.SYS_SETRESGID, 0, 0, 0)
		p.Call(unix.SYS_SETRESUID, 0, 0, 0)
	}
	p.Note("making the name spaces")
	inner := p.Label()
	pid := p.Call(unix.SYS_CLONE, cloneFlags(network), 0, 0, 0, 0)
	p.JumpIf(pid, -1, 0, inner)
	report := p.report(reportBorn)
	p.Set(report.value, pid)
	p.send(report, 8)
	p.Call(unix.SYS_EXIT_GROUP, 0)
	p.Bind(inner)
	p.Note("hiding init from the box")
	p.Call(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

func cloneFlags(network sandbox.Network) int {
	flags := unix.CLONE_PARENT | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | int(unix.SIGCHLD)
	if network == sandbox.NetworkNone {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// message is a report being put together.
type message struct {
	at    launch.Addr
	value launch.Cell
}

// report makes a message with room for a value and, after it, the kernel's
// resource usage.
func (p *plan) report(kind int) message {
	at := p.Zero(8 + rusageSize)
	p.PutWord(at, uint32(kind))
	return message{at: at, value: launch.Cell(at + 4)}
}

// rusageSize is the size of struct rusage, in bytes.
const rusageSize = 144

func (p *plan) send(m message, size int) {
	p.Call(unix.SYS_WRITE, fdStatus, m.at, size)
}
