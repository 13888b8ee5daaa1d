package abuse

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
)

func lifePlans() map[string]plan {
	soon := sandbox.Limits{Wall: 700 * time.Millisecond}
	return map[string]plan{
		"daemon":       {judge: prompt(3 * time.Second)},
		"stubborn":     {limits: soon, judge: atDeadline},
		"forever":      {limits: soon, judge: atDeadline},
		"init-killed":  {probe: "hold", during: killInit, judge: initGone},
		"thread-churn": {whole: threadChurn},
		"pid-reuse":    {whole: strangersLive},
		"soak":         {alone: true, whole: soak},
		"cancel":       {whole: cancelled},
		"real-clock":   {probe: "hold", during: monotonic},
		"nothing-left": {last: true, whole: matrixLeftNothing},
	}
}

// killInit kills the first process of the box, from outside.
func killInit(t *trial) probe.Verdict {
	for _, pid := range processesWith(t.token) {
		if first := initOf(pid); first > 0 {
			if err := unix.Kill(first, unix.SIGKILL); err != nil {
				return probe.Errorf("kill of the box's first process: %v", err)
			}
			return probe.Heldf("its first process was killed")
		}
	}
	return probe.Errorf("the box's first process was not found")
}

func initGone(t *trial) probe.Verdict {
	if t.res.ExitCode == 0 && t.res.Signal == "" {
		return probe.Breachf("the result looks like a success")
	}
	return probe.Heldf("reported as %s", t.ending())
}

// threadChurn starts a box from a thread that ends while the box runs.
func threadChurn(t *trial) probe.Verdict {
	t.plan.probe, t.release = "nap", func() {}
	t.param("ms", 300)
	t.spec.Argv = t.argv()
	type started struct {
		box sandbox.Box
		err error
	}
	got := make(chan started)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		box, err := t.rt.Start(t.ctx, t.spec)
		got <- started{box, err}
	}()
	s := <-got
	if s.err != nil {
		return probe.Errorf("start: %v", s.err)
	}
	return worst(t.wait(s.box, t.spec.Limits.Wall), t.inside())
}

// strangersLive kills a box that is long over, when its process id may belong
// to somebody else.
func strangersLive(t *trial) probe.Verdict {
	t.plan.probe, t.release = "nap", func() {}
	t.param("ms", 50)
	t.spec.Argv = t.argv()
	box, err := t.rt.Start(t.ctx, t.spec)
	if err != nil {
		return probe.Errorf("start: %v", err)
	}
	first := 0
	for _, pid := range awaitSome(t.token, time.Second) {
		first = max(first, initOf(pid))
	}
	if v := t.wait(box, t.spec.Limits.Wall); v.Verdict != probe.Held {
		return v
	}
	stranger, same := strangerWith(first)
	if stranger == nil {
		return probe.Errorf("no process could be started")
	}
	box.Kill()
	box.Kill()
	time.Sleep(20 * time.Millisecond)
	lives := alive(stranger.Process.Pid)
	_ = stranger.Process.Kill()
	_ = stranger.Wait()
	if !lives {
		return probe.Breachf("a stranger was killed")
	}
	if same {
		return probe.Heldf("a stranger with the dead box's process id lives")
	}
	return probe.Heldf("a stranger lives (its process id could not be made the dead box's)")
}

// strangerWith starts a process, with the process id if that can be had.
func strangerWith(pid int) (cmd *exec.Cmd, same bool) {
	for range 20 {
		if pid > 0 {
			_ = os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0)
		}
		if cmd != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		cmd = exec.Command("sleep", "20")
		if cmd.Start() != nil {
			return nil, false
		}
		if cmd.Process.Pid == pid {
			return cmd, true
		}
	}
	return cmd, false
}

// soakBoxes is how many boxes soak starts, a third of which are killed.
const soakBoxes = 48

// soakRounds is how often soak starts its boxes. What a runtime keeps for its
// next boxes stops growing soon; a leak grows in every round.
const soakRounds = 5

// soak starts many boxes at once and kills some at odd moments; afterwards
// the host must look as before.
func soak(t *trial) probe.Verdict {
	t.plan.probe = "nap"
	t.param("ms", 5)
	t.spec.Argv = t.argv()
	if v := t.volley(soakBoxes); v.Verdict != probe.Held { // so that caches are filled
		return v
	}
	var left probe.Verdict
	for range soakRounds {
		before := takeBaseline()
		// A leak would be one for each box, or for each killed one.
		before.files += soakBoxes / 6
		before.ready = soakBoxes / 6
		if v := t.volley(soakBoxes); v.Verdict != probe.Held {
			return v
		}
		if left = before.same(settled(before)); left.Verdict == probe.Held {
			return probe.Heldf("%d boxes at a time, a third of them killed", soakBoxes)
		}
	}
	return left
}

// volley runs n boxes, sixteen at a time.
func (t *trial) volley(n int) probe.Verdict {
	gate := make(chan struct{}, 16)
	verdicts := make([]probe.Verdict, n)
	var wg sync.WaitGroup
	for i := range n {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			verdicts[i] = t.shot(i%3 == 0)
		})
	}
	wg.Wait()
	return worst(verdicts...)
}

// shot runs one box without a workspace, and may kill it.
func (t *trial) shot(kill bool) probe.Verdict {
	spec := t.spec
	spec.Workspace, spec.Dir, spec.Stdout, spec.Stderr = sandbox.Workspace{}, "", nil, nil
	box, err := t.rt.Start(t.ctx, spec)
	if err != nil {
		return probe.Errorf("start: %v", err)
	}
	if kill {
		time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond)
		box.Kill()
	}
	res, err := box.Wait()
	if err != nil {
		return probe.Errorf("wait: %v", err)
	}
	if !kill && res.ExitCode != 0 {
		return probe.Breachf("a box that nobody killed ended with %d %s", res.ExitCode, res.Signal)
	}
	return probe.Heldf("")
}

// cancelled ends a box by its context, and starts one whose context is over.
func cancelled(t *trial) probe.Verdict {
	t.plan.probe, t.release = "forever", func() {}
	t.spec.Argv = t.argv()
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	box, err := t.rt.Start(ctx, t.spec)
	if err != nil {
		return probe.Errorf("start: %v", err)
	}
	awaitSome(t.token, time.Second)
	cancel()
	v := worst(t.wait(box, time.Second), t.limitIs(sandbox.LimitCancelled))
	if _, err := t.rt.Start(ctx, t.spec); !errors.Is(err, context.Canceled) {
		v = worst(v, probe.Breachf("a box was started for a context that is over: %v", err))
	}
	return v
}

// matrixLeftNothing wants the whole run to have left nothing alive and no more
// control groups than a runtime keeps ready: a leak would be hundreds.
func matrixLeftNothing(t *trial) probe.Verdict {
	if left := awaitNone(t.id, time.Second); len(left) > 0 {
		return probe.Breachf("alive after the whole run: %v", left)
	}
	if _, err := t.rt.Reconcile(t.ctx); err != nil {
		return probe.Breachf("reconcile: %v", err)
	}
	before := t.before
	// What a runtime keeps ready for its next boxes is no leak.
	before.files, before.ready = math.MaxInt, 100
	if v := before.same(settled(before)); v.Verdict != probe.Held {
		return v
	}
	return probe.Heldf("no process, mount or control group is left")
}
