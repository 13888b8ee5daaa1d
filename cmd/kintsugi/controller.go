package main

import (
	"context"
	"errors"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/sandbox"
)

// controller turns the user's intents into work of the session, one job after
// the other.
type controller struct {
	s    *session // nil until it is open; see session
	loop *agent.Loop
	ctx  context.Context
	quit context.CancelFunc

	mu      sync.Mutex
	cancel  context.CancelFunc // stops the job that runs
	answers map[string]chan answer
	jobs    chan job
	done    chan struct{}
	opened  chan struct{} // closed when the session is open, or cannot be
	stepped atomic.Bool   // each act waits for the user
	asked   int
	failed  error // what ended the work: a log that cannot be written, a bug
}

type job func(ctx context.Context) error

// maxWaiting is how many jobs may wait; a further one is refused.
const maxWaiting = 16

func newController(ctx context.Context) *controller {
	ctx, quit := context.WithCancel(ctx)
	return &controller{
		ctx: ctx, quit: quit, answers: map[string]chan answer{},
		jobs: make(chan job, maxWaiting), done: make(chan struct{}), opened: make(chan struct{}),
	}
}

// work runs jobs until the workbench closes.
func (c *controller) work() {
	defer close(c.done)
	for {
		select {
		case <-c.ctx.Done():
			return
		case j := <-c.jobs:
			if err := c.one(j); err != nil {
				c.note(err)
			}
		}
	}
}

// one runs a job; a panic in it is an error of the job.
func (c *controller) one(j job) (err error) {
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("internal error: " + firstLineOfPanic(p, debug.Stack()))
		}
	}()
	return j(ctx)
}

// note tells the user what went wrong; when even the log fails, the workbench
// closes with that error.
func (c *controller) note(err error) {
	if errors.Is(err, context.Canceled) {
		err = errors.New("stopped")
	}
	s := c.session()
	if s == nil {
		return
	}
	if _, lerr := s.log.Append(event.Note{Level: "error", Text: oneLine(err.Error())}); lerr != nil {
		c.failed = errors.Join(err, lerr)
		c.quit()
	}
}

func (c *controller) queue(j job) {
	select {
	case c.jobs <- j:
	default:
		c.note(errors.New("too many things are waiting to run; try again when some are done"))
	}
}

// Submit implements ui.Intents.
func (c *controller) Submit(text string) {
	c.queue(func(ctx context.Context) error {
		res, err := c.loop.Task(ctx, text)
		if res.Reason == agent.NoModel {
			return nil // the log says so already
		}
		return err
	})
}

// Shell implements ui.Intents.
func (c *controller) Shell(cmd string) {
	argv := []string{shellIn(sandbox.RootOf(c.s.engine.Runtime)), "-c", cmd}
	c.call(agent.Call{Tool: "shell", Origin: "user", Argv: argv, Code: cmd})
}

// shellIn is the shell of boxes: bash if this machine has it, unless boxes see
// an image, which may lack it.
func shellIn(root string) string {
	if path, err := exec.LookPath("bash"); root == "" && err == nil && strings.HasPrefix(path, "/") {
		return path
	}
	return "/bin/sh"
}

// RunFile implements ui.Intents.
func (c *controller) RunFile(path string, args []string) {
	c.call(agent.Call{Tool: "run", Origin: "user", File: path, Args: args})
}

func (c *controller) call(call agent.Call) {
	c.queue(func(ctx context.Context) error {
		_, err := c.s.step(ctx, call)
		return err
	})
}

// Cancel implements ui.Intents.
func (c *controller) Cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// answer is what the user chose, and another text than the question brought.
type answer struct{ choice, text string }

// Answer implements ui.Intents.
func (c *controller) Answer(id, choice string) { c.AnswerText(id, choice, "") }

// AnswerText implements ui.Editor.
func (c *controller) AnswerText(id, choice, text string) {
	c.mu.Lock()
	waits := c.answers[id]
	delete(c.answers, id)
	c.mu.Unlock()
	if waits != nil {
		waits <- answer{choice, text}
	}
}

// Quit implements ui.Intents.
func (c *controller) Quit() { c.quit() }

// ask waits for the answer to a question that the log already shows.
func (c *controller) ask(ctx context.Context, q event.Ask) (string, bool) {
	got, ok := await(ctx, c.expect(q.ID))
	return got.choice, ok
}

// expect is where the answer to a question will come.
func (c *controller) expect(id string) <-chan answer {
	waits := make(chan answer, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[id] = waits
	return waits
}

func await(ctx context.Context, waits <-chan answer) (answer, bool) {
	select {
	case got := <-waits:
		return got, true
	case <-ctx.Done():
		return answer{}, false
	}
}
