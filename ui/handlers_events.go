package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"kintsugi/agent/event"
	"kintsugi/themes"
)

// frameTime is the pace of everything that moves.
const frameTime = 100 * time.Millisecond

// flowFrame is the pace while gold runs along a seam.
const flowFrame = 33 * time.Millisecond

func (m *model) onEvents(batch []event.Event) tea.Cmd {
	m.apply(batch)
	return tea.Batch(m.wait(), m.animate())
}

// apply folds events into the state and shows what changed.
func (m *model) apply(batch []event.Event) {
	if len(batch) == 0 {
		return
	}
	m.history.add(batch)
	if m.past == nil {
		m.narrate(batch)
	}
	m.tickPanes()
	m.live.apply(batch)
	m.tickPanes()
	m.askNext()
}

// narrate follows events for the presenter.
func (m *model) narrate(events []event.Event) {
	for _, e := range events {
		m.show.explain(e)
	}
	if m.show.on && m.w > 0 {
		m.arrange()
	}
}

// tickPanes tells the panes what time it is, in the past too.
func (m *model) tickPanes() {
	for i, p := range m.live.panes() {
		p.Tick(m.now)
		p.Beat(m.now)
		m.panes()[i].Beat(m.now)
	}
	if m.past != nil {
		m.reason.Tick(m.state.Now)
		m.sandbox.Tick(m.state.Now)
		if m.o.Replay {
			m.timeline.Tick(m.state.Now)
		}
	}
}

// busy says that something runs.
func (m *model) busy() bool {
	if m.live.state.Ended != nil || m.o.Replay {
		return false
	}
	switch m.live.state.Model.State {
	case "loading", "thinking":
		return true
	}
	return running(m.live.state) != nil
}

// running is the step that runs now, nil for none.
func running(s *event.State) *event.Step {
	for i := len(s.Steps) - 1; i >= 0; i-- {
		if st := s.Steps[i]; !st.Done && !st.Cut {
			return st
		}
	}
	return nil
}

// animate starts the one clock of the screen, if something moves.
func (m *model) animate() tea.Cmd {
	if m.ticking || m.blurred || m.o.Reduced || !m.moves() {
		return nil
	}
	m.ticking = true
	pace := frameTime
	if m.timeline.Flowing() {
		pace = flowFrame
	}
	return tea.Tick(pace, func(time.Time) tea.Msg { return tickMsg{} })
}

// moves says that something on the screen changes with time.
func (m *model) moves() bool {
	return m.timeline.Flowing() || m.busy() || m.toast != "" || m.playing() || m.show.on && m.now.Sub(m.show.keyAt) <= keyTime
}

// toastTime is how long a short message stays.
const toastTime = 4 * time.Second

func (m *model) onTick() tea.Cmd {
	m.ticking = false
	m.frame++
	m.tickPanes()
	m.play()
	return m.animate()
}

// onBackground picks the light or dark theme once the terminal has told.
func (m *model) onBackground(msg tea.BackgroundColorMsg) {
	m.ready = true
	if !m.auto {
		return
	}
	name := themes.Light
	if msg.IsDark() {
		name = themes.Dark
	}
	if name != m.theme && (m.theme == themes.Dark || m.theme == themes.Light) {
		_ = m.setTheme(name) // both are built in
	}
}

// askNext opens the oldest question that has not been shown.
func (m *model) askNext() {
	m.dropAnswered()
	if len(m.live.state.Asks) == 0 || m.o.Replay {
		m.asked = ""
		return
	}
	ask := m.live.state.Asks[0]
	if ask.ID == m.asked {
		return
	}
	m.asked = ask.ID
	m.open(newAskDialog(ask, m.editable(ask), m.now))
}

// dropAnswered closes questions that something else answered.
func (m *model) dropAnswered() {
	open := map[string]bool{}
	for _, a := range m.live.state.Asks {
		open[a.ID] = true
	}
	kept := m.dialogs[:0]
	for _, d := range m.dialogs {
		switch d := d.(type) {
		case *askDialog:
			if !open[d.ask.ID] {
				continue
			}
		case *editor:
			if !open[d.ask.ID] {
				continue
			}
		}
		kept = append(kept, d)
	}
	m.dialogs = kept
}
