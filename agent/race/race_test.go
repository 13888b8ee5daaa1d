package race

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/agent/model"
)

// worker is a Doer whose programs work after a while, and counts how many run
// at once.
type worker struct {
	mu        sync.Mutex
	now, most int
}

func (w *worker) Do(context.Context, agent.Call) (agent.Outcome, error) {
	w.mu.Lock()
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	time.Sleep(20 * time.Millisecond)
	w.mu.Lock()
	w.now--
	w.mu.Unlock()
	return agent.Outcome{OK: true, Stdout: "4"}, nil
}

func lane(t *testing.T, w *worker, name string, replies ...model.Scripted) Lane {
	t.Helper()
	log, err := event.Create(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return Lane{
		Name: name, Task: "go", Head: func() string { return "c-" + name },
		Loop: &agent.Loop{
			Engine: w, Model: &model.Script{Replies: replies, Can: model.Caps{Tools: true}}, Name: name, Log: log,
			Sleep: func(context.Context, time.Duration) {}, Budget: agent.Budget{Steps: 3, Memory: 8 << 30},
		},
		Events: func() ([]event.Event, error) { return event.ReadFile(event.Path(log.Dir())) },
	}
}

func runs(code string) model.Scripted {
	return model.Scripted{Calls: []model.Call{{Name: "run_code", Args: map[string]any{"language": "python", "code": code}}}, Usage: model.Usage{Prompt: 10, Output: 5}}
}

func answers(text string) model.Scripted {
	return model.Scripted{Calls: []model.Call{{Name: "finish", Args: map[string]any{"answer": text}}}}
}

func TestLanesWorkSideBySide(t *testing.T) {
	t.Parallel()
	w := &worker{}
	yes := func(context.Context) (bool, error) { return true, nil }
	lanes := []Lane{
		lane(t, w, "quick", runs("1"), answers("4")),
		lane(t, w, "lost", runs("1"), runs("2"), runs("3"), runs("4")),
		lane(t, w, "gone", model.Scripted{Err: &model.Error{Kind: model.Absent, Text: "gone"}}),
		lane(t, w, "checked", runs("1"), runs("2"), answers("4")),
	}
	lanes[3].Check = yes
	ended := 0
	out := Run(t.Context(), lanes, 2, func(Outcome) { ended++ })
	if ended != 4 || w.most > 2 {
		t.Errorf("%d ended, %d at once", ended, w.most)
	}
	got := ""
	for _, o := range out {
		got += fmt.Sprintf("%d %s %s %v %d; ", o.Lane, o.Name, o.Result, o.Passed != nil, o.Steps)
	}
	if want := "1 quick finished false 2; 2 lost budget false 4; 3 gone no model false 1; 4 checked finished true 3; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if out[0].Tokens != 15 || out[0].Head != "c-quick" || out[2].Error == "" {
		t.Errorf("%+v", out)
	}
	if best := Best(out); best != 4 {
		t.Errorf("best is %d; the one that passed its check must be", best)
	}
}

func TestBest(t *testing.T) {
	t.Parallel()
	no := false
	for name, c := range map[string]struct {
		list []Outcome
		want int
	}{
		"none":        {nil, 0},
		"all failed":  {[]Outcome{{Lane: 1}, {Lane: 2, Solved: true, Passed: &no}}, 0},
		"the quicker": {[]Outcome{{Lane: 1, Solved: true, Seconds: 3}, {Lane: 2, Solved: true, Seconds: 2}}, 2},
		"the solver":  {[]Outcome{{Lane: 1, Seconds: 1}, {Lane: 2, Solved: true, Seconds: 9}}, 2},
	} {
		if got := Best(c.list); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestAFailingCheckIsNoSolution(t *testing.T) {
	t.Parallel()
	w := &worker{}
	l := lane(t, w, "x", answers("4"))
	l.Check = func(context.Context) (bool, error) { return false, errors.New("no box") }
	out := Run(t.Context(), []Lane{l}, 0, func(Outcome) {})
	if out[0].Error != "no box" || out[0].Passed != nil {
		t.Errorf("%+v", out[0])
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	var events []event.Event
	for _, b := range []event.Body{
		event.StepStart{Step: 1}, event.Attempt{Step: 1, Attempt: 1}, event.Failure{Step: 1, Attempt: 1, What: "x"}, event.Attempt{Step: 1, Attempt: 2},
		event.Seam{Step: 1, Attempt: 2}, event.Checkpoint{Step: 1, ID: "c1", Changed: []string{"a", "b"}}, event.StepEnd{Step: 1, OK: true},
		event.StepStart{Step: 2}, event.Checkpoint{Step: 2, ID: "c2", Changed: []string{"a"}},
	} {
		events = append(events, event.Event{Seq: int64(len(events) + 1), Body: b})
	}
	if got, want := Count(events), (Score{Steps: 2, Attempts: 2, Failures: 1, Seams: 1, Changed: 2}); got != want {
		t.Errorf("%+v", got)
	}
}
