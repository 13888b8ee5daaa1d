package ui

import (
	"sort"
	"time"

	"kintsugi/agent/event"
)

// history is everything that has happened, so that any moment of it can be
// shown again.
type history struct {
	events  []event.Event
	moments []int // how many events make each moment worth stopping at
	held    int   // bytes of output in events
	shed    int   // events before this one have given up their output
}

// maxHistory bounds the output that is kept for going back, in bytes.
const maxHistory = 16 << 20

// add appends events.
func (h *history) add(batch []event.Event) {
	for _, e := range batch {
		h.events = append(h.events, e)
		if o, ok := e.Body.(event.Output); ok {
			h.held += len(o.Text)
		}
		if worthStopping(e.Body) {
			h.moments = append(h.moments, len(h.events))
		}
	}
	for ; h.held > maxHistory && h.shed < len(h.events); h.shed++ {
		if o, ok := h.events[h.shed].Body.(event.Output); ok {
			h.held -= len(o.Text)
			o.Dropped, o.Text = o.Dropped+int64(len(o.Text)), ""
			h.events[h.shed].Body = o
		}
	}
}

// worthStopping tells the events that change the story from those that only
// stream.
func worthStopping(b event.Body) bool {
	switch b.(type) {
	case event.Reasoning, event.Output, event.Usage, event.Progress, event.Model, event.Born, event.Session, event.Artefact:
		return false
	}
	return true
}

// before is the last moment with fewer than n events, 0 for the beginning.
func (h *history) before(n int) int {
	i := sort.SearchInts(h.moments, n)
	if i == 0 {
		return 0
	}
	return h.moments[i-1]
}

// after is the first moment with more than n events, all events when there is
// none.
func (h *history) after(n int) int {
	i := sort.SearchInts(h.moments, n+1)
	if i == len(h.moments) {
		return len(h.events)
	}
	return h.moments[i]
}

// until is how many events there are up to a sequence number.
func (h *history) until(seq int64) int {
	return sort.Search(len(h.events), func(i int) bool { return h.events[i].Seq > seq })
}

// past is the moment that is shown instead of the present.
type past struct {
	at      int // how many events have happened
	playing bool
	speed   int
	due     time.Time // when the next event plays
}

// travel shows the moment after n events. Going past the last one returns to
// the present, except in a replay, which stays at its end.
func (m *model) travel(n int) {
	n = clamp(n, 0, len(m.history.events))
	if n == len(m.history.events) && !m.o.Replay {
		m.present()
		return
	}
	from := 0
	switch {
	case m.past == nil:
		m.past = &past{speed: 1}
		m.enter()
	case n < m.past.at:
		m.enter()
	default:
		from = m.past.at
	}
	m.tickPanes()
	m.foldInto(from, n)
	m.narrate(m.history.events[max(from, n-50):n])
	m.past.at = n
	if !m.o.Replay {
		m.timeline.SetCut(m.seqAt(n))
	}
	m.arrange()
	m.tickPanes()
}

// enter begins a screen of the past. Outside a replay the timeline stays, so
// that what came later can be chosen too.
func (m *model) enter() {
	s := m.newScreen()
	s.reason.Like(m.reason)
	s.sandbox.Like(m.sandbox)
	s.timeline.Like(m.timeline)
	if !m.o.Replay {
		s.timeline = m.live.timeline
	} else if !m.o.Reduced {
		s.flow()
	}
	m.screen = s
}

// foldInto folds a range of the history into the screen of the past.
func (m *model) foldInto(from, to int) {
	for _, e := range m.history.events[from:to] {
		m.state.Apply(e)
	}
	m.reason.Sync(m.state)
	m.sandbox.Sync(m.state)
	if m.o.Replay {
		m.timeline.Sync(m.state)
	}
}

// present shows what is now.
func (m *model) present() {
	m.past = nil
	m.screen = m.live
	m.timeline.SetCut(0)
	m.arrange()
	m.tickPanes()
}

// seqAt is the sequence number of the last of n events.
func (m *model) seqAt(n int) int64 {
	if n == 0 {
		return -1
	}
	return m.history.events[n-1].Seq
}

// here is how many events are shown.
func (m *model) here() int {
	if m.past != nil {
		return m.past.at
	}
	return len(m.history.events)
}

func (m *model) back()    { m.stop(); m.travel(m.history.before(m.here())) }
func (m *model) forward() { m.stop(); m.travel(m.history.after(m.here())) }

func (m *model) stop() {
	if m.past != nil {
		m.past.playing = false
	}
}

// travelToSelected shows the moment at which the selected entry was over.
func (m *model) travelToSelected() {
	if seq, ok := m.timeline.Over(); ok {
		m.stop()
		m.travel(m.endOf(seq))
	}
}

// endOf is how many events there are up to the end of what began at seq: a
// step, an attempt or a remedy.
func (m *model) endOf(seq int64) int {
	events := m.history.events
	start := m.history.until(seq) - 1
	if start < 0 {
		return 0
	}
	for i := start; i < len(events); i++ {
		if closes(events[start].Body, events[i].Body) {
			return i + 1
		}
	}
	return start + 1
}

// closes says that an event ends what another began.
func closes(begun, e event.Body) bool {
	switch b := begun.(type) {
	case event.Attempt:
		end, ok := e.(event.AttemptEnd)
		return ok && end.Step == b.Step && end.Attempt == b.Attempt
	case event.Remedy:
		end, ok := e.(event.RemedyEnd)
		return ok && end.ID == b.ID
	case event.StepStart:
		end, ok := e.(event.StepEnd)
		return ok && end.Step == b.Step
	}
	return false
}
