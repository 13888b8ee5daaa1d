package ui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// presenter is the way to show the workbench to a room: the pane that matters
// now is wide, what happens is said in plain words, and the keys that are
// pressed are shown.
type presenter struct {
	on    bool
	spot  place  // the pane that matters now
	words string // the caption
	seam  bool   // the caption tells of a seam
	key   string // the key pressed last
	keyAt time.Time
}

// captionRows is the height of the caption.
const captionRows = 3

// keyTime is how long a key is shown.
const keyTime = 2 * time.Second

func (m *model) togglePresenter() tea.Cmd {
	m.show.on = !m.show.on
	if m.show.on && m.show.words == "" {
		m.show.words, m.show.spot = "Kintsugi: what breaks is mended, and the seam stays visible.", inSandbox
	}
	if m.show.on {
		m.say("presenter mode; Alt+P ends it")
	}
	return m.animate()
}

// explain makes the caption of an event, and turns the spotlight to where it
// happens. Events that only stream leave both as they are.
func (p *presenter) explain(e event.Event) {
	words, spot := caption(e.Body)
	if words == "" {
		return
	}
	p.words, p.spot = words, spot
	_, p.seam = e.Body.(event.Seam)
}

// caption is an event in plain words, and the pane where one sees it.
func caption(body event.Body) (string, place) {
	switch b := body.(type) {
	case event.Task:
		return "A task: " + oneLine(b.Text), inReason
	case event.StepStart:
		return fmt.Sprintf("Step %d: the agent thinks about what to do.", b.Step), inReason
	case event.Call:
		return "The agent decided what to run. It runs in a sandbox, not on this computer.", inReason
	case event.Attempt:
		return fmt.Sprintf("Attempt %d: a fresh box, with no network and no view of our files.", b.Attempt), inSandbox
	case event.Born:
		return "The box was born in " + look.Duration(b.Took) + ". The program runs in it.", inSandbox
	case event.AttemptEnd:
		return captionEnd(b), inSandbox
	case event.Lane:
		return fmt.Sprintf("Lane %d, %s: %s. Several agents work side by side, each in a copy of its own.", b.Lane, oneLine(b.Name), b.State), inTimeline
	case event.Artefact:
		return "It made " + b.Path + ". What a box makes is shown here; our files are as they were.", inSandbox
	case event.Ask:
		return "Only a person may decide this: " + b.Question, inTimeline
	}
	return captionMending(body)
}

func captionEnd(b event.AttemptEnd) string {
	switch {
	case b.Limit != "":
		return "The box was stopped: it reached its " + b.Limit + " limit. Nothing else was touched."
	case b.Exit == 0 && b.Signal == "":
		return fmt.Sprintf("Attempt %d worked. The box is gone; what it made is kept.", b.Attempt)
	}
	return fmt.Sprintf("Attempt %d broke. The box is thrown away, with everything it changed.", b.Attempt)
}

func captionMending(body event.Body) (string, place) {
	switch b := body.(type) {
	case event.Failure:
		return "Why it broke: " + b.Explanation, inTimeline
	case event.Remedy:
		return "Mending: " + b.Title + ", in a box of its own. The model is not asked.", inTimeline
	case event.RemedyEnd:
		if !b.OK {
			return "That did not mend it. " + b.Error, inTimeline
		}
		return "Mended. Now the same program is tried again, in a fresh box.", inTimeline
	case event.Seam:
		return "A seam: " + b.Text + ". The break stays visible, in gold.", inTimeline
	case event.Checkpoint:
		return "A checkpoint: we can always come back to this moment.", inTimeline
	case event.StepEnd:
		if b.Answer != "" {
			return "The answer is there.", inReason
		}
	}
	return "", inComposer
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// captionLines draws the caption: what happens at the left, the key that was
// pressed at the right.
func (m *model) captionLines() []string {
	if !m.show.on {
		return nil
	}
	fill := m.look.On(themes.Overlay, themes.Text)
	style := m.look.On(themes.Overlay, themes.Heading)
	mark := cell.S(m.look.On(themes.Overlay, themes.Accent), " "+m.look.Glyphs.User+" ")
	if m.show.seam {
		style = m.look.On(themes.Overlay, themes.GoldBright)
		mark = cell.S(style, " "+m.look.Glyphs.Seams+" ")
	}
	key := m.pressedKey()
	rows := cell.WrapWords([]cell.Span{cell.S(style, m.show.words)}, max(m.w-8-key.Width(), 10), nil)
	out := make([]string, 0, captionRows)
	for i := range captionRows {
		row := cell.Row{cell.Span{Style: mark.Style, Text: "   "}}
		if i < len(rows) {
			row = append(cell.Row{mark}, rows[i]...)
		}
		right := cell.Row(nil)
		if i == 0 {
			right = key
		}
		out = append(out, cell.Between(row, right, m.w, fill).Render(m.w, fill))
	}
	return out
}

func (m *model) pressedKey() cell.Row {
	if m.show.key == "" || m.now.Sub(m.show.keyAt) > keyTime {
		return nil
	}
	style := m.look.On(themes.Selection, themes.Heading)
	return cell.Row{cell.S(style, " "+m.show.key+" "), cell.S(m.look.On(themes.Overlay, themes.Text), " ")}
}

// pressed remembers a key for the presenter. What is written is not shown
// again.
func (m *model) pressed(msg tea.KeyPressMsg) {
	if !m.show.on || m.focus == inComposer && msg.Text != "" && len(m.dialogs) == 0 {
		return
	}
	m.show.key, m.show.keyAt = keyName(msg.String()), m.now
}

// spotlight gives the pane that matters now half of the width, and the others
// a quarter each.
func (m *model) spotlight(l *layout, a rect) {
	w := [3]int{a.w * 26 / 100, a.w * 26 / 100, a.w * 26 / 100}
	spot := m.show.spot - inReason
	if spot < 0 {
		spot = 1
	}
	w[spot] = a.w - w[0] - w[1] - w[2] + w[spot]
	x := a.x
	for i := range l.panes {
		l.panes[i] = rect{x, a.y, w[i], a.h}
		if i > 0 {
			l.panes[i].x--
			l.panes[i].w++
		}
		x += w[i]
	}
}
