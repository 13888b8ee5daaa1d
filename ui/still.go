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
	// Select opens the newest entry of the timeline.
	Select bool
}

// Still draws one moment of a session as the workbench would show it. It does
// not change the state.
func Still(s *event.State, o StillOptions) string {
	opts := Options{Clock: func() time.Time { return o.Now }, Theme: themes.Dark, Profile: colorprofile.TrueColor,
		Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"}, Reduced: true}
	m, err := newModel(opts.complete())
	if err != nil {
		return err.Error()
	}
	m.look = look.New(o.Theme, false, 2)
	m.screen = &screen{s, pane.NewReason(m.look), pane.NewSandbox(m.look, false), pane.NewTimeline(m.look)}
	m.live = m.screen
	m.composer.Restyle(m.look)
	for _, p := range m.panes() {
		p.Sync(s)
	}
	m.resize(o.Width, o.Height)
	m.tickPanes()
	if o.Select {
		m.setFocus(inTimeline)
	}
	return m.Frame()
}
