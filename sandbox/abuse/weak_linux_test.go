package abuse

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
)

// weak is a runtime without walls: its boxes run on the host.
type weak struct{}

func (weak) Name() string { return "weak" }
func (weak) Probe(context.Context) sandbox.Availability {
	return sandbox.Availability{OK: true}
}
func (weak) Reconcile(context.Context) (sandbox.Reclaimed, error) { return sandbox.Reclaimed{}, nil }

func (weak) Start(_ context.Context, s sandbox.Spec) (sandbox.Box, error) {
	cmd := exec.Command(s.Mounts[0].Source, s.Argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Dir, s.Stdin, s.Stdout, s.Stderr
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.WaitDelay = 100 * time.Millisecond
	b := &weakBox{cmd: cmd, done: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(b.done)
		_ = cmd.Wait()
	}()
	return b, nil
}

type weakBox struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (b *weakBox) ID() string           { return "weak" }
func (b *weakBox) Kill()                { _ = b.cmd.Process.Kill() }
func (b *weakBox) Usage() sandbox.Usage { return sandbox.Usage{} }
func (b *weakBox) Wait() (sandbox.Result, error) {
	<-b.done
	return sandbox.Result{ExitCode: b.cmd.ProcessState.ExitCode()}, nil
}

// harmless are cases that may be tried on the host itself. Each must be
// reported as breached there.
var harmlessCases = []int{36, 37, 49, 51, 60, 67, 72, 97, 102, 103, 115, 116, 118}

func TestAWeakRuntimeIsFoundOut(t *testing.T) {
	t.Setenv("KINTSUGI_ABUSE_SECRET", "a variable that no box was given")
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o755); err != nil {
		t.Fatal(err)
	}
	o, err := Options{Home: home}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{rt: weak{}, opts: o, id: runID(), before: takeBaseline()}
	t.Cleanup(func() {
		for _, pid := range processesWith(r.id) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}

	})
	for _, c := range table(t) {
		for _, n := range harmlessCases {
			if c.Number == n {
				r.one(t.Context(), c)
			}
		}
	}
	if len(r.entries) != len(harmlessCases) {
		t.Fatalf("%d of %d cases were tried", len(r.entries), len(harmlessCases))
	}
	for _, e := range r.entries {
		if e.Outcome != Breach {
			t.Errorf("case %d, %s: %s, want a breach: %s", e.Number, e.Title, e.Outcome, e.Detail)
		}
		t.Logf("%d %s: %s", e.Number, e.Title, cut(e.Detail, 120))
	}
}

func TestDeclaredWeakness(t *testing.T) {
	t.Parallel()
	r := &runner{rt: declared{}}
	for promise, want := range map[sandbox.Promise]Outcome{
		sandbox.PromiseMemory: Declared, sandbox.PromiseQuotas: Declared, sandbox.PromiseDisk: Breach, sandbox.PromiseCPU: Breach, "": Breach,
	} {
		if got, _ := r.breached(t.Context(), Case{Promise: promise}, "gave way"); got != want {
			t.Errorf("a breach of %q is %q, want %q", promise, got, want)
		}
	}
}

// declared is a runtime that says itself that it only watches memory and does
// not keep the user's quotas.
type declared struct{ weak }

func (declared) Probe(context.Context) sandbox.Availability {
	return sandbox.Availability{OK: true, Report: sandbox.Report{
		{Promise: sandbox.PromiseMemory, Strength: sandbox.Watched, Mechanism: "looking"},
		{Promise: sandbox.PromiseDisk, Strength: sandbox.KernelEnforced, Mechanism: "quota"},
		{Promise: sandbox.PromiseQuotas, Strength: sandbox.NotKept, Mechanism: "the box is the user"},
	}}
}

func TestUnavailableRuntime(t *testing.T) {
	t.Parallel()
	if _, err := Run(t.Context(), absent{}, Options{}); err == nil || err.Error() != "absent cannot be used here: no reason" {
		t.Errorf("error %v", err)
	}
}

type absent struct{ weak }

func (absent) Name() string { return "absent" }
func (absent) Probe(context.Context) sandbox.Availability {
	return sandbox.Availability{Reason: "no reason"}
}

// failing is a runtime that cannot start boxes: nothing must count as held.
type failing struct{ weak }

func (failing) Start(context.Context, sandbox.Spec) (sandbox.Box, error) {
	return nil, errors.New("no box today")
}

func TestNothingHoldsWithoutABox(t *testing.T) {
	t.Parallel()
	o, err := Options{Home: t.TempDir()}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{rt: failing{}, opts: o, id: runID(), before: takeBaseline()}
	for _, c := range table(t) {
		p := plans()[c.Probe]
		if c.Probe == "" || p.alone || p.last || p.mayRefuse || c.Chapter == "lifetime" || c.Probe == "huge-arguments" ||
			c.Probe == "swapped-bind" {
			continue
		}
		r.one(t.Context(), c)
	}
	for _, e := range r.entries {
		if e.Outcome == Held || e.Outcome == ByDesign {
			t.Errorf("case %d counts as %s without any box: %s", e.Number, e.Outcome, e.Detail)
		}
	}
	if len(r.entries) < 80 {
		t.Errorf("only %d cases were tried", len(r.entries))
	}
}

// probed says that something tries the case.
func probed(c Case) bool {
	p, known := plans()[c.Probe]
	if known && p.whole != nil {
		return true
	}
	name := c.Probe
	if p.probe != "" {
		name = p.probe
	}
	for _, n := range probe.Names() {
		if n == name {
			return true
		}
	}
	return false
}

// boxless is a runtime that can be used, but not for these boxes.
type boxless struct{ weak }

func (boxless) Start(context.Context, sandbox.Spec) (sandbox.Box, error) {
	return nil, errors.New("there is no such image")
}

// TestNothingIsTriedWithoutBoxes: where no box can be made that is said once.
func TestNothingIsTriedWithoutBoxes(t *testing.T) {
	t.Parallel()
	tried := 0
	_, err := Run(t.Context(), boxless{}, Options{Done: func(Entry) { tried++ }})
	if err == nil || !strings.Contains(err.Error(), "no box can be made: there is no such image") || tried != 0 {
		t.Errorf("%d cases were tried: %v", tried, err)
	}
}
