package agent

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/sandbox"
)

// reply is what a fake box answers.
type reply struct {
	stdout, stderr string
	exit           int
}

// fakeRuntime answers commands from a function: for broken and hostile cases
// that no real box should be asked to play.
type fakeRuntime struct {
	answer func(sandbox.Spec) reply
	mu     sync.Mutex
	ran    []sandbox.Spec
}

func (*fakeRuntime) Name() string { return "fake" }
func (*fakeRuntime) Probe(context.Context) sandbox.Availability {
	return sandbox.Availability{OK: true}
}
func (*fakeRuntime) Reconcile(context.Context) (sandbox.Reclaimed, error) {
	return sandbox.Reclaimed{}, nil
}

func (f *fakeRuntime) Start(_ context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	f.mu.Lock()
	f.ran = append(f.ran, spec)
	f.mu.Unlock()
	return fakeBox{f.answer(spec), spec}, nil
}

// installs counts the boxes that ran an installer.
func (f *fakeRuntime) installs() int {
	n := 0
	for _, s := range f.ran {
		all := strings.Join(s.Argv, " ")
		if strings.Contains(all, "pip install") || strings.Contains(all, "npm install") || strings.Contains(all, "apt-get") {
			n++
		}
	}
	return n
}

type fakeBox struct {
	reply
	spec sandbox.Spec
}

func (fakeBox) ID() string           { return "fake-1" }
func (fakeBox) Kill()                {}
func (fakeBox) Usage() sandbox.Usage { return sandbox.Usage{} }
func (b fakeBox) Wait() (sandbox.Result, error) {
	for w, text := range map[io.Writer]string{b.spec.Stdout: b.stdout, b.spec.Stderr: b.stderr} {
		if w != nil {
			if _, err := io.WriteString(w, text); err != nil {
				return sandbox.Result{}, err
			}
		}
	}
	return sandbox.Result{ExitCode: b.exit, Started: time.Millisecond, Duration: time.Millisecond}, nil
}

// memoryLog keeps events.
type memoryLog struct {
	mu     sync.Mutex
	events []event.Event
}

func (l *memoryLog) Append(b event.Body) (event.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := event.Event{Seq: int64(len(l.events) + 1), Body: b}
	l.events = append(l.events, e)
	return e, nil
}

func (l *memoryLog) count(kind event.Kind) int {
	n := 0
	for _, e := range l.events {
		if e.Body.Kind() == kind {
			n++
		}
	}
	return n
}

// plainWorkspace is a workspace that remembers what became of its drafts.
type plainWorkspace struct {
	mu                   sync.Mutex
	committed, discarded int
}

type plainDraft struct{ w *plainWorkspace }

func (w *plainWorkspace) Begin() (Draft, error) { return plainDraft{w}, nil }
func (plainDraft) Spec() sandbox.Workspace      { return sandbox.Workspace{} }
func (plainDraft) Renew() (bool, error)         { return true, nil }
func (d plainDraft) Commit() (Saved, error)     { return Saved{}, d.w.add(&d.w.committed) }
func (d plainDraft) Discard() error             { return d.w.add(&d.w.discarded) }

func (w *plainWorkspace) add(n *int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
	return nil
}

// bench is an engine on a fake runtime.
type bench struct {
	*Engine
	rt  *fakeRuntime
	log *memoryLog
	ws  *plainWorkspace
}

func newBench(t *testing.T, answer func(sandbox.Spec) reply) bench {
	t.Helper()
	rules := sync.OnceValues(func() (*heal.Rules, error) { return heal.Load() })
	b := bench{rt: &fakeRuntime{answer: answer}, log: &memoryLog{}, ws: &plainWorkspace{}}
	dir := t.TempDir()
	b.Engine = NewEngine(Config{
		Runtime: b.rt, Rules: rules, Log: b.log, Workspace: b.ws, SideDir: t.TempDir(), Now: time.Now,
		Project:   Project{Path: dir, Source: dir, Dir: dir},
		Installer: &install.Installer{Runtime: b.rt, Store: install.Store{Dir: t.TempDir()}, Now: time.Now},
	})
	return b
}

// python answers the installer's questions as an interpreter would, and
// everything else with user.
func python(user func(sandbox.Spec) reply) func(sandbox.Spec) reply {
	return func(s sandbox.Spec) reply {
		all := strings.Join(s.Argv, " ")
		switch {
		case strings.Contains(all, "getusersitepackages"):
			return reply{stdout: `{"executable":"/usr/bin/python3","version":"3.11","abi":"cp311","platform":"linux","site":"/kintsugi/python/lib/python3.11/site-packages","pip":true}`}
		case strings.Contains(all, "pip install"), strings.Contains(all, "find_spec"):
			return reply{}
		}
		return user(s)
	}
}

// noIndex is a package manager whose index is on this machine, where nobody
// answers.
type noIndex struct{}

func (noIndex) Run(context.Context, []string, []string) (string, error) {
	return "http://127.0.0.1:9/simple\n:env:.index-url='http://127.0.0.1:9/simple'\n", nil
}

func mirrorOf(t *testing.T) *install.Mirror {
	m := &install.Mirror{CacheDir: t.TempDir(), Environ: []string{}, Prober: noIndex{}}
	t.Cleanup(m.Close)
	return m
}
