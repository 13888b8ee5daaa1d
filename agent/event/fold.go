package event

import "time"

// Fold makes the state of a log.
func Fold(events []Event) *State {
	s := new(State)
	for _, e := range events {
		s.Apply(e)
	}
	return s
}

// Apply adds one event. Any event is accepted in any order: what refers to a
// step or attempt that the log does not have makes one, and what refers to an
// unknown remedy or question is passed over.
func (s *State) Apply(e Event) {
	s.tick(e)
	switch b := e.Body.(type) {
	case Session:
		s.session(b)
	case Task:
		s.Tasks = append(s.Tasks, b)
		s.task = b.Text
	case Ask:
		s.answered(b.ID)
		s.Asks = append(s.Asks, b)
	case Answer:
		s.answered(b.ID)
	case Model:
		s.Model = b.over(s.Model)
	case Note:
		s.note(e, b)
	case Progress:
		if r := s.remedies[b.ID]; r != nil {
			r.Progress = b.Text
		}
	case End:
		s.Ended = &b
		s.cut()
	default:
		s.applyStep(e)
	}
}

// applyStep adds the events that belong to a step.
func (s *State) applyStep(e Event) {
	switch b := e.Body.(type) {
	case StepStart:
		st := s.step(b.Step, e)
		st.Task, s.task = s.task, ""
	case Reasoning:
		s.step(b.Step, e).reason(b)
	case Call:
		st := s.step(b.Step, e)
		st.Calls = append(st.Calls, b)
	case Seam:
		s.step(b.Step, e).Seam = &b
	case Checkpoint:
		s.step(b.Step, e).Checkpoint = &b
	case StepEnd:
		st := s.step(b.Step, e)
		st.Done, st.OK, st.Cut, st.Answer, st.End = true, b.OK, false, b.Answer, e.At
	case Lane:
		s.step(b.Step, e).lane(e, b)
	case Remedy:
		s.remedy(e, b)
	case RemedyEnd:
		s.step(b.Step, e)
		if r := s.remedies[b.ID]; r != nil {
			r.End = &b
		}
	default:
		s.applyAttempt(e)
	}
}

// applyAttempt adds the events that belong to an attempt.
func (s *State) applyAttempt(e Event) {
	switch b := e.Body.(type) {
	case Attempt:
		a := s.attempt(b.Step, b.Attempt, e)
		a.Attempt, a.Start = b, e.At
	case Born:
		s.attempt(b.Step, b.Attempt, e).Born = b.Took
	case Output:
		s.output(e, b)
	case Usage:
		s.attempt(b.Step, b.Attempt, e).Usage = b
	case AttemptEnd:
		a := s.attempt(b.Step, b.Attempt, e)
		a.End, a.EndAt = &b, e.At
	case Failure:
		s.attempt(b.Step, b.Attempt, e).Failure = &b
	case Artefact:
		a := s.attempt(b.Step, b.Attempt, e)
		a.Artefacts = append(a.Artefacts, b)
	}
}

func (s *State) tick(e Event) {
	if e.Seq > s.Seq {
		s.Seq = e.Seq
	}
	if e.At.IsZero() {
		return
	}
	if s.Start.IsZero() {
		s.Start = e.At
	}
	s.Now = e.At
}

// session opens or reopens. Whatever an earlier process left open is over.
func (s *State) session(b Session) {
	if b.Title == "" {
		b.Title = s.Session.Title
	}
	if b.Lesson == "" {
		b.Lesson = s.Session.Lesson
	}
	s.Session, s.Ended = b, nil
	s.cut()
}

// cut closes what nobody will finish any more.
func (s *State) cut() {
	s.Asks = nil
	for i := len(s.Steps) - 1; i >= s.settled; i-- {
		s.Steps[i].Cut = !s.Steps[i].Done
	}
	s.settled = len(s.Steps)
}

func (s *State) answered(id string) {
	for i, a := range s.Asks {
		if a.ID == id {
			s.Asks = append(s.Asks[:i:i], s.Asks[i+1:]...)
			return
		}
	}
}

func (s *State) note(e Event, b Note) {
	if b.Step == 0 {
		s.Notes, s.NotesAt = append(s.Notes, b), append(s.NotesAt, e.Seq)
		return
	}
	st := s.step(b.Step, e)
	st.Notes = append(st.Notes, b)
}

func (s *State) remedy(e Event, b Remedy) {
	a := s.attempt(b.Step, b.Attempt, e)
	r := &RemedyState{Remedy: b, Start: e.At, FirstSeq: e.Seq}
	a.Remedies = append(a.Remedies, r)
	if s.remedies == nil {
		s.remedies = map[string]*RemedyState{}
	}
	s.remedies[b.ID] = r
}

func (s *State) output(e Event, b Output) {
	if b.Remedy != "" {
		if r := s.remedies[b.Remedy]; r != nil {
			r.Output = append(r.Output, b)
		}
		return
	}
	a := s.attempt(b.Step, b.Attempt, e)
	a.Output = append(a.Output, b)
}

// step finds or makes a step, and stretches it over e.
func (s *State) step(n int, e Event) *Step {
	st := s.steps[n]
	if st == nil {
		st = &Step{N: n, Start: e.At, FirstSeq: e.Seq}
		if s.steps == nil {
			s.steps = map[int]*Step{}
		}
		s.steps[n] = st
		s.Steps = append(s.Steps, st)
	}
	if e.Seq > st.LastSeq {
		st.LastSeq = e.Seq
	}
	return st
}

func (s *State) attempt(step, n int, e Event) *AttemptState {
	st := s.step(step, e)
	a := st.attempts[n]
	if a == nil {
		a = &AttemptState{Attempt: Attempt{Step: step, Attempt: n}, Start: e.At, FirstSeq: e.Seq}
		if st.attempts == nil {
			st.attempts = map[int]*AttemptState{}
		}
		st.attempts[n] = a
		st.Attempts = append(st.Attempts, a)
	}
	return a
}

func (st *Step) lane(e Event, b Lane) {
	for _, l := range st.Lanes {
		if l.Lane.Lane == b.Lane {
			l.see(e, b)
			return
		}
	}
	l := &LaneState{Start: e.At, FirstSeq: e.Seq}
	l.see(e, b)
	st.Lanes = append(st.Lanes, l)
}

func (l *LaneState) see(e Event, b Lane) {
	l.Lane, l.Seen, l.End = b, e.At, time.Time{}
	if b.State != LaneRunning {
		l.End = e.At
	}
}

func (st *Step) reason(b Reasoning) {
	if b.Thinking {
		st.Thinking = append(st.Thinking, b.Text)
		return
	}
	st.Text = append(st.Text, b.Text)
}

// over fills the fields that m leaves empty with those of the event before.
func (m Model) over(old Model) Model {
	if m.Name == "" {
		m.Name = old.Name
	}
	if m.Name != old.Name {
		return m
	}
	m.Provider = first(m.Provider, old.Provider)
	m.Speed = first(m.Speed, old.Speed)
	m.Load = first(m.Load, old.Load)
	m.Context = first(m.Context, old.Context)
	m.Window = first(m.Window, old.Window)
	return m
}

func first[T string | float64 | int | time.Duration](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}
