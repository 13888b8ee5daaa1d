package ui

import (
	"time"

	"github.com/charmbracelet/colorprofile"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/pane"
)

// StillOptions say how a moment is drawn.
type StillOptions struct {
	Width, Height int
	Theme         themes.Theme
	Now           time.Time
	// File reads the artefacts that are in view; nil: they are only listed.
	File FileReader
	// Present draws it as presenter mode does: the last of Events is told in
	// words.
	Present bool
	Events  []event.Event
	// Recorded is how many events a recording has of which the state is a
	// moment, as a replay shows it; 0: it is not replayed.
	Recorded int
	// Select opens the newest entry of the timeline.
	Select bool
}

// Still draws one moment of a session as the workbench would show it. It does
// not change the state.
func Still(s *event.State, o StillOptions) string {
	opts := Options{Clock: func() time.Time { return o.Now }, Theme: themes.Dark, Profile: colorprofile.TrueColor, File: o.File,
		Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"}, Reduced: true}
	m, err := newModel(opts.complete())
	if err != nil {
		return err.Error()
	}
	m.look = look.New(o.Theme, false, 2)
	m.screen = &screen{s, pane.NewReason(m.look), pane.NewSandbox(m.look, false), pane.NewTimeline(m.look)}
	m.live = m.screen
	m.screen.sandbox.Hang(m.gallery)
	m.composer.Restyle(m.look)
	for _, p := range m.panes() {
		p.Sync(s)
	}
	m.show.on = o.Present
	m.narrate(o.Events)
	if o.Recorded > 0 {
		m.o.Replay, m.past = true, &past{at: len(o.Events), speed: 1, playing: true}
		m.history.events = make([]event.Event, o.Recorded)
		m.recorded()
	}
	m.resize(o.Width, o.Height)
	m.tickPanes()
	if o.Select {
		m.setFocus(inTimeline)
	}
	m.developAll()
	return m.Frame()
}

// developAll loads what is in view, until nothing new comes into it.
func (m *model) developAll() {
	for range 2 * 4 { // a picture that was loaded moves others out of view
		for _, s := range m.inView() {
			if m.gallery.Wants(s.Artefact) {
				m.onShot(load(m.o.File, s.Artefact)().(shotMsg))
			}
		}
	}
}
