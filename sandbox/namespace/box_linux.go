package namespace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// box is one running sandbox.
type box struct {
	runtime *Runtime
	slots   *slots
	slot    *slot
	spec    sandbox.Spec
	limits  sandbox.Limits

	status, life    link
	in, out, errOut link
	group           *group
	sources         sources
	works           []workDir
	meter           *sandbox.Meter
	program         *launch.Program

	pid       int // init, as the host sees it
	pidfd     int
	begun     time.Time
	started   time.Time
	listeners []net.Listener
	copies    sync.WaitGroup
	stop      func() bool // ends watching the context

	killed   atomic.Bool
	most     atomic.Int64 // bytes, the most that was seen
	bloated  atomic.Bool  // too much memory was seen
	crowded  atomic.Bool  // as many processes as allowed were seen
	done     chan struct{}
	killOnce sync.Once
	waitOnce func() (sandbox.Result, error)
}

// ID names the box: its slot and its init's process id.
func (b *box) ID() string { return fmt.Sprintf("%s-%d-%d", Name, b.slot.number, b.pid) }

// start launches the box and returns when the program runs.
func (b *box) start(ctx context.Context) error {
	b.pidfd = -1
	b.status.theirs, b.life.theirs, b.in.theirs, b.out.theirs, b.errOut.theirs = -1, -1, -1, -1, -1
	image, err := b.prepare()
	if err != nil {
		return err
	}
	defer unix.Close(image)
	if err := b.open(); err != nil {
		return err
	}
	files := []int{b.in.theirs, b.out.theirs, b.errOut.theirs, b.status.theirs, b.life.theirs, int(b.slot.users.Fd())}
	files = append(append(files, b.group.joined()...), b.sources.fds...)
	if err := b.slot.write(b.lease()); err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	first, err := spawn(image, files)
	b.group.give()
	b.sources.close()
	for _, l := range b.links() {
		l.give()
	}
	if err != nil {
		return fmt.Errorf("starting a box: %w", err)
	}
	err = b.await()
	reap(first)
	if err != nil {
		return err
	}
	b.started = time.Now()
	b.run(ctx)
	return nil
}

// lease is what somebody needs to clean up after us.
func (b *box) lease() lease {
	l := lease{}
	if b.pid != 0 {
		l.Init, l.Born = b.pid, startTime(b.pid)
	}
	for _, w := range b.works {
		if w.own {
			l.Own = append(l.Own, w.path)
		} else {
			l.Works = append(l.Works, w.path)
		}
	}
	return l
}

func (b *box) links() []*link {
	return []*link{&b.status, &b.life, &b.in, &b.out, &b.errOut}
}

// prepare makes the image of the box.
func (b *box) prepare() (int, error) {
	h, err := b.runtime.host()
	if err != nil {
		return -1, err
	}
	v, err := h.view(&b.spec)
	if err != nil {
		return -1, err
	}
	if b.works, err = v.makeWorks(); err != nil {
		return -1, err
	}
	groups, err := b.runtime.groups()
	if err != nil {
		return -1, err
	}
	if b.group, err = groups.make(h.groupPrefix(b.slot.number), b.limits); err != nil {
		return -1, err
	}
	b.sources.users = int(b.slot.users.Fd())
	if h.privileged {
		if err := b.sources.open(v.parts); err != nil {
			return -1, err
		}
	}
	b.program = coldPlan(h, &b.spec, b.limits, v, b.group)
	return compile(b.program, "box")
}

// open makes the channels to the box.
func (b *box) open() (err error) {
	if b.status, err = newChannel(); err != nil {
		return err
	}
	if b.life, err = toBox(); err != nil {
		return err
	}
	if b.out, err = fromBox(); err != nil {
		return err
	}
	if b.errOut, err = fromBox(); err != nil {
		return err
	}
	if b.spec.Stdin != nil {
		b.in, err = toBox()
		return err
	}
	null, err := b.runtime.null()
	if err != nil {
		return err
	}
	b.in.theirs, err = unix.FcntlInt(uintptr(null), unix.F_DUPFD_CLOEXEC, 0)
	return err
}

// await reads reports until the program runs, or until the box is gone after
// an operation failed. Two processes report, so the init's birth may come
// after what init did.
func (b *box) await() error {
	var failed error
	for running := false; failed != nil || !running || b.pid == 0; {
		m, err := b.receive()
		if err != nil {
			if failed == nil {
				failed = fmt.Errorf("the box ended while it was made: %w", err)
			}
			return failed
		}
		switch m.kind {
		case reportFailed:
			failed = b.explain(m)
		case reportBorn:
			err = b.born(int(m.value))
		case reportSocket:
			err = b.adopt(m)
		case reportStarted:
			running = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// born notes the box's init.
func (b *box) born(pid int) (err error) {
	b.pid = pid
	if b.pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
		return fmt.Errorf("watching a box: %w", err)
	}
	if err := b.slot.write(b.lease()); err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	return nil
}

// reported is one report of a box.
type reported struct {
	kind, value uint32
	rest        []byte
	fd          int
}

// receive reads one report.
func (b *box) receive() (reported, error) {
	buffer, control := make([]byte, 256), make([]byte, 64)
	var n, oobn int
	raw, err := b.status.ours.SyscallConn()
	if err != nil {
		return reported{}, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, failed = unix.Recvmsg(int(fd), buffer, control, unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(failed, unix.EAGAIN)
	})
	if err = errors.Join(err, failed); err != nil {
		return reported{}, err
	}
	if n < 8 {
		return reported{}, io.ErrUnexpectedEOF
	}
	m := reported{kind: binary.LittleEndian.Uint32(buffer), value: binary.LittleEndian.Uint32(buffer[4:]), rest: buffer[8:n], fd: -1}
	if oobn > 0 {
		m.fd = descriptor(control[:oobn])
	}
	return m, nil
}

func descriptor(control []byte) int {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1
	}
	return fds[0]
}

// explain puts a failed operation into words.
func (b *box) explain(m reported) error {
	errno := unix.Errno(m.value)
	what := "an unknown step"
	if len(m.rest) >= 4 {
		if i, ok := launch.OpIndex(launch.Base, binary.LittleEndian.Uint32(m.rest), b.program.Len()); ok {
			what = b.program.Explain(i)
		}
	}
	return &stepError{what: what, errno: errno}
}

// stepError is a step of making a box that the kernel refused.
type stepError struct {
	what  string
	errno unix.Errno
}

func (e *stepError) Error() string { return fmt.Sprintf("making a box: %s: %v", e.what, e.errno) }
func (e *stepError) Unwrap() error { return e.errno }

// adopt takes a listening socket that the box made.
func (b *box) adopt(m reported) error {
	if m.fd < 0 || int(m.value) >= len(b.spec.Listeners) {
		return errors.New("a box sent no socket")
	}
	f := os.NewFile(uintptr(m.fd), "listener")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return err
	}
	b.listeners = append(b.listeners, l)
	go b.spec.Listeners[m.value].Serve(l)
	return nil
}

// run moves the streams and prepares the end.
func (b *box) run(ctx context.Context) {
	b.meter = sandbox.NewMeter(b.limits.Output, b.end)
	b.copies.Add(2)
	go b.copyOut(b.spec.Stdout, b.out.ours)
	go b.copyOut(b.spec.Stderr, b.errOut.ours)
	if b.spec.Stdin != nil {
		go func() {
			io.Copy(b.in.ours, b.spec.Stdin)
			b.in.ours.Close()
		}()
	}
	b.done = make(chan struct{})
	if !b.group.counts("memory") {
		go b.watch(b.done)
	}
	b.stop = context.AfterFunc(ctx, b.Kill)
	b.waitOnce = sync.OnceValues(b.wait)
	go b.waitOnce()
}

func (b *box) copyOut(dst io.Writer, src *os.File) {
	defer b.copies.Done()
	b.meter.Copy(dst, src)
}

// Kill ends the whole process tree at once.
func (b *box) Kill() {
	b.killed.Store(true)
	b.end()
}

// end kills init, and with it every process of the box.
func (b *box) end() {
	b.killOnce.Do(func() {
		unix.PidfdSendSignal(b.pidfd, unix.SIGKILL, nil, 0)
	})
}

// Wait returns when everything is over.
func (b *box) Wait() (sandbox.Result, error) { return b.waitOnce() }

func (b *box) wait() (sandbox.Result, error) {
	var result sandbox.Result
	result.Started = b.started.Sub(b.begun)
	ended := b.reports(&result)
	result.Duration = time.Since(b.started)
	_, usage := reap(b.pid)
	close(b.done)
	b.stop()
	b.copies.Wait()
	result.Usage = sandbox.Usage{
		CPU:    time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		Memory: usage.Maxrss << 10,
	}
	b.measure(&result)
	b.judge(&result, ended)
	b.discard()
	return result, nil
}

// reports reads until init is gone and says whether the program ended by
// itself.
func (b *box) reports(result *sandbox.Result) bool {
	ended := false
	for {
		m, err := b.receive()
		if err != nil {
			return ended
		}
		switch m.kind {
		case reportEnded:
			ended = true
			exitOf(syscall.WaitStatus(m.value), result)
		case reportOverdue:
			result.Limit, result.Mechanism = sandbox.LimitWall, "timer in the box"
		}
	}
}

func exitOf(status syscall.WaitStatus, result *sandbox.Result) {
	if status.Signaled() {
		result.Signal = unix.SignalName(status.Signal())
		result.ExitCode = 128 + int(status.Signal())
		return
	}
	result.ExitCode = status.ExitStatus()
}

// measure adds what the control group, or the watcher, knows.
func (b *box) measure(result *sandbox.Result) {
	if b.group.counts("memory") {
		result.Usage.Memory = max(result.Usage.Memory, b.group.peak())
	}
	result.Usage.Memory = max(result.Usage.Memory, b.most.Load())
	switch {
	case result.Limit != sandbox.LimitNone:
	case b.bloated.Load():
		result.Limit, result.Mechanism = sandbox.LimitMemory, watchedMemory
	case result.ExitCode == 0:
	case b.group.counts("memory") && b.group.killed() > 0:
		result.Limit, result.Mechanism = sandbox.LimitMemory, b.group.mechanism("memory")
	case b.group.counts("pids") && b.group.refused() > 0:
		result.Limit, result.Mechanism = sandbox.LimitProcesses, b.group.mechanism("pids")
	case b.crowded.Load():
		result.Limit, result.Mechanism = sandbox.LimitProcesses, rlimitProcesses
	}
}

// judge says which limit ended the run.
func (b *box) judge(result *sandbox.Result, ended bool) {
	result.OutputDropped = b.meter.Dropped()
	if !ended {
		result.Signal, result.ExitCode = "SIGKILL", 128+int(unix.SIGKILL)
	}
	switch {
	case result.Limit != sandbox.LimitNone:
	case b.meter.Spent():
		result.Limit, result.Mechanism = sandbox.LimitOutput, "counted by us"
	case b.killed.Load() && !ended:
		result.Limit, result.Mechanism = sandbox.LimitCancelled, "kill"
	case result.Signal == "SIGXCPU":
		result.Limit, result.Mechanism = sandbox.LimitCPU, "rlimit"
	case result.Signal == "SIGXFSZ":
		result.Limit, result.Mechanism = sandbox.LimitFileSize, "rlimit"
	}
}

// Usage samples what the box uses now.
func (b *box) Usage() sandbox.Usage {
	if !b.group.counts("memory") || !b.group.counts("pids") {
		return sample(b.pid)
	}
	u := b.group.usage()
	u.Processes = max(0, u.Processes-1) // without init
	if u.CPU == 0 {
		u.CPU = sample(b.pid).CPU
	}
	return u
}

// discard gives back what the box held.
func (b *box) discard() {
	for _, l := range b.links() {
		l.close()
	}
	b.sources.close()
	for _, l := range b.listeners {
		l.Close()
	}
	if b.pid != 0 && b.waitOnce == nil {
		b.end()
		reap(b.pid)
	}
	closeFD(&b.pidfd)
	b.group.remove()
	for _, w := range b.works {
		w.clear()
	}
	if b.spec.Capture != "" {
		unix.Rmdir(workOf(b.spec.Capture))
	}
	b.slot.clear()
	b.slots.put(b.slot)
}
