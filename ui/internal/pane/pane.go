// Package pane holds the three panes: what the agent thinks, what the sandbox
// does, and what broke and was mended.
//
// A pane is a projection of the session's state: Sync reads what is new, Lines
// draws what is visible. Panes never ask the sandbox or a model anything, never
// read a clock and keep no truth of their own besides where the reader looks.
package pane

import (
	"time"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/scroll"
)

// Pane is one of the three.
type Pane interface {
	Name() string
	// Sync takes over what is new in the state.
	Sync(*event.State)
	// Tick sets the time that running things are measured against.
	Tick(now time.Time)
	// Beat tells the time of the reader, which is another in a replay.
	Beat(now time.Time)
	// Resize sets the inner size, in cells.
	Resize(w, h int)
	Restyle(*look.Look)
	// Lines are exactly h rows of exactly w cells.
	Lines(focused bool) []string
	// Badge stands at the right of the frame's head, Foot in its bottom,
	// where there are w cells.
	Badge() cell.Row
	Foot(w int) cell.Row
	Scroll(rows int)
	Page(n int)
	Home()
	End()
	Following() bool
	Pause()
	// Find shows the next row with a text, Unfind forgets it.
	Find(text string, up bool) bool
	Unfind()
	// Select marks text between two cells of the window, Selected is that
	// text in drawn rows.
	Select(from, to Spot)
	Unselect()
	Selecting() bool
	Selected(rows []string) string
}

// base is what the panes share.
type base struct {
	glow
	view scroll.View
	w, h int
	l    *look.Look
	now  time.Time
	src  scroll.Source
	seen int64 // the last event taken over
	hit  hit   // what a search found

	selecting      bool
	selFrom, selTo Spot // what the mouse marks
}

// old says that a step has not changed since the last Sync and never will.
func (b *base) old(st *event.Step) bool { return st.LastSeq <= b.seen && over(st) }

// Tick implements Pane.
func (b *base) Tick(now time.Time) { b.now = now }

// Resize implements Pane.
func (b *base) Resize(w, h int) { b.w, b.h = max(w, 1), max(h, 1) }

// Restyle implements Pane.
func (b *base) Restyle(l *look.Look) { b.l = l }

// Scroll implements Pane.
func (b *base) Scroll(rows int) { b.view.By(b.src, b.h, rows) }

// Page implements Pane.
func (b *base) Page(n int) { b.view.By(b.src, b.h, n*max(b.h-2, 1)) }

// Home implements Pane.
func (b *base) Home() { b.view.Home(b.src) }

// End implements Pane.
func (b *base) End() { b.view.Follow() }

// Following implements Pane.
func (b *base) Following() bool { return b.view.Following() }

// Pause stops following, or follows again.
func (b *base) Pause() {
	if b.view.Following() {
		b.view.Pause(b.src, b.h)
		return
	}
	b.view.Follow()
}

// lines fills the window to its full height.
func (b *base) lines(empty ...string) []string {
	placed := b.view.Window(b.src, b.h)
	out := make([]string, 0, b.h)
	for _, p := range placed {
		text := p.Text
		if b.hit.ok && p.ID == b.hit.id && p.Row == b.hit.row {
			text = b.marked(text)
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		for _, r := range welcome(b.l, b.w, empty...) {
			out = append(out, r.Render(b.w, b.l.Text))
		}
	}
	return b.mark(b.fill(out, b.h))
}

// fill cuts or stretches rows to h.
func (b *base) fill(rows []string, h int) []string {
	if len(rows) > h {
		return rows[:h]
	}
	blank := b.l.Text.Seq() + cell.Spaces(b.w)
	for len(rows) < h {
		rows = append(rows, blank)
	}
	return rows
}

// follow says whether the window follows the end.
func (b *base) follow() cell.Row {
	g := b.l.Glyphs
	if b.view.Following() {
		return cell.Row{cell.S(b.l.Muted, g.Follow+" following")}
	}
	return cell.Row{cell.S(b.l.Warn, g.Paused+" paused"), cell.S(b.l.Muted, " End follows")}
}

// indent moves rows one cell to the right.
func indent(l *look.Look, rows []cell.Row) []cell.Row {
	for i, r := range rows {
		rows[i] = append(cell.Row{cell.S(l.Text, " ")}, r...)
	}
	return rows
}

// render makes rows exactly w cells wide.
func render(rows []cell.Row, w int, l *look.Look) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.Render(w, l.Text)
	}
	return out
}

// paragraphs wraps plain text, one row list per paragraph, with a blank row
// between them.
func paragraphs(style cell.Style, w int, texts ...string) []cell.Row {
	var out []cell.Row
	for i, t := range texts {
		if i > 0 {
			out = append(out, nil)
		}
		out = append(out, cell.WrapWords([]cell.Span{cell.S(style, t)}, w, nil)...)
	}
	return out
}

// welcome is the text of a pane that has nothing to show yet.
func welcome(l *look.Look, w int, texts ...string) []cell.Row {
	rows := []cell.Row{nil}
	for _, r := range paragraphs(l.Muted, max(w-2, 1), texts...) {
		rows = append(rows, append(cell.Row{cell.S(l.Muted, " ")}, r...))
	}
	return rows
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }
