// Package race lets several agents do one task side by side, each in a fork of
// the same checkpoint, and compares how they fared. The numbers are folds over
// each lane's own log.
//
// It keeps no winner and changes no project: that is for the user.
package race

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"kintsugi/agent"
	"kintsugi/agent/event"
)

// Lane is one agent of a race.
type Lane struct {
	Name string // the model, and the variant when there are several
	Task string
	Loop *agent.Loop
	// Events gives the lane's log so far.
	Events func() ([]event.Event, error)
	// Head is the lane's current checkpoint.
	Head func() string
	// Began, when set, is called as the lane starts.
	Began func()
	// Check, when set, judges the lane's final checkpoint.
	Check func(ctx context.Context) (bool, error)
}

// Outcome is how a lane ended.
type Outcome struct {
	Lane   int    `json:"lane"` // from 1
	Name   string `json:"name"`
	Result string `json:"result"` // an agent.Reason
	Solved bool   `json:"solved"`
	// Passed is what the check said; nil: there was none.
	Passed *bool  `json:"passed,omitempty"`
	Answer string `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
	Score
	Seconds float64 `json:"seconds"`
	Tokens  int     `json:"tokens"`
	Head    string  `json:"checkpoint,omitempty"`
}

// Score counts what a log tells.
type Score struct {
	Steps    int `json:"steps"`
	Attempts int `json:"attempts"`
	Failures int `json:"failures"`
	Seams    int `json:"seams"`
	Changed  int `json:"changed"` // paths, each counted once
}

// Count folds a log into its score.
func Count(events []event.Event) Score {
	s := event.Fold(events)
	out := Score{Steps: len(s.Steps)}
	paths := map[string]bool{}
	for _, st := range s.Steps {
		out.Attempts += len(st.Attempts)
		for _, a := range st.Attempts {
			if a.Failure != nil {
				out.Failures++
			}
		}
		if st.Seam != nil {
			out.Seams++
		}
		if st.Checkpoint != nil {
			for _, p := range st.Checkpoint.Changed {
				paths[p] = true
			}
		}
	}
	out.Changed = len(paths)
	return out
}

// Run lets the lanes work, at most atOnce of them at a time (0: all), and gives
// their outcomes in the lanes' order. done is called as each ends.
func Run(ctx context.Context, lanes []Lane, atOnce int, done func(Outcome)) []Outcome {
	if atOnce <= 0 {
		atOnce = len(lanes)
	}
	out := make([]Outcome, len(lanes))
	gate := make(chan struct{}, max(atOnce, 1))
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, l := range lanes {
		gate <- struct{}{} // they start in their order
		wg.Go(func() {
			defer func() { <-gate }()
			out[i] = l.run(ctx, i+1)
			mu.Lock()
			defer mu.Unlock()
			done(out[i])
		})
	}
	wg.Wait()
	return out
}

func (l Lane) run(ctx context.Context, n int) Outcome {
	o := Outcome{Lane: n, Name: l.Name}
	if l.Began != nil {
		l.Began()
	}
	res, err := l.Loop.Task(ctx, l.Task)
	o.Result, o.Solved, o.Answer = string(res.Reason), res.OK(), res.Answer
	o.Seconds, o.Tokens, o.Head = res.Took.Round(time.Millisecond).Seconds(), res.Tokens, l.Head()
	events, lerr := l.Events()
	o.Score = Count(events)
	err = cmp.Or(err, lerr)
	if err == nil && o.Solved && l.Check != nil {
		var passed bool
		if passed, err = l.Check(ctx); err == nil {
			o.Passed = &passed
		}
	}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}

// good says how well a lane ended: passed the check, solved, neither.
func (o Outcome) good() int {
	switch {
	case o.Passed != nil && *o.Passed:
		return 2
	case o.Solved && o.Passed == nil:
		return 1
	}
	return 0
}

// Best is the number of the lane to keep by default: the one that passed or
// solved the task in the least time. 0: none did.
func Best(list []Outcome) int {
	good := slices.DeleteFunc(slices.Clone(list), func(o Outcome) bool { return o.good() == 0 })
	if len(good) == 0 {
		return 0
	}
	return slices.MinFunc(good, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(b.good(), a.good()), cmp.Compare(a.Seconds, b.Seconds), cmp.Compare(a.Tokens, b.Tokens))
	}).Lane
}
