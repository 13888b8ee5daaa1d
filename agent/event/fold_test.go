package event

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// numbered makes events of bodies, one millisecond apart.
func numbered(bodies []Body) []Event {
	now := clock()
	var events []Event
	for i, b := range bodies {
		events = append(events, Event{Seq: int64(i + 1), At: now(), Body: b})
	}
	return events
}

func TestFoldOfAStory(t *testing.T) {
	t.Parallel()
	s := Fold(numbered(story()))
	if len(s.Steps) != 1 || len(s.Steps[0].Attempts) != 2 {
		t.Fatalf("steps: %+v", s.Steps)
	}
	st := s.Steps[0]
	first, second := st.Attempts[0], st.Attempts[1]
	checks := map[string]bool{
		"task on its step":  st.Task == "draw < a > plot & save",
		"thinking":          slices.Equal(st.Thinking, []string{"hm"}),
		"text":              slices.Equal(st.Text, []string{"I will plot."}),
		"call":              len(st.Calls) == 1 && st.Calls[0].Tool == "python",
		"failure":           first.Failure != nil && first.Failure.Subject == "pandas",
		"exit":              first.End != nil && first.End.Exit == 1,
		"usage":             first.Usage.Memory == 1<<20,
		"remedy":            len(first.Remedies) == 1 && first.Remedies[0].End.OK,
		"progress":          first.Remedies[0].Progress == "downloading",
		"remedy output":     len(first.Remedies[0].Output) == 1 && len(first.Output) == 1,
		"second output":     len(second.Output) == 1 && second.Output[0].Text == "done\n",
		"seam":              st.Seam != nil && st.Seam.Attempt == 2,
		"checkpoint":        st.Checkpoint != nil && st.Checkpoint.ID == "c1",
		"lane":              len(st.Lanes) == 1 && st.Lanes[0].State == LaneWorked && st.Lanes[0].Start.Before(st.Lanes[0].End),
		"artefact":          len(second.Artefacts) == 1 && second.Artefacts[0].Path == "plot.png",
		"done":              st.Done && st.OK && !st.Cut && st.Answer == "drawn",
		"step range":        st.FirstSeq == 4 && st.LastSeq == 29,
		"no question open":  len(s.Asks) == 0,
		"note":              len(s.Notes) == 1 && len(s.NotesAt) == 1 && s.NotesAt[0] > 0,
		"ended":             s.Ended != nil && s.Seq == 30,
		"start before now":  s.Start.Before(s.Now),
		"session and model": s.Session.ID == "s" && s.Model.Window == 8192,
	}
	for name, ok := range checks {
		if !ok {
			t.Errorf("wrong: %s", name)
		}
	}
}

func TestAnyOrderFolds(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		events := numbered(story())
		rnd.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		events = events[:rnd.IntN(len(events)+1)]
		s := Fold(events)
		for _, e := range events {
			if _, ok := e.Body.(Seam); ok && (len(s.Steps) == 0 || s.Steps[0].Seam == nil) {
				t.Fatal("the seam is lost")
			}
		}
	}
}

func TestEveryCutFolds(t *testing.T) {
	t.Parallel()
	events := numbered(story())
	for from := range events {
		for to := from; to <= len(events); to++ {
			s := Fold(events[from:to])
			if to > from && s.Seq != events[to-1].Seq {
				t.Fatalf("[%d:%d] ends at %d", from, to, s.Seq)
			}
		}
	}
}

func TestQuestionsCloseByAnswerOrEnd(t *testing.T) {
	t.Parallel()
	asked := []Body{Ask{ID: "a"}, Ask{ID: "b"}, Ask{ID: "a", Question: "again"}}
	if s := Fold(numbered(asked)); len(s.Asks) != 2 || s.Asks[1].Question != "again" {
		t.Errorf("asked twice: %+v", s.Asks)
	}
	if s := Fold(numbered(append(asked, Answer{ID: "b"}))); len(s.Asks) != 1 || s.Asks[0].ID != "a" {
		t.Errorf("answered: %+v", s.Asks)
	}
	if s := Fold(numbered(append(asked, Session{Resumed: true}))); len(s.Asks) != 0 {
		t.Errorf("resumed: %+v", s.Asks)
	}
}

func TestResumeCutsOpenSteps(t *testing.T) {
	t.Parallel()
	s := Fold(numbered([]Body{
		Session{ID: "s", Title: "t", Lesson: "l"}, StepStart{Step: 1}, StepEnd{Step: 1, OK: true}, StepStart{Step: 2},
		Session{ID: "s", Resumed: true}, StepStart{Step: 3},
	}))
	if s.Steps[0].Cut || !s.Steps[1].Cut || s.Steps[2].Cut {
		t.Errorf("cut: %v %v %v, want only the second", s.Steps[0].Cut, s.Steps[1].Cut, s.Steps[2].Cut)
	}
	if s.Session.Title != "t" || s.Session.Lesson != "l" || s.Ended != nil {
		t.Errorf("session: %+v", s.Session)
	}
}

func TestModelKeepsWhatALaterEventLeavesOut(t *testing.T) {
	t.Parallel()
	s := Fold(numbered([]Body{
		Model{Name: "m", Provider: "ollama", State: "thinking", Speed: 30, Window: 4096, Detail: "x"}, Model{State: "idle"},
	}))
	want := Model{Name: "m", Provider: "ollama", State: "idle", Speed: 30, Window: 4096}
	if s.Model != want {
		t.Errorf("got %+v", s.Model)
	}
	s.Apply(Event{Body: Model{Name: "other", State: "loading"}})
	if s.Model.Speed != 0 {
		t.Error("another model has the first one's speed")
	}
}

func hundredThousand() []Event {
	bodies := []Body{Session{ID: "s"}}
	for step := 1; len(bodies) < 100_000; step++ {
		bodies = append(bodies, StepStart{Step: step}, Attempt{Step: step, Attempt: 1})
		for range 95 {
			bodies = append(bodies, Output{Step: step, Attempt: 1, Text: "a line of output\n"})
		}
		bodies = append(bodies, AttemptEnd{Step: step, Attempt: 1}, StepEnd{Step: step, OK: true})
	}
	return numbered(bodies)
}

// A fold must be fast enough for a slider over a long session: 200 ms for
// 100,000 events; the test leaves room for a busy machine.
func TestFoldIsFast(t *testing.T) {
	events := hundredThousand()
	start := time.Now()
	s := Fold(events)
	if took := time.Since(start); took > time.Second {
		t.Errorf("folding %d events took %v", len(events), took)
	}
	if s.Seq != int64(len(events)) {
		t.Errorf("folded up to %d", s.Seq)
	}
}

func BenchmarkFold100k(b *testing.B) {
	events := hundredThousand()
	for b.Loop() {
		Fold(events)
	}
}
