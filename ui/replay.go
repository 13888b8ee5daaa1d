package ui

import (
	"time"

	"kintsugi/ui/internal/look"
)

// longestGap is the longest that a replay waits between two events.
const longestGap = 1500 * time.Millisecond

// fastest is the highest speed of a replay.
const fastest = 16

// startReplay shows the history from its beginning and lets it run.
func (m *model) startReplay() {
	m.travel(0)
	m.past.playing = true
	m.schedule()
	m.recorded()
}

// recorded says that nothing can be asked here.
func (m *model) recorded() {
	m.setFocus(inSandbox)
	m.composer.area.Placeholder = "A recorded session; nothing can be asked here"
}

// playing says that a replay runs by itself.
func (m *model) playing() bool { return m.past != nil && m.past.playing }

// togglePlay runs the past forward, or stops it. At the end it starts over.
func (m *model) togglePlay() {
	if m.past == nil {
		m.travel(0)
	}
	p := m.past
	if p == nil {
		return
	}
	if p.playing = !p.playing; !p.playing {
		return
	}
	if p.at >= len(m.history.events) {
		m.travel(0)
	}
	m.schedule()
}

// schedule sets when the next event plays: at its own distance from the one
// before, divided by the speed.
func (m *model) schedule() {
	p := m.past
	gap := time.Duration(0)
	if p.at > 0 && p.at < len(m.history.events) {
		gap = m.history.events[p.at].At.Sub(m.history.events[p.at-1].At)
	}
	p.due = m.now.Add(max(min(gap, longestGap), 0) / time.Duration(p.speed))
}

// play shows the events that are due.
func (m *model) play() {
	for m.playing() && !m.now.Before(m.past.due) {
		if m.past.at >= len(m.history.events) {
			m.past.playing = false
			return
		}
		due := m.past.due
		m.travel(m.past.at + 1)
		if m.past == nil {
			return
		}
		m.schedule()
		m.past.due = due.Add(m.past.due.Sub(m.now)) // what was late does not make the rest late
	}
}

// faster doubles the speed of a replay, or halves it.
func (m *model) faster(up bool) {
	if m.past == nil {
		return
	}
	if up {
		m.past.speed = min(m.past.speed*2, fastest)
	} else {
		m.past.speed = max(m.past.speed/2, 1)
	}
	m.say("speed " + look.Count(m.past.speed) + "x")
}
