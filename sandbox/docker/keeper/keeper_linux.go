package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"kintsugi/sandbox/callfilter"
)

// keeper is one container's first process.
type keeper struct {
	session *yamux.Session
	mu      sync.Mutex // one event at a time
	control *yamux.Stream
	order   Order
	trees   []*tree
	ports   []net.Listener
	puts    chan put
	stdin   chan *yamux.Stream
}

// put is an archive that arrived for a tree.
type put struct {
	stream *yamux.Stream
	number int
}

// Main keeps one container and returns the exit code. Without arguments it
// goes on as whom it was started; else the first is the id to become, the second
// how many files each folder in memory may have (0: any number), and the others
// are the folders that are for that one.
//
// With the one argument Remove it removes what the file Removals names, and
// keeps nothing.
func Main(args []string) int {
	if len(args) == 1 && args[0] == Remove {
		return removeListed()
	}
	session, err := begin(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		return 125
	}
	k := &keeper{session: session, puts: make(chan put, 64), stdin: make(chan *yamux.Stream, 1)}
	go func() {
		<-session.CloseChan()
		os.Exit(1) // nobody is there any more: everything ends with us
	}()
	if err := k.serve(); err != nil {
		_ = k.tell(Event{Kind: Failed, Error: err.Error()})
	}
	<-session.CloseChan()
	return 0
}

// begin makes this process one that nothing inside can harm.
func begin(args []string) (*yamux.Session, error) {
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(50)
	makeThreads()
	if os.Getpid() != 1 {
		return nil, errors.New("a keeper is the first process of a container and nothing else")
	}
	// Signals are caught, not ignored: programs would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGXFSZ,
		unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)
	if len(args) > 1 {
		if err := become(args[0], args[1], args[2:]); err != nil {
			return nil, err
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, err
	}
	if err := callfilter.Install(); err != nil {
		return nil, fmt.Errorf("the filter of system calls: %w", err)
	}
	return yamux.Server(inOut{}, Session())
}

// threads are made before the program may use up all that the box may have: a
// keeper that cannot make one any more would end.
const threads = 10

// makeThreads has so many goroutines hold a thread each at the same time; the
// runtime keeps the threads.
func makeThreads() {
	var here, done sync.WaitGroup
	here.Add(threads)
	for range threads {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			here.Done()
			here.Wait()
		})
	}
	done.Wait()
}

// become hands the folders over and gives up root and every right of this
// process and its children.
func become(id string, files string, folders []string) error {
	uid, err := strconv.Atoi(id)
	if err != nil {
		return err
	}
	narrow(files, folders) // while the folders are still root's
	for _, dir := range folders {
		if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, uid, uid)); err != nil {
			return err
		}
	}
	for right := uintptr(0); ; right++ {
		if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, right, 0); errno != 0 {
			break // the last one
		}
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	return errors.Join(syscall.Setgid(uid), syscall.Setuid(uid))
}

// inOut is the container's own input and output.
type inOut struct{}

func (inOut) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (inOut) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (inOut) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

func (k *keeper) tell(e Event) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.control == nil {
		return errors.New("nobody asked yet")
	}
	return Send(k.control, e)
}

// serve carries out the one order.
func (k *keeper) serve() error {
	control, kind, _, err := Accept(k.session)
	if err != nil || kind != Control {
		return errors.Join(errors.New("the first stream must be the control stream"), err)
	}
	k.control = control
	questions := json.NewDecoder(control)
	if err := questions.Decode(&k.order); err != nil {
		return fmt.Errorf("the order: %w", err)
	}
	go k.accept()
	if err := k.prepare(); err != nil {
		return err
	}
	return k.run(questions)
}

// accept takes the streams that the host opens.
func (k *keeper) accept() {
	for {
		stream, kind, number, err := Accept(k.session)
		switch {
		case err != nil:
			return
		case kind == Put:
			k.puts <- put{stream, number}
		case kind == Stdin:
			k.stdin <- stream
		default:
			stream.Close()
		}
	}
}

// prepare fills the trees, goes to the folder and opens the ports.
func (k *keeper) prepare() error {
	wanted := 0
	for _, t := range k.order.Trees {
		k.trees = append(k.trees, &tree{Tree: t})
		if t.Put {
			wanted++
		}
	}
	for range wanted {
		p := <-k.puts
		if p.number >= len(k.trees) {
			return errors.New("an archive for no tree")
		}
		if err := k.trees[p.number].unpack(p.stream); err != nil {
			return err
		}
		p.stream.Close()
	}
	if err := k.remember(); err != nil {
		return err
	}
	if dir := k.order.Dir; dir != "" {
		if err := os.Chdir(dir); err != nil {
			return fmt.Errorf("going to %s: %w", dir, reason(err))
		}
	}
	return k.listen()
}

// remember notes how the trees are before the program runs. The kernel's
// clock for files is coarse: it must have moved on before the first change.
func (k *keeper) remember() error {
	watched := false
	for _, t := range k.trees {
		if t.Get {
			watched = true
			if err := t.remember(); err != nil {
				return err
			}
		}
	}
	if !watched {
		return nil
	}
	for begin := coarse(); coarse() == begin; {
		time.Sleep(200 * time.Microsecond)
	}
	return nil
}

func coarse() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t)
	return t.Nano()
}

func (k *keeper) listen() error {
	for i, port := range k.order.Ports {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		k.ports = append(k.ports, l)
		go k.relay(l, i)
	}
	return nil
}

func (k *keeper) relay(l net.Listener, number int) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			stream, err := Open(k.session, Link, number)
			if err != nil {
				c.Close()
				return
			}
			Join(c, stream)
		}()
	}
}

// answer answers questions while the program runs.
func (k *keeper) answer(questions *json.Decoder, p *program) {
	for {
		var q Question
		if err := questions.Decode(&q); err != nil {
			return
		}
		if err := k.tell(Event{Kind: Used, Usage: p.usage()}); err != nil {
			return
		}
	}
}

// run runs the program to its end and hands back what it changed.
func (k *keeper) run(questions *json.Decoder) error {
	p := &program{order: &k.order, meters: findMeters(k.order.Bounds == nil), ended: make(chan struct{})}
	if err := p.start(k.session); err != nil {
		return err
	}
	if err := k.tell(Event{Kind: Started}); err != nil {
		return err
	}
	go k.answer(questions, p)
	over := make(chan struct{})
	go k.watch(p, over)
	go p.feed(k.stdin)
	ended := p.wait()
	close(over)
	for _, l := range k.ports {
		l.Close()
	}
	if err := k.tell(ended); err != nil {
		return err
	}
	done := Event{Kind: Done}
	budget := budget{bytes: k.order.Most, files: k.order.MostFiles}
	for i, t := range k.trees {
		if !t.Get {
			continue
		}
		if err := k.handBack(t, i, &budget); err != nil {
			done.Error = err.Error()
		}
	}
	done.Full = budget.spent || p.full.Load()
	return k.tell(done)
}

// watchEvery is the time between two looks at trees that lie on the engine's
// disk, where nothing else bounds them.
const watchEvery = 100 * time.Millisecond

// watch ends the program when it writes more than it may.
func (k *keeper) watch(p *program, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(watchEvery):
		}
		var size int64
		for _, t := range k.trees {
			if t.Get && !t.Put {
				size += t.grown()
			}
		}
		if size > k.order.Most {
			p.full.Store(true)
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	}
}

func (k *keeper) handBack(t *tree, number int, b *budget) error {
	stream, err := Open(k.session, Get, number)
	if err != nil {
		return err
	}
	err = t.changes(stream, b)
	return errors.Join(err, stream.Close())
}

// reason is the plain part of an error about a file.
func reason(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// copyClose copies and then ends the destination.
func copyClose(dst io.WriteCloser, src io.Reader) {
	_, _ = io.Copy(dst, src)
	dst.Close()
}
