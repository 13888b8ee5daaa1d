package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"

	"kintsugi/sandbox"
	"kintsugi/sandbox/docker/keeper"
	"kintsugi/sandbox/listen"
)

// box is one running container.
type box struct {
	*plan
	runtime *Runtime
	vessel  *vessel
	control *yamux.Stream
	meter   *sandbox.Meter
	begun   time.Time
	started time.Time
	stop    func() bool // ends watching the context

	streams  sync.WaitGroup // output and changes
	getters  chan error     // one answer for each tree that is handed back
	events   chan keeper.Event
	used     chan sandbox.Usage
	asking   sync.Mutex
	ports    []*port
	killed   atomic.Bool
	waitOnce func() (sandbox.Result, error)
}

func newBox(r *Runtime, v *vessel, p *plan, begun time.Time) *box {
	b := &box{plan: p, runtime: r, vessel: v, begun: begun, events: make(chan keeper.Event, 4), used: make(chan sandbox.Usage, 1)}
	b.getters = make(chan error, len(p.trees))
	b.meter = sandbox.NewMeter(p.limits.Output, v.end)
	b.waitOnce = sync.OnceValues(b.wait)
	return b
}

// ID names the container.
func (b *box) ID() string { return b.vessel.name }

// start gives the keeper its order and waits until the program runs.
func (b *box) start(ctx context.Context) error {
	defer b.plan.close()
	stop := context.AfterFunc(ctx, b.vessel.end)
	defer stop()
	err := b.command()
	if err == nil {
		err = b.await()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	b.started = time.Now()
	b.listen()
	b.stop = context.AfterFunc(ctx, b.Kill)
	go func() { _, _ = b.waitOnce() }()
	return nil
}

// command sends the order and the trees.
func (b *box) command() error {
	session := b.vessel.session
	var err error
	if b.control, err = keeper.Open(session, keeper.Control, 0); err != nil {
		return err
	}
	if err := keeper.Send(b.control, b.order); err != nil {
		return err
	}
	b.getPorts()
	for _, wanted := range []bool{b.order.Stdout, b.order.Stderr} {
		if wanted {
			b.streams.Add(1)
		}
	}
	go b.accept()
	go b.hear()
	for i, t := range b.order.Trees {
		if !t.Put {
			continue
		}
		if err := b.put(i); err != nil {
			return b.putFailed(t.Path, err)
		}
	}
	return nil
}

// put sends the content of one tree.
func (b *box) put(i int) error {
	stream, err := keeper.Open(b.vessel.session, keeper.Put, i)
	if err != nil {
		return err
	}
	err = b.trees[i].send(stream)
	return errors.Join(err, stream.Close())
}

// putFailed prefers what the keeper says to what became of our stream.
func (b *box) putFailed(path string, err error) error {
	select {
	case e, ok := <-b.events:
		if ok && e.Kind == keeper.Failed {
			return b.refused(e.Error)
		}
	case <-time.After(100 * time.Millisecond):
	}
	return fmt.Errorf("showing %s to the box: %w", path, err)
}

// refused words why the program never ran.
func (b *box) refused(text string) error {
	if strings.Contains(text, "no space left") {
		return fmt.Errorf("%s: it is larger than a box may hold (%d MB)", strings.TrimSuffix(text, ": no space left on device"), b.limits.Disk>>20)
	}
	return errors.New(text)
}

// await waits for the program's start.
func (b *box) await() error {
	e, ok := <-b.events
	switch {
	case !ok:
		return fmt.Errorf("the container ended before the program began: %s", b.vessel.last(io.EOF))
	case e.Kind == keeper.Failed:
		return b.refused(e.Error)
	}
	if b.spec.Stdin != nil {
		go b.feed()
	}
	return nil
}

// feed sends the program its input.
func (b *box) feed() {
	stream, err := keeper.Open(b.vessel.session, keeper.Stdin, 0)
	if err != nil {
		return
	}
	_, _ = io.Copy(stream, b.spec.Stdin)
	stream.Close()
}

// hear takes in what the keeper tells.
func (b *box) hear() {
	defer close(b.events)
	in := json.NewDecoder(b.control)
	for {
		var e keeper.Event
		if err := in.Decode(&e); err != nil {
			return
		}
		if e.Kind == keeper.Used {
			select {
			case b.used <- e.Usage:
			default:
			}
			continue
		}
		b.events <- e
		if e.Kind == keeper.Done || e.Kind == keeper.Failed {
			return
		}
	}
}

// accept takes the streams that the keeper opens.
func (b *box) accept() {
	seen := map[keeper.Kind]bool{}
	output := func(kind keeper.Kind, to io.Writer, stream *yamux.Stream) {
		if seen[kind] {
			return
		}
		seen[kind] = true
		go func() {
			defer b.streams.Done()
			b.meter.Copy(to, stream)
			stream.Close()
		}()
	}
	for {
		stream, kind, number, err := keeper.Accept(b.vessel.session)
		if err != nil {
			break
		}
		switch {
		case kind == keeper.Stdout && b.order.Stdout:
			output(kind, b.spec.Stdout, stream)
		case kind == keeper.Stderr && b.order.Stderr:
			output(kind, b.spec.Stderr, stream)
		case kind == keeper.Get && number < len(b.trees) && b.trees[number].into != "":
			go func() { b.getters <- b.get(number, stream) }()
		case kind == keeper.Link && number < len(b.ports):
			b.ports[number].give(stream)
		default:
			stream.Close()
		}
	}
	for _, kind := range []keeper.Kind{keeper.Stdout, keeper.Stderr} {
		if wanted := kind == keeper.Stdout && b.order.Stdout || kind == keeper.Stderr && b.order.Stderr; wanted && !seen[kind] {
			b.streams.Done()
		}
	}
}

// get keeps what the program changed in one tree.
func (b *box) get(number int, stream *yamux.Stream) error {
	defer stream.Close()
	s := b.trees[number]
	x := receiver{dir: s.into, overlay: s.overlay, bytes: b.order.Most, files: b.order.MostFiles}
	return x.receive(stream)
}

// Kill ends the whole process tree at once.
func (b *box) Kill() {
	b.killed.Store(true)
	b.vessel.end()
}

// Wait returns when everything is over.
func (b *box) Wait() (sandbox.Result, error) { return b.waitOnce() }

func (b *box) wait() (sandbox.Result, error) {
	result := sandbox.Result{Started: b.started.Sub(b.begun)}
	ended, done, err := b.end()
	result.Duration = time.Since(b.started)
	b.stop()
	b.streams.Wait()
	for _, p := range b.ports {
		p.Close()
	}
	b.vessel.end()
	if ended == nil {
		<-b.vessel.gone
		if err := b.lost(); err != nil {
			return result, err
		}
	} else {
		result.Usage = ended.Usage
		exitOf(ended.Status, &result)
	}
	b.judge(&result, ended, done)
	return result, err
}

// end follows the keeper's events to the last one.
func (b *box) end() (ended, done *keeper.Event, err error) {
	for e := range b.events {
		switch e.Kind {
		case keeper.Ended:
			ended = &e
		case keeper.Done:
			done = &e
		}
	}
	if done == nil {
		return ended, nil, nil
	}
	for _, t := range b.order.Trees {
		if t.Get {
			select {
			case e := <-b.getters:
				err = errors.Join(err, e)
			case <-b.vessel.session.CloseChan():
			}
		}
	}
	return ended, done, err
}

// lost finds out why a keeper fell silent that nobody ended.
func (b *box) lost() error {
	if b.killed.Load() || b.meter.Spent() {
		return nil
	}
	api, err := b.runtime.api()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := api.Ping(ctx); err != nil {
		return fmt.Errorf("the engine went away in the middle of the run: %w", b.runtime.explain(err))
	}
	return nil
}

// signals are the names of Linux's signals that end programs, wherever this
// program runs.
var signals = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
	10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 16: "SIGSTKFLT", 24: "SIGXCPU",
	25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 29: "SIGIO", 30: "SIGPWR", 31: "SIGSYS",
}

// exitOf reads a status as Linux's wait(2) gives it.
func exitOf(status int, result *sandbox.Result) {
	n := status & 0x7f
	if n == 0 {
		result.ExitCode = status >> 8 & 0xff
		return
	}
	result.ExitCode, result.Signal = 128+n, fmt.Sprintf("SIG%d", n)
	if n < len(signals) && signals[n] != "" {
		result.Signal = signals[n]
	}
}

// judge says which limit ended the run, if one did.
func (b *box) judge(result *sandbox.Result, ended, done *keeper.Event) {
	result.OutputDropped = b.meter.Dropped()
	hit := func(l sandbox.LimitHit, mechanism string) { result.Limit, result.Mechanism = l, mechanism }
	if ended == nil {
		result.Signal, result.ExitCode = "SIGKILL", 137
	}
	memory, tasks := "the engine's control group, memory", "the engine's control group, pids"
	if b.order.Bounds != nil {
		memory, tasks = "watched by the box's process 1", "RLIMIT_NPROC"
	}
	switch {
	case b.meter.Spent():
		hit(sandbox.LimitOutput, "counted by us")
	case ended == nil && b.killed.Load():
		hit(sandbox.LimitCancelled, "kill")
	case ended == nil:
		result.Mechanism = "the container was ended from outside, or for want of memory"
	case ended.Overdue:
		hit(sandbox.LimitWall, "timer of the box's process 1")
	case done != nil && done.Full:
		hit(sandbox.LimitDisk, "the size of the box's tmpfs")
	case result.ExitCode == 0:
	case ended.Starved:
		hit(sandbox.LimitMemory, memory)
	case result.Signal == "SIGXCPU":
		hit(sandbox.LimitCPU, "RLIMIT_CPU")
	case result.Signal == "SIGXFSZ":
		hit(sandbox.LimitFileSize, "RLIMIT_FSIZE")
	case ended.Crowded:
		hit(sandbox.LimitProcesses, tasks)
	}
}

// Usage samples what the box uses now.
func (b *box) Usage() sandbox.Usage {
	b.asking.Lock()
	defer b.asking.Unlock()
	select {
	case <-b.used: // a late answer
	default:
	}
	if err := keeper.Send(b.control, keeper.Question{Usage: true}); err != nil {
		return sandbox.Usage{}
	}
	select {
	case u := <-b.used:
		return u
	case <-b.vessel.session.CloseChan():
	case <-time.After(2 * time.Second):
	}
	return sandbox.Usage{}
}

// port is a loopback port of the box as a listener here.
type port struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// getPorts makes the listeners; listen has them served.
func (b *box) getPorts() {
	for range b.spec.Listeners {
		b.ports = append(b.ports, &port{conns: make(chan net.Conn, 64), done: make(chan struct{})})
	}
}

func (b *box) listen() {
	for i, l := range b.spec.Listeners {
		if serve, ok := l.Serve.(listen.Func); ok {
			go serve(b.ports[i])
		}
	}
}

// give hands over a connection that the program made.
func (p *port) give(c net.Conn) {
	select {
	case p.conns <- c:
	case <-p.done:
		c.Close()
	}
}

// Accept implements net.Listener.
func (p *port) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *port) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *port) Addr() net.Addr { return &net.UnixAddr{Name: "box", Net: "unix"} }
