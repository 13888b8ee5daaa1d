package namespace

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// name gives the box its name.
func (p *plan) name() {
	p.Note("naming the box")
	p.Call(unix.SYS_SETHOSTNAME, "kintsugi", 8)
}

// loopback brings the loopback interface up.
func (p *plan) loopback() {
	p.Note("bringing the loopback interface up")
	fd := p.Call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	request := make([]byte, 40) // struct ifreq
	copy(request, "lo")
	binary.LittleEndian.PutUint16(request[16:], unix.IFF_UP|unix.IFF_RUNNING)
	p.Call(unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS, request)
	p.Call(unix.SYS_CLOSE, fd)
}

// finish enters the root and runs the program.
func (p *plan) finish(spec *sandbox.Spec, parts []part) {
	p.enter()
	for i, l := range spec.Listeners {
		p.listen(i, l.Port)
	}
	p.supervise(spec, parts)
}

// listen opens a loopback port in the box and hands its socket to us.
func (p *plan) listen(i, port int) {
	p.Note("listening on port %d", port)
	fd := p.Call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	one := p.Word(1)
	p.Call(unix.SYS_SETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, one.Addr(), 4)
	p.Call(unix.SYS_BIND, fd, loopback(port), 16)
	p.Call(unix.SYS_LISTEN, fd, 128)
	p.sendSocket(i, fd)
	p.Call(unix.SYS_CLOSE, fd)
}

func loopback(port int) []byte {
	address := make([]byte, 16) // struct sockaddr_in
	binary.LittleEndian.PutUint16(address, unix.AF_INET)
	binary.BigEndian.PutUint16(address[2:], uint16(port))
	copy(address[4:], []byte{127, 0, 0, 1})
	return address
}

// sendSocket sends a descriptor along with a report.
func (p *plan) sendSocket(i int, fd launch.Cell) {
	m := p.report(reportSocket)
	p.PutWord(launch.Addr(m.value), uint32(i))
	vector := p.Zero(16)
	p.Point(vector, m.at)
	p.PutWord(vector+8, 8)
	control := p.Zero(24) // struct cmsghdr with one descriptor
	p.PutWord(control, 20)
	p.PutWord(control+8, unix.SOL_SOCKET)
	p.PutWord(control+12, unix.SCM_RIGHTS)
	p.Set(launch.Cell(control+16), fd)
	header := p.Zero(56) // struct msghdr
	p.Point(header+16, vector)
	p.PutWord(header+24, 1)
	p.Point(header+32, control)
	p.PutWord(header+40, 24)
	p.Call(unix.SYS_SENDMSG, fdStatus, header, 0)
}

// supervise starts the target and stays until it ends, the wall clock runs
// out or we are gone; then the whole box goes with it.
func (p *plan) supervise(spec *sandbox.Spec, parts []part) {
	polled := p.polled()
	p.Note("looking whether we are still wanted")
	wanted := p.Label()
	p.Call(unix.SYS_PPOLL, polled, 1, p.Zero(16), 0, 8)
	p.JumpIf(launch.Cell(polled+4), happened, 0, wanted)
	p.Call(unix.SYS_EXIT_GROUP, 0)
	p.Bind(wanted)
	p.Note("starting the program")
	target := p.Label()
	pid := p.Call(unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK|int(unix.SIGCHLD), 0, 0, 0, 0)
	p.JumpIf(pid, -1, 0, target)
	p.Note("supervising")
	p.OnFail(launch.Next)
	p.closeStreams()
	p.send(p.report(reportStarted), 8)
	p.watch(polled, pid)
	p.OnFail(launch.Failed)
	p.Bind(target)
	p.target(spec, parts, launch.Cell(polled+8))
}

// expect starts a process that waits for its program with all walls but the
// clock up, and stays like supervise.
func (p *plan) expect(spec *sandbox.Spec, parts []part) {
	polled := p.polled()
	p.Call(unix.SYS_DUP3, launch.Cell(polled+8), fdClock, unix.O_CLOEXEC)
	p.Note("starting the process that waits for a program")
	target := p.Label()
	pid := p.Call(unix.SYS_CLONE, int(unix.SIGCHLD), 0, 0, 0, 0)
	p.JumpIf(pid, -1, 0, target)
	p.Note("supervising")
	p.OnFail(launch.Next)
	p.closeStreams()
	p.watch(polled, pid)
	p.OnFail(launch.Failed)
	p.Bind(target)
	p.confine(spec.Dir, parts)
	p.mapOrders(warmControl)
	p.walls()
	p.send(p.report(reportReady), 8)
	p.receive(warmControl)
}

func (p *plan) closeStreams() {
	for fd := fdIn; fd <= fdErr; fd++ {
		p.Call(unix.SYS_CLOSE, fd)
	}
}

// happened selects the events of a polled descriptor: the upper half of the
// second word of its entry.
const happened = 0x7fff0000

// polled makes the array that init polls: our end of the life line, the wall
// clock, and the deaths of children.
func (p *plan) polled() launch.Addr {
	at := p.Zero(24)
	for i := range 3 {
		p.PutWord(at+launch.Addr(8*i+4), unix.POLLIN)
	}
	p.PutWord(at, fdLife)
	p.Note("watching the clock and the children")
	p.CallInto(launch.Cell(at+8), unix.SYS_TIMERFD_CREATE, unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	children := signalSet(unix.SIGCHLD)
	p.Call(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, children, 0, 8)
	p.CallInto(launch.Cell(at+16), unix.SYS_SIGNALFD4, -1, children, 8, unix.SFD_CLOEXEC)
	return at
}

func signalSet(signals ...unix.Signal) []byte {
	var bits uint64
	for _, s := range signals {
		bits |= 1 << (s - 1)
	}
	return binary.LittleEndian.AppendUint64(nil, bits)
}

// watch is the life of init.
func (p *plan) watch(polled launch.Addr, main launch.Cell) {
	event := func(i int) launch.Cell { return launch.Cell(polled + launch.Addr(8*i+4)) }
	loop, dead, onTime, reaping := p.Label(), p.Label(), p.Label(), p.Label()
	alive := p.Label()
	ended := p.report(reportEnded)
	info := p.Zero(128) // struct signalfd_siginfo

	p.Bind(loop)
	p.Call(unix.SYS_PPOLL, polled, 3, 0, 0, 8)
	p.JumpIf(event(0), happened, 0, alive)
	p.Jump(dead)
	p.Bind(alive)
	p.JumpIf(event(1), happened, 0, onTime)
	p.send(p.report(reportOverdue), 8)
	p.Jump(dead)
	p.Bind(onTime)
	p.JumpIf(event(2), happened, 0, loop)
	p.Call(unix.SYS_READ, launch.Cell(polled+16), info, 128)
	p.Bind(reaping)
	child := p.CallOr(loop, unix.SYS_WAIT4, -1, ended.value.Addr(), unix.WNOHANG, ended.at+8)
	p.JumpIf(child, -1, 0, loop)
	mine := p.Label()
	p.JumpIfSame(child, main, mine)
	p.Jump(reaping)
	p.Bind(mine)
	p.Note("ending the box")
	reap, empty, alone, wait := p.Label(), p.Label(), p.Label(), p.Label()
	p.CallOr(alone, unix.SYS_KILL, -1, int(unix.SIGKILL))
	p.send(ended, 8+rusageSize)
	p.Bind(dead)
	p.Call(unix.SYS_KILL, -1, int(unix.SIGKILL))
	p.Bind(reap) // what is waited for counts in our account of processor time
	p.CallOr(empty, unix.SYS_WAIT4, -1, 0, 0, 0)
	p.Jump(reap)
	p.Bind(empty)
	last := p.report(reportEmpty)
	p.Call(unix.SYS_GETRUSAGE, unix.RUSAGE_CHILDREN, last.at+8)
	p.send(last, 8+rusageSize)
	p.Jump(wait)
	p.Bind(alone) // the usual end is told in one report
	p.Set(launch.Cell(ended.at), reportAlone)
	p.Call(unix.SYS_GETRUSAGE, unix.RUSAGE_CHILDREN, ended.at+8)
	p.send(ended, 8+rusageSize)
	p.Bind(wait)
	p.Note("waiting to be taken apart")
	p.Call(unix.SYS_READ, fdStatus, info, 128)
	p.Call(unix.SYS_EXIT_GROUP, 0)
}
