package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/sandbox"
	"kintsugi/sandbox/inert"
)

// lane is one of several remedies that are tried side by side: an engine of its
// own on the same checkpoint, and the call with that remedy.
type lane struct {
	n      int // from 1
	id     string
	remedy heal.Remedy
	engine *Engine
	run    *run
	end    event.RemedyEnd
	rank   int // how well it did; laneLost: not at all
}

// How well a lane did.
const (
	laneLost    = iota
	laneFurther // the program got further, and then failed of something else
	laneWorks
)

// sideBySide picks the remedies that may be tried at once: the rule says that
// they are equally good, the policy asks nobody, and each goes another way.
func (e *Engine) sideBySide(r *run, d heal.Diagnosis, remedies []heal.Remedy) []heal.Remedy {
	rules, err := e.Rules()
	if err != nil || !d.Race || e.Lanes < 2 {
		return nil
	}
	var out []heal.Remedy
	ways := map[string]bool{}
	for _, m := range remedies {
		way := m.Action + " " + m.Manager
		if r.tried[signature(m)] || !actionable(m) || ways[way] || e.judge(rules, d, m).verdict != allow {
			continue
		}
		ways[way] = true
		out = append(out, m)
	}
	if len(out) < 2 {
		return nil
	}
	return out[:min(len(out), e.Lanes)]
}

// race tries remedies in forks of this engine and keeps the first that works;
// true means: run the call again, with what that one brought. failed is how
// long the attempt took that failed.
func (e *Engine) race(ctx context.Context, r *run, a *attempt, d heal.Diagnosis, remedies []heal.Remedy) (bool, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lanes := make([]*lane, len(remedies))
	for i, m := range remedies {
		l, err := e.lane(r, a, d, m, i+1)
		if err != nil {
			return false, err
		}
		lanes[i] = l
	}
	ended := make(chan *lane)
	var wg sync.WaitGroup
	for _, l := range lanes {
		wg.Go(func() {
			l.try(ctx, d, 2*a.result.Duration+2*time.Second)
			ended <- l
		})
	}
	go func() { wg.Wait(); close(ended) }()
	var best *lane
	for l := range ended {
		if best == nil || best.rank < l.rank {
			best = l
		}
		if l.rank == laneWorks {
			stop() // the others are not needed any more
		}
	}
	return e.keep(r, d, lanes, best)
}

// lane opens one, and tells the log.
func (e *Engine) lane(r *run, a *attempt, d heal.Diagnosis, m heal.Remedy, n int) (*lane, error) {
	own := *r
	own.argv, own.tried, own.healed = slices.Clone(r.argv), maps.Clone(r.tried), nil
	l := &lane{
		n: n, id: fmt.Sprintf("%d-%d-lane-%d", r.call.Step, a.n, n), remedy: m, run: &own,
		engine: e.Fork(Fork{Log: e.Log, SideDir: e.SideDir, Workspace: e.Workspace}),
	}
	return l, e.log(event.Remedy{
		Step: r.call.Step, Attempt: a.n, ID: l.id, Lane: n, Action: m.Action, Manager: m.Manager, Packages: m.Packages,
		Origin: m.Origin, Title: title(m), Why: inert.String("several remedies fit; they are tried side by side: " + d.Explanation),
	})
}

// try carries the remedy out and runs the program on trial.
func (l *lane) try(ctx context.Context, d heal.Diagnosis, patience time.Duration) {
	started := l.engine.Now()
	l.end = l.engine.carryOut(ctx, l.run, l.id, l.remedy)
	if l.end.OK && ctx.Err() == nil {
		var err error
		if l.rank, err = l.engine.trial(ctx, l.run, d, patience); err != nil {
			l.end.Error = inert.String(err.Error())
		}
	}
	if ctx.Err() != nil && l.rank != laneWorks {
		l.rank, l.end.Error = laneLost, "another remedy was quicker"
	}
	l.end.Took = l.engine.Now().Sub(started)
}

// trial runs the call in a box whose changes are dropped. A program that is
// still running long after the point where it failed before has passed it.
func (e *Engine) trial(ctx context.Context, r *run, d heal.Diagnosis, patience time.Duration) (int, error) {
	draft, err := e.Workspace.Begin()
	if err != nil {
		return laneLost, err
	}
	defer func() { _ = draft.Discard() }()
	if err := e.runPrelude(ctx, draft); err != nil {
		return laneLost, err
	}
	a := &attempt{n: 1, stdout: &tail{}, stderr: &tail{}}
	spec := e.spec(r.argv, draft)
	spec.Stdout, spec.Stderr = a.stdout, a.stderr
	if r.stdin != nil {
		in := r.stdin.reader()
		defer in.Close()
		spec.Stdin = in
	}
	box, err := e.Runtime.Start(ctx, spec)
	if err != nil {
		return laneLost, err
	}
	var once sync.Once
	passed := false
	timer := time.AfterFunc(patience, func() { once.Do(func() { passed = true }); box.Kill() })
	a.result, err = box.Wait()
	timer.Stop()
	once.Do(func() {})
	switch {
	case err != nil:
		return laneLost, err
	case passed || a.ok():
		return laneWorks, nil
	}
	return e.further(r, a, d)
}

// further says whether a trial failed of something else than before.
func (e *Engine) further(r *run, a *attempt, before heal.Diagnosis) (int, error) {
	now, err := e.diagnose(r, a)
	if err != nil || now.Kind == before.Kind && now.Subject == before.Subject || a.result.Limit != sandbox.LimitNone {
		return laneLost, err
	}
	return laneFurther, nil
}

// keep takes the best lane over and closes all of them in the log.
func (e *Engine) keep(r *run, d heal.Diagnosis, lanes []*lane, best *lane) (bool, error) {
	won := best != nil && best.rank > laneLost
	var errs []error
	for _, l := range lanes {
		l.end.Step, l.end.ID, l.end.OK = r.call.Step, l.id, won && l == best
		if !l.end.OK && l.end.Error == "" {
			l.end.Error = "it did not help"
			if won && l.rank > laneLost {
				l.end.Error = "another remedy was quicker"
			}
		}
		errs = append(errs, e.log(l.end))
		r.tried[signature(l.remedy)] = true
	}
	if err := errors.Join(errs...); err != nil || !won {
		return false, err
	}
	e.env, r.argv = best.engine.env, best.run.argv
	r.healed = append(r.healed, mended{failure: d, title: doneTitle(best.remedy), took: best.end.Took})
	return true, nil
}
