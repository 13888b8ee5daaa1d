package namespace

import (
	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// The descriptors of a box's init.
const (
	fdIn = iota
	fdOut
	fdErr
	fdStatus // reports to us, orders from us
	fdLife   // readable at its end when we are gone
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
	reportEmpty   = 8 // no process but init is left; then: 0, resource usage of all
	reportAlone   = 9 // both at once; then: wait status, resource usage of all
)

// plan is a box as a program. It begins in a maker, which clones the box's
// init; that builds the root and stays as process 1; the target becomes the
// user's program.
//
// A cold box is one order. A warm box has run what is the same for all boxes
// beforehand, and then waits for a second order; a fitted one has run everything
// that does not depend on the command.
type plan struct {
	*launch.Program
	host   *host
	limits sandbox.Limits
	group  *group
	// handle is the cell with the descriptor of an open tree, counted from 1.
	handle func(n int) launch.Cell
	// layers is the letter of the trees that came open, in the hidden space: a
	// warm box's second order has its own.
	layers rune

	opened int             // directories with numbers of their own
	made   map[string]bool // directories below the new root
}

func newPlan(h *host, limits sandbox.Limits, g *group) *plan {
	return &plan{Program: launch.New(), host: h, limits: limits, group: g, made: map[string]bool{}, layers: 'l',
		handle: func(n int) launch.Cell { return arrived(orderControl, arrivedStatus+n) }}
}

// coldPlan is a whole box.
func coldPlan(h *host, spec *sandbox.Spec, limits sandbox.Limits, v *view, s *slot) *launch.Program {
	p := newPlan(h, limits, s.group)
	p.common(v, s.maker.back)
	p.finish(spec, v.parts)
	return p.end()
}

// warmPlan is a box up to the point where its program must be known.
func warmPlan(h *host, v *view, s *slot) *launch.Program {
	p := newPlan(h, sandbox.DefaultLimits, s.group)
	p.common(v, s.maker.back)
	p.mapOrders(warmControl)
	p.send(p.report(reportReady), 8)
	p.receive(warmControl)
	return p.end()
}

// common makes a box with the parts of a view.
func (p *plan) common(v *view, back uint32) {
	p.birth(back)
	p.root(v.links)
	p.attachAll(v.parts)
	p.devices()
	p.proc()
	p.name()
}

// orderPlan is the rest of a warm box: what is not in all boxes, and the
// program. Its descriptors arrive with it.
func orderPlan(h *host, spec *sandbox.Spec, limits sandbox.Limits, parts, all []part, s *slot) *launch.Program {
	p := newPlan(h, limits, s.group)
	p.handle = func(n int) launch.Cell { return arrived(warmControl, fdErr+n) }
	p.layers = 'm'
	p.takeStreams()
	if limits.Disk != sandbox.DefaultLimits.Disk || limits.Inodes != sandbox.DefaultLimits.Inodes {
		p.Note("limiting the disk")
		p.Call(unix.SYS_MOUNT, 0, ".", 0, unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, "mode=755"+p.sizes())
	}
	p.attachAll(parts)
	p.finish(spec, all)
	return p.end()
}

// fittedPlan is a box up to the point where its command must be known.
func fittedPlan(h *host, spec *sandbox.Spec, limits sandbox.Limits, v *view, s *slot) *launch.Program {
	p := newPlan(h, limits, s.group)
	p.common(v, s.maker.back)
	p.enter()
	p.expect(spec, v.parts)
	return p.end()
}

// commandPlan is the rest of a fitted box.
func commandPlan(h *host, spec *sandbox.Spec, limits sandbox.Limits, s *slot) *launch.Program {
	p := newPlan(h, limits, s.group)
	p.takeStreams()
	p.startClock(fdClock)
	p.send(p.report(reportStarted), 8)
	p.exec(spec)
	return p.end()
}

// takeStreams gives a warm box the streams that came with its second order.
func (p *plan) takeStreams() {
	p.Note("taking the streams")
	for fd := fdIn; fd <= fdErr; fd++ {
		p.Call(unix.SYS_DUP3, arrived(warmControl, fd), fd, 0)
		p.Call(unix.SYS_CLOSE, arrived(warmControl, fd))
	}
}

// end adds the failure handler.
func (p *plan) end() *launch.Program {
	p.Bind(launch.Failed)
	p.fail(fdStatus)
	return p.Program
}

// fail tells us, over a status channel, which operation failed and why, and
// ends.
func (p *plan) fail(status any) {
	p.OnFail(launch.Next)
	kind := p.Word(reportFailed)
	p.Call(unix.SYS_WRITEV, status, p.vectors(kind.Addr(), 4, launch.LastErrno().Addr(), 8), 2)
	p.Call(unix.SYS_EXIT_GROUP, 1)
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
