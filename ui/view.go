package ui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
)

// View draws the screen. It changes nothing but caches.
func (m *model) View() tea.View {
	v := tea.NewView("")
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.ReportFocus = true
	v.WindowTitle = m.windowTitle()
	if !m.ready || m.w == 0 {
		return v
	}
	v.SetContent(m.Frame())
	l := m.layout()
	if m.focus == inComposer && len(m.dialogs) == 0 && !l.small {
		x, y := m.composer.Cursor()
		v.Cursor = tea.NewCursor(l.composer.x+x, l.composer.y+y)
	}
	return v
}

func (m *model) windowTitle() string {
	title := m.o.Title
	if t := m.state.Session.Title; t != "" {
		title = cell.Safe(t) + " - " + title
	}
	return title
}

// Frame is the whole screen as text: h rows of w cells.
func (m *model) Frame() string {
	l := m.layout()
	if l.small {
		return m.tooSmall()
	}
	rows := make([]string, 0, m.h)
	rows = append(rows, m.paneRows(l)...)
	rows = append(rows, m.captionLines()...)
	rows = append(rows, m.composer.Lines(m.focus == inComposer)...)
	rows = append(rows, m.statusLine())
	if d := m.dialog(); d != nil {
		rows = m.overlay(rows, d)
	}
	rows[len(rows)-1] += cell.Reset
	return strings.Join(rows, cell.Reset+"\n")
}

// tooSmall says what is needed, in what room there is.
func (m *model) tooSmall() string {
	text := fmt.Sprintf("Kintsugi needs %dx%d; this is %dx%d.", MinWidth, MinHeight, m.w, m.h)
	var rows []string
	for _, r := range cell.WrapWords([]cell.Span{cell.S(m.look.Text, text)}, max(m.w, 1), nil) {
		rows = append(rows, r.Render(m.w, m.look.Text))
	}
	for len(rows) < m.h {
		rows = append(rows, m.look.Text.Seq()+cell.Spaces(m.w))
	}
	return strings.Join(rows[:max(m.h, 1)], cell.Reset+"\n") + cell.Reset
}

// paneRows draws the panes side by side, and the tabs above them.
func (m *model) paneRows(l layout) []string {
	var boxes []box
	for _, i := range l.order() {
		boxes = append(boxes, m.box(i, l))
	}
	rows := make([]string, 0, m.h)
	if l.tabsAt.y == 0 && len(l.tabs) == 3 {
		rows = append(rows, m.tabLine(l))
	}
	for y := range len(boxes[0].lines) + 2 {
		rows = append(rows, sideBySide(boxes, y))
	}
	return rows
}

// box is a drawn pane: its frame, and the lines between left and right.
type box struct {
	top, bottom, left, right string
	lines                    []string
}

// sideBySide joins row y of the boxes.
func sideBySide(boxes []box, y int) string {
	n := 0
	for i := range boxes {
		n += boxes[i].size(y)
	}
	var b strings.Builder
	b.Grow(n)
	for i := range boxes {
		boxes[i].write(&b, y)
	}
	return b.String()
}

func (x *box) size(y int) int {
	if y == 0 || y > len(x.lines) {
		return max(len(x.top), len(x.bottom))
	}
	return len(x.left) + len(x.lines[y-1]) + len(x.right)
}

func (x *box) write(b *strings.Builder, y int) {
	switch {
	case y == 0:
		b.WriteString(x.top)
	case y > len(x.lines):
		b.WriteString(x.bottom)
	default:
		b.WriteString(x.left)
		b.WriteString(x.lines[y-1])
		b.WriteString(x.right)
	}
}

// box draws one pane with its frame. The line at the left belongs to the pane;
// the one at the right only where no other pane follows.
func (m *model) box(i int, l layout) box {
	p, r := m.panes()[i], l.panes[i]
	at := inReason + place(i)
	focused := m.focus == at
	line := m.borderOf(focused)
	g := m.look.Glyphs
	before, last := l.before(i)
	left := m.borderOf(focused || before >= 0 && m.focus == inReason+place(before))
	w := r.w
	tl, bl, tr, br := g.TL, g.BL, g.TR, g.BR
	if before >= 0 {
		tl, bl = g.TJ, g.BJ
	}
	side := line.Seq() + g.V
	if !last {
		w, tr, br, side = w-1, "", "", ""
	}
	return box{
		top:    edge(left, line, tl, g.H, tr, m.boxTitle(at, focused, l), p.Badge(), w),
		bottom: edge(left, line, bl, g.H, br, p.Foot(r.w-8), nil, w),
		left:   left.Seq() + g.V, right: side,
		lines: p.Lines(focused),
	}
}

func (m *model) borderOf(focused bool) cell.Style {
	if focused {
		return m.look.BorderFocus
	}
	return m.look.Border
}

// boxTitle is the name of a pane, or the tabs that share its place.
func (m *model) boxTitle(at place, focused bool, l layout) cell.Row {
	if len(l.tabs) == 2 && at != inSandbox {
		return m.tabs(l.tabs)
	}
	name := m.panes()[at-inReason].Name()
	if focused {
		return cell.Row{cell.S(m.look.BorderFocus.With(cell.Bold), m.look.Glyphs.Focus+" "+name)}
	}
	if m.zoom || len(l.tabs) == 3 {
		return cell.Row{cell.S(m.look.Bold, name)}
	}
	return cell.Row{cell.S(m.look.Text, name)}
}

// tabs names the panes of one place; the shown one is marked.
func (m *model) tabs(which []place) cell.Row {
	var row cell.Row
	for i, at := range which {
		if i > 0 {
			row = append(row, cell.S(m.look.Border, " "+m.look.Glyphs.V+" "))
		}
		name := m.panes()[at-inReason].Name()
		shown := at == m.pane || len(which) == 2 && at == m.beside()
		switch {
		case shown && m.focus == at:
			row = append(row, cell.S(m.look.BorderFocus.With(cell.Bold), m.look.Glyphs.Focus+" "+name))
		case shown:
			row = append(row, cell.S(m.look.Bold.With(cell.Underline), name))
		default:
			row = append(row, cell.S(m.look.Muted, name))
		}
	}
	return row
}

// tabLine is the row of tabs of a narrow screen.
func (m *model) tabLine(l layout) string {
	row := append(cell.Row{cell.S(m.look.Text, " ")}, m.tabs(l.tabs)...)
	right := cell.Row{cell.S(m.look.Muted, "Tab next ")}
	return cell.Between(row, right, m.w, m.look.Text).Render(m.w, m.look.Text)
}

// tabAt is the tab at a column, inComposer for none.
func (m *model) tabAt(l layout, x int) place {
	at := l.tabsAt.x + 2
	for i, t := range l.tabs {
		if i > 0 {
			at += 3
		}
		w := cell.Width(m.panes()[t-inReason].Name())
		if m.focus == t {
			w += 2
		}
		if x >= at-1 && x <= at+w {
			return t
		}
		at += w
	}
	return inComposer
}

// edge is the top or bottom of a frame: corners, a rule, and words set into
// it at the left and the right.
func edge(corner, line cell.Style, left, rule, right string, title, badge cell.Row, w int) string {
	room := w - 4
	badgeRoom := 0
	if n := badge.Width(); n > 0 && n+2+title.Width()+3 <= room {
		badgeRoom = n + 2
	}
	title = title.Cut(max(room-badgeRoom-2, 0))
	var b strings.Builder
	b.WriteString(corner.Seq() + left + line.Seq() + rule)
	used := 2
	if n := title.Width(); n > 0 {
		b.WriteString(" " + title.Render(n, line) + line.Seq() + " ")
		used += n + 2
	}
	b.WriteString(strings.Repeat(rule, max(w-used-badgeRoom-1-cell.Width(right), 0)))
	if badgeRoom > 0 {
		b.WriteString(" " + badge.Render(badgeRoom-2, line) + line.Seq() + " ")
	}
	b.WriteString(rule + right)
	return b.String()
}

// statusLine is the last row: how things stand, and the keys that matter.
func (m *model) statusLine() string {
	fill := m.look.On(themes.Surface, themes.Text)
	return cell.Between(m.statusLeft(), m.hints(), m.w, fill).Render(m.w, fill)
}
