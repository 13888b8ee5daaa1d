package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kintsugi/agent/event"
	"kintsugi/sandbox"
	"kintsugi/sandbox/inert"
)

// tailKept is how much of each stream a diagnosis and a model get to see.
const tailKept = 64 << 10

// attempt is one execution in one box.
type attempt struct {
	n              int
	draft          Draft
	result         sandbox.Result
	stdout, stderr *tail
	// finish closes the sink; it runs once, when it is known whether the
	// attempt is the call's last.
	finish func(final bool) error
	done   bool
}

func (a *attempt) ok() bool {
	return a.result.ExitCode == 0 && a.result.Limit == sandbox.LimitNone
}

func (a *attempt) end(final bool) error {
	if a.done {
		return nil
	}
	a.done = true
	return a.finish(final)
}

// attempt runs the call once in a fresh box on the current checkpoint.
func (e *Engine) attempt(ctx context.Context, r *run, n int) (*attempt, error) {
	draft, err := e.begin()
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the workspace: %w", err)
	}
	a := &attempt{n: n, draft: draft, stdout: &tail{}, stderr: &tail{}, finish: func(bool) error { return nil }}
	if err := e.execute(ctx, r, a); err != nil {
		return nil, errors.Join(err, draft.Discard())
	}
	if !a.ok() {
		if err := draft.Discard(); err != nil {
			return nil, fmt.Errorf("cannot drop a failed attempt: %w", err)
		}
	}
	return a, nil
}

func (e *Engine) execute(ctx context.Context, r *run, a *attempt) error {
	if err := e.runPrelude(ctx, a.draft); err != nil {
		return err
	}
	spec := e.spec(r.argv, a.draft)
	stdin := io.ReadCloser(nil)
	if r.stdin != nil {
		stdin = r.stdin.reader()
		spec.Stdin = stdin
	}
	out, errs := e.wire(r, a, &spec)
	start := event.Attempt{
		Step: r.call.Step, Attempt: a.n, Argv: r.argv, Layers: e.env.keys(), Limits: describe(spec.Limits.WithDefaults()),
	}
	box, err := e.Runtime.Start(ctx, spec)
	if err != nil {
		return err
	}
	start.Box = box.ID()
	if err := e.log(start); err != nil {
		box.Kill()
	}
	a.result, err = box.Wait()
	if stdin != nil {
		_ = stdin.Close()
	}
	return errors.Join(err, out.Close(), errs.Close(), e.logEnd(r, a))
}

// spec is a box of the session: its environment, layers and limits.
func (e *Engine) spec(argv []string, draft Draft) sandbox.Spec {
	return sandbox.Spec{
		Argv: argv, Env: e.env.env(e.Env), Dir: e.Project.Dir, Workspace: draft.Spec(),
		Layers: e.env.trees(), Mounts: append(slices.Clone(e.Project.Mounts), e.codeMount()...),
		Limits: e.env.limits, BestEffort: e.BestEffort,
	}
}

// wire sends the box's output to the log, the sink and the tails.
func (e *Engine) wire(r *run, a *attempt, spec *sandbox.Spec) (out, errs *event.Stream) {
	out = e.stream(r, a, false)
	errs = e.stream(r, a, true)
	stdout, stderr := []io.Writer{a.stdout, out}, []io.Writer{a.stderr, errs}
	if s := r.call.Sink; s != nil {
		last := r.call.NoHeal || a.n >= e.Attempts
		so, se := s.Attempt(a.n, last)
		stdout, stderr = append(stdout, so), append(stderr, se)
		a.finish = s.Ended
	}
	spec.Stdout, spec.Stderr = io.MultiWriter(stdout...), io.MultiWriter(stderr...)
	return out, errs
}

func (e *Engine) stream(r *run, a *attempt, stderr bool) *event.Stream {
	filter, ext := inert.New(inert.KeepCR), "out"
	if stderr {
		ext = "err"
	}
	o := event.StreamOptions{
		Step: r.call.Step, Attempt: a.n, Stderr: stderr,
		Clean: func(p []byte) string { return filter.Write(p) },
	}
	if e.SideDir != "" {
		o.Side = filepath.Join(e.SideDir, fmt.Sprintf("%d-%d.%s", r.call.Step, a.n, ext))
	}
	return event.NewStream(e.Log, o)
}

func (e *Engine) logEnd(r *run, a *attempt) error {
	res := a.result
	return e.log(
		event.Born{Step: r.call.Step, Attempt: a.n, Took: res.Started},
		event.AttemptEnd{
			Step: r.call.Step, Attempt: a.n, Exit: res.ExitCode, Signal: res.Signal, Limit: string(res.Limit),
			Mechanism: res.Mechanism, Took: res.Duration, CPU: res.Usage.CPU, Memory: res.Usage.Memory,
		})
}

// runPrelude runs the commands that layers and remedies put before the program.
func (e *Engine) runPrelude(ctx context.Context, draft Draft) error {
	for _, argv := range e.env.before() {
		box, err := e.Runtime.Start(ctx, e.spec(argv, draft))
		if err != nil {
			return err
		}
		if _, err := box.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// describe tells limits in words: "2 GB, 256 processes, 2m0s".
func describe(l sandbox.Limits) string {
	var parts []string
	if l.Memory > 0 {
		parts = append(parts, size(l.Memory)+" memory")
	}
	if l.Processes > 0 {
		parts = append(parts, fmt.Sprintf("%d processes", l.Processes))
	}
	if l.Wall > 0 {
		parts = append(parts, l.Wall.Round(time.Second).String())
	}
	return strings.Join(parts, ", ")
}

// size tells bytes as people do, in powers of 1024.
func size(n int64) string {
	unit, v := "B", float64(n)
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if v < 1024 {
			break
		}
		unit, v = u, v/1024
	}
	if v == float64(int64(v)) {
		return fmt.Sprintf("%d %s", int64(v), unit)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// tail keeps the last tailKept bytes of a stream.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) >= tailKept {
		t.buf = append(t.buf[:0], p[len(p)-tailKept:]...)
		return len(p), nil
	}
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailKept {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailKept:]...)
	}
	return len(p), nil
}

// Raw gives the bytes as they came.
func (t *tail) Raw() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-tailKept):])
}

// String gives harmless text.
func (t *tail) String() string { return inert.String(t.Raw()) }
