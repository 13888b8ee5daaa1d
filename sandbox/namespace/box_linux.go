package namespace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// box is one running sandbox.
type box struct {
	*cradle
	runtime *Runtime
	host    *host
	slots   *slots
	spec    sandbox.Spec
	limits  sandbox.Limits

	in, out, errOut link
	sources         sources
	works           []workDir
	meter           *sandbox.Meter
	listeners       []io.Closer
	copies          sync.WaitGroup
	begun, started  time.Time
	id              string
	stop            func() bool // ends watching the context
	done            chan struct{}
	waitOnce        func() (sandbox.Result, error)

	killed  atomic.Bool
	spent   atomic.Int64 // processor time of those that were killed, in ns
	most    atomic.Int64 // bytes, the most that was seen
	bloated atomic.Bool  // too much memory was seen
	crowded atomic.Bool  // as many processes as allowed were seen
	disk    disk
	filled  atomic.Bool // more was written than allowed
}

// faultPoints are the moments between two steps at which somebody may be
// killed and nothing may be left behind.
var faultPoints = []string{"slot", "lease", "order", "start", "empty", "apart"}

func (b *box) at(point string) {
	if f := b.runtime.options.fault; f != nil {
		f(point, b)
	}
}

// ID names the box: its slot and its init's process id.
func (b *box) ID() string { return b.id }

// start brings the program to run, in a box that was made ready if there is one.
func (b *box) start(ctx context.Context) error {
	if err := b.open(); err != nil {
		return err
	}
	fitted, err := b.startFitted(ctx)
	if !fitted && err == nil {
		err = b.startOther(ctx)
	}
	if err != nil {
		return err
	}
	b.id = fmt.Sprintf("%s-%d-%d", Name, b.slot.number, b.pid)
	b.started = time.Now()
	b.at("start")
	b.run(ctx)
	return nil
}

// startOther starts the program in a box that is for any, or in a new one.
func (b *box) startOther(ctx context.Context) error {
	v, err := b.host.view(&b.spec)
	if err != nil {
		return err
	}
	b.works, b.disk = v.works(), newDisk(&b.spec, b.limits)
	warm, err := b.startWarm(ctx, v)
	if !warm {
		err = b.startCold(ctx, v)
	}
	return err
}

// startCold makes the box from nothing. Its maker may have been killed without
// our knowing; then nothing was born, and another maker has a second try.
func (b *box) startCold(ctx context.Context, v *view) error {
	err := b.tryCold(ctx, v)
	gone := errors.Is(err, errGone) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET)
	if !gone || b.cradle == nil || b.pid != 0 {
		return err
	}
	b.cradle.discard()
	b.slot.clear()
	b.slot.spent = true
	b.slots.put(b.slot)
	b.cradle = nil
	b.close()
	if err := b.open(); err != nil {
		return err
	}
	if v, err = b.host.view(&b.spec); err != nil { // the first try changed the old one
		return err
	}
	return b.tryCold(ctx, v)
}

func (b *box) tryCold(ctx context.Context, v *view) error {
	place, err := b.slots.get(b.spec.Network)
	if err != nil {
		return err
	}
	if b.cradle, err = newCradle(place); err != nil {
		b.slots.put(place)
		return err
	}
	b.at("slot")
	if err := b.occupy(v.parts); err != nil {
		return err
	}
	b.at("lease")
	program := coldPlan(b.host, &b.spec, b.limits, v, b.slot)
	if err := b.launch(program, [3]int{b.in.theirs, b.out.theirs, b.errOut.theirs}, b.sources.fds...); err != nil {
		return fmt.Errorf("starting a box: %w", err)
	}
	b.give()
	b.at("order")
	return b.await(ctx, b.awaited())
}

// occupy prepares the slot for this box: what is on the lease is cleaned up
// by somebody else should we be killed.
func (b *box) occupy(parts []part) error {
	if err := b.slot.write(b.lease()); err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	b.slots.apart.await(overlaid(&b.spec))
	if err := makeWorks(b.works); err != nil {
		return err
	}
	if b.host.privileged {
		b.sources.slot = b.slot
		if err := b.sources.open(parts); err != nil {
			return err
		}
	}
	return b.slot.group.limit(b.limits)
}

// awaited is the program's start; until then the box sends its listeners.
func (b *box) awaited() awaiting {
	return awaiting{
		kind:   reportStarted,
		born:   func() error { return b.slot.note(b.lease()) },
		socket: b.adopt,
	}
}

// lease is what somebody needs to clean up after us.
func (b *box) lease() lease { return b.host.lease(b.pid).with(b.works) }

// open makes the streams. A stream that nobody reads or writes is /dev/null.
func (b *box) open() (err error) {
	null, err := b.runtime.null()
	if err != nil {
		return err
	}
	for _, s := range []struct {
		to      *link
		wanted  bool
		channel func() (link, error)
	}{{&b.in, b.spec.Stdin != nil, toBox}, {&b.out, b.spec.Stdout != nil, fromBox}, {&b.errOut, b.spec.Stderr != nil, fromBox}} {
		if s.wanted {
			*s.to, err = s.channel()
		} else {
			s.to.theirs, err = unix.FcntlInt(uintptr(null), unix.F_DUPFD_CLOEXEC, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// close closes the streams and what the root was to be made from.
func (b *box) close() {
	for _, l := range []*link{&b.in, &b.out, &b.errOut} {
		l.close()
	}
	b.sources.close()
}

// give closes what the box has copies of now.
func (b *box) give() {
	b.in.give()
	b.out.give()
	b.errOut.give()
	b.sources.close()
}

// adopt takes a listening socket that the box made.
func (b *box) adopt(m reported) error {
	if m.fd < 0 || int(m.value) >= len(b.spec.Listeners) {
		return errors.New("a box sent no socket")
	}
	f := os.NewFile(uintptr(m.fd), "listener")
	defer f.Close()
	l, err := b.spec.Listeners[m.value].Serve.ServeSocket(f)
	if err == nil {
		b.listeners = append(b.listeners, l)
	}
	return err
}

// run moves the streams and prepares the end.
func (b *box) run(ctx context.Context) {
	b.meter = sandbox.NewMeter(b.limits.Output, b.end)
	if b.out.ours != nil {
		b.copies.Go(func() { b.meter.Copy(b.spec.Stdout, b.out.ours) })
	}
	if b.errOut.ours != nil {
		b.copies.Go(func() { b.meter.Copy(b.spec.Stderr, b.errOut.ours) })
	}
	if b.in.ours != nil {
		go func() {
			_, _ = io.Copy(b.in.ours, b.spec.Stdin)
			b.in.ours.Close()
		}()
	}
	b.done = make(chan struct{})
	if !b.slot.group.counts("memory") {
		go b.watch(b.done)
	}
	if len(b.disk.dirs) > 0 {
		go b.watchDisk(b.done)
	}
	b.stop = context.AfterFunc(ctx, b.Kill)
	b.waitOnce = sync.OnceValues(b.wait)
	go func() { _, _ = b.waitOnce() }()
}

// Kill ends the whole process tree at once.
func (b *box) Kill() {
	b.killed.Store(true)
	b.end()
}

// end kills the box. What its processes took of the processor is noted first:
// nobody waits for them then.
func (b *box) end() {
	b.mu.Lock()
	if b.pid != 0 {
		b.spent.Store(int64(sample(b.pid).CPU))
	}
	b.mu.Unlock()
	b.kill()
}

// Wait returns when no program of the box is left. The kernel takes the empty
// box apart meanwhile.
func (b *box) Wait() (sandbox.Result, error) { return b.waitOnce() }

func (b *box) wait() (sandbox.Result, error) {
	var result sandbox.Result
	result.Started = b.started.Sub(b.begun)
	ended, usage := b.reports(&result)
	if b.slots.apart.last() {
		b.status.close() // its init need not wait
	}
	result.Duration = time.Since(b.started)
	b.at("empty")
	close(b.done)
	b.stop()
	b.copies.Wait()
	result.Usage = sandbox.Usage{
		CPU:    time.Duration(usage.Utime.Nano()+usage.Stime.Nano()) + time.Duration(b.spent.Load()),
		Memory: max(usage.Maxrss<<10, b.most.Load()),
	}
	b.judge(&result, ended, b.slot.group.settle())
	b.empty()
	b.slots.apart.leave(written(&b.spec), b.vanish)
	return result, nil
}

// reports reads until init is alone or gone and says whether the program ended
// by itself, and what the box used in all.
func (b *box) reports(result *sandbox.Result) (ended bool, usage unix.Rusage) {
	for {
		m, err := b.receive()
		if errors.Is(err, os.ErrDeadlineExceeded) { // the context ended just when the program began
			_ = b.status.ours.SetReadDeadline(time.Time{})
			continue
		}
		if err != nil {
			return ended, b.bury()
		}
		if m.kind == reportEnded || m.kind == reportAlone {
			ended = true
			exitOf(syscall.WaitStatus(m.value), result)
		}
		switch m.kind {
		case reportEmpty, reportAlone:
			_, _ = binary.Decode(m.rest, binary.NativeEndian, &usage)
			return ended, usage
		case reportOverdue:
			result.Limit, result.Mechanism = sandbox.LimitWall, "timer of the box's process 1"
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

// judge says which limit ended the run, if one did.
func (b *box) judge(result *sandbox.Result, ended bool, a account) {
	result.Usage.Memory = max(result.Usage.Memory, a.peak)
	b.slot.spent = a.starved
	result.OutputDropped = b.meter.Dropped()
	if !ended {
		result.Signal, result.ExitCode = "SIGKILL", 128+int(unix.SIGKILL)
	}
	group := b.slot.group
	hit := func(l sandbox.LimitHit, mechanism string) { result.Limit, result.Mechanism = l, mechanism }
	switch {
	case result.Limit != sandbox.LimitNone:
	case b.meter.Spent():
		hit(sandbox.LimitOutput, "counted by us")
	case b.bloated.Load():
		hit(sandbox.LimitMemory, watchedMemory)
	case b.filled.Load(), !b.killed.Load() && b.disk.full():
		hit(sandbox.LimitDisk, watchedDisk)
	case b.killed.Load() && !ended:
		hit(sandbox.LimitCancelled, "kill")
	case result.ExitCode == 0:
	case a.starved:
		hit(sandbox.LimitMemory, group.mechanism("memory"))
	case result.Signal == "SIGXCPU":
		hit(sandbox.LimitCPU, "RLIMIT_CPU")
	case result.Signal == "SIGXFSZ":
		hit(sandbox.LimitFileSize, "RLIMIT_FSIZE")
	case a.crowded:
		hit(sandbox.LimitProcesses, group.mechanism("pids"))
	case b.crowded.Load():
		hit(sandbox.LimitProcesses, rlimitProcesses)
	case !ended:
		result.Mechanism = "somebody on the host killed the box's process 1"
	}
}

// Usage samples what the box uses now.
func (b *box) Usage() sandbox.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.slot.group
	if b.pid == 0 || !g.counts("memory") || !g.counts("pids") {
		return sample(b.pid)
	}
	u := g.usage()
	u.Processes = max(0, u.Processes-ownProcesses)
	if u.CPU == 0 {
		u.CPU = sample(b.pid).CPU
	}
	return u
}

// discard gives back what the box held.
func (b *box) discard() {
	defer b.slots.apart.exit()
	if b.cradle != nil {
		b.cradle.discard()
	}
	b.empty()
	b.vanish()
}

// empty closes and removes what only the box's programs needed. None of them
// is left.
func (b *box) empty() {
	b.close()
	for _, l := range b.listeners {
		l.Close()
	}
	if b.cradle != nil {
		clearWorks(b.works)
	}
}

// vanish waits for the kernel to have taken the box's name spaces and mounts
// apart, and makes its slot free.
func (b *box) vanish() {
	if b.cradle == nil {
		return
	}
	b.at("apart")
	b.cradle.discard()
	b.slots.renew(b.slot)
	b.slot.clear()
	b.slots.put(b.slot)
}
