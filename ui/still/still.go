// Package still draws one moment of a session without a terminal: as the text
// of a screen, and as a picture of it.
package still

import (
	"time"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui"
)

// Frame is the screen of a state: h rows of w cells with their colours. The
// time of the state's last event is now.
func Frame(s *event.State, w, h int, t themes.Theme) string {
	return ui.Still(s, ui.StillOptions{Width: w, Height: h, Theme: t, Now: s.Now})
}

// Moment is Frame at a chosen time, for things that still run.
func Moment(s *event.State, w, h int, t themes.Theme, now time.Time) string {
	return ui.Still(s, ui.StillOptions{Width: w, Height: h, Theme: t, Now: now})
}
