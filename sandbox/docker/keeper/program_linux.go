package keeper

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// program is the one that the container is for, with all it starts.
type program struct {
	order   *Order
	meters  meters
	pid     int
	began   time.Time
	in      *os.File
	copies  sync.WaitGroup
	overdue atomic.Bool
	full    atomic.Bool // it wrote more than it may
	timer   *time.Timer

	// What was seen of a box whose bounds are kept here.
	ended            chan struct{}
	most             atomic.Int64 // bytes
	starved, crowded atomic.Bool
}

// start starts the program. Why it could not be started is the program's own
// business, as with a shell: it is told on its standard error.
func (p *program) start(session *yamux.Session) error {
	out, err := p.outlet(session, Stdout, p.order.Stdout)
	if err != nil {
		return err
	}
	defer out.Close()
	errs, err := p.outlet(session, Stderr, p.order.Stderr)
	if err != nil {
		return err
	}
	defer errs.Close()
	in, err := p.inlet()
	if err != nil {
		return err
	}
	defer in.Close()
	if b := p.order.Bounds; b != nil {
		if err := b.set(); err != nil {
			return fmt.Errorf("the limits: %w", err)
		}
		go p.watch(b)
	}
	p.began = time.Now()
	path, err := find(p.order.Argv[0], p.order.Env)
	if err == nil {
		p.pid, err = fork(path, p.order, []uintptr{in.Fd(), out.Fd(), errs.Fd()})
	}
	if err != nil {
		code := refusal(err)
		fmt.Fprintf(errs, "kintsugi: %s: %s\n", p.order.Argv[0], words(err))
		p.pid = -code
		return nil
	}
	p.offer()
	if p.order.Wall > 0 {
		p.timer = time.AfterFunc(p.order.Wall, func() {
			p.overdue.Store(true)
			_ = unix.Kill(-1, unix.SIGKILL)
		})
	}
	return nil
}

// fork starts the file at path; one without a header is a script for sh.
func fork(path string, o *Order, files []uintptr) (int, error) {
	attr := &syscall.ProcAttr{Env: o.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	pid, err := syscall.ForkExec(path, o.Argv, attr)
	if errors.Is(err, syscall.ENOEXEC) {
		argv := append([]string{"sh", path}, o.Argv[1:]...)
		pid, err = syscall.ForkExec("/bin/sh", argv, attr)
	}
	return pid, err
}

// offer makes the program the one to be killed when memory runs out, not us.
func (p *program) offer() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.pid), []byte("900"), 0)
}

// outlet is what the program writes to.
func (p *program) outlet(session *yamux.Session, kind Kind, wanted bool) (*os.File, error) {
	if !wanted {
		return os.OpenFile("/dev/null", os.O_WRONLY, 0)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stream, err := Open(session, kind, 0)
	if err != nil {
		return nil, err
	}
	p.copies.Go(func() { copyClose(stream, r) })
	return w, nil
}

// inlet is what the program reads from.
func (p *program) inlet() (*os.File, error) {
	if !p.order.Stdin {
		return os.Open("/dev/null")
	}
	r, w, err := os.Pipe()
	p.in = w
	return r, err
}

// feed sends what the host gives to the program's input.
func (p *program) feed(streams <-chan *yamux.Stream) {
	if p.in != nil {
		stream := <-streams
		copyClose(p.in, stream)
		_, _ = io.Copy(io.Discard, stream)
	}
}

// find looks a command up as a shell does.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	refused := false
	for _, dir := range filepath.SplitList(variable(env, "PATH")) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			continue
		}
		if info.Mode()&0o111 != 0 {
			return path, nil
		}
		refused = true
	}
	if refused {
		return "", fs.ErrPermission
	}
	return "", errNotFound
}

var errNotFound = errors.New("command not found")

func variable(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// refusal is the exit code of a program that could not be started.
func refusal(err error) int {
	if errors.Is(err, errNotFound) || errors.Is(err, fs.ErrNotExist) {
		return 127
	}
	return 126
}

func words(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "permission denied"
	}
	return reason(err).Error()
}

// wait reaps everything until the program is gone, ends what it left, and
// waits for the last of its output.
func (p *program) wait() Event {
	e := Event{Kind: Ended, Status: -p.pid << 8}
	if p.pid > 0 {
		e.Status = reap(p.pid)
	}
	for unix.Kill(-1, unix.SIGKILL) == nil {
		if reap(0) == allGone {
			break
		}
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	close(p.ended)
	e.Took = time.Since(p.began)
	p.copies.Wait()
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &r)
	e.Usage = sandbox.Usage{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano()), Memory: max(r.Maxrss<<10, p.meters.peak(), p.most.Load())}
	e.Overdue, e.Starved, e.Crowded = p.overdue.Load(), p.starved.Load() || p.meters.killed() > 0, p.crowded.Load() || p.meters.refused() > 0
	return e
}

const allGone = -1

// reap waits until the process pid is gone and returns its status, or, for 0,
// until there is no process at all.
func reap(pid int) int {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return allGone
		case got == pid && pid != 0:
			return int(status)
		}
	}
}

// usage samples what the container uses now, without us.
func (p *program) usage() sandbox.Usage {
	if p.order.Bounds != nil {
		return sample()
	}
	return sandbox.Usage{Memory: p.meters.memory(), Processes: max(0, p.meters.tasks()-ownTasks()), CPU: p.meters.cpu()}
}

func ownTasks() int {
	entries, _ := os.ReadDir("/proc/self/task")
	return len(entries)
}
