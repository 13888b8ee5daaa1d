package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// dialog is a box above the screen that takes all keys.
type dialog interface {
	Title() string
	// Rows draws the content for a width; Hint is the line of keys below it.
	Rows(l *look.Look, w, h int) []cell.Row
	Hint() string
	// Key takes a key; done closes the dialog.
	Key(m *model, msg tea.KeyPressMsg) (cmd tea.Cmd, done bool)
}

// sized is a dialog that is narrower than others, or stands at the bottom, so
// that it covers less of the screen.
type sized interface {
	Size() (width int, bottom bool)
}

// clicker is a dialog that takes clicks on its rows.
type clicker interface {
	Click(m *model, row int) (cmd tea.Cmd, done bool)
}

// dialog is the topmost one, nil for none.
func (m *model) dialog() dialog {
	if n := len(m.dialogs); n > 0 {
		return m.dialogs[n-1]
	}
	return nil
}

func (m *model) open(d dialog) { m.dialogs = append(m.dialogs, d) }

// close takes a dialog away, wherever it is in the stack.
func (m *model) close(d dialog) {
	for i, other := range m.dialogs {
		if other == d {
			m.dialogs = append(m.dialogs[:i], m.dialogs[i+1:]...)
			return
		}
	}
}

// reask shows an open question again that was put aside.
func (m *model) reask() {
	m.asked = ""
	m.askNext()
}

func (m *model) onDialogKey(d dialog, msg tea.KeyPressMsg) tea.Cmd {
	cmd, done := d.Key(m, msg)
	if done {
		m.close(d)
		m.arrange()
	}
	return tea.Batch(cmd, m.animate())
}

func (m *model) onDialogMouse(d dialog, msg tea.MouseMsg) tea.Cmd {
	e := msg.Mouse()
	switch msg.(type) {
	case tea.MouseWheelMsg:
		code := tea.KeyDown
		if e.Button == tea.MouseWheelUp {
			code = tea.KeyUp
		}
		return m.onDialogKey(d, tea.KeyPressMsg{Code: code})
	case tea.MouseClickMsg:
		r := m.dialogRect(d)
		c, ok := d.(clicker)
		if !ok || !r.holds(e.X, e.Y) {
			return nil
		}
		cmd, done := c.Click(m, e.Y-r.y-1)
		if done {
			m.close(d)
		}
		return tea.Batch(cmd, m.animate())
	}
	return nil
}

// dialogWidth is the widest that a dialog gets.
const dialogWidth = 76

// dialogRect is where a dialog stands: in the middle, a little above it.
func (m *model) dialogRect(d dialog) rect {
	w, bottom := dialogWidth, false
	if s, ok := d.(sized); ok {
		w, bottom = s.Size()
	}
	w = min(w, m.w-4)
	rows := d.Rows(m.look, max(w-4, 1), max(m.h-6, 1))
	h := min(len(rows)+4, m.h-2)
	if bottom {
		return rect{m.w - w - 2, max(m.h-h-3, 0), w, h}
	}
	return rect{(m.w - w) / 2, max((m.h-h)*2/5, 0), w, h}
}

// overlay lays a dialog over the rows of the screen.
func (m *model) overlay(rows []string, d dialog) []string {
	r := m.dialogRect(d)
	for i, text := range m.dialogRows(d, r) {
		y := r.y + i
		if y >= len(rows) {
			break
		}
		rows[y] = cell.Splice(rows[y], r.x, r.x+r.w, m.w, text)
	}
	return rows
}

// dialogRows draws a dialog with its frame, exactly r.h rows of r.w cells.
func (m *model) dialogRows(d dialog, r rect) []string {
	g := m.look.Glyphs
	line := m.look.On(themes.Overlay, themes.BorderFocus)
	text := m.look.On(themes.Overlay, themes.Text)
	muted := m.look.On(themes.Overlay, themes.Muted)
	title := cell.Row{cell.S(m.look.On(themes.Overlay, themes.Heading), d.Title())}
	side := line.Seq() + g.V
	out := []string{edge(line, line, g.TL, g.H, g.TR, title, nil, r.w)}
	put := func(row cell.Row) {
		out = append(out, side+text.Seq()+" "+onto(row, text).Render(r.w-4, text)+text.Seq()+" "+side)
	}
	content := d.Rows(m.look, r.w-4, r.h-4)
	for i := 0; i < r.h-4; i++ {
		if i < len(content) {
			put(content[i])
			continue
		}
		put(nil)
	}
	put(nil)
	put(cell.Row{cell.S(muted, d.Hint())})
	return append(out, edge(line, line, g.BL, g.H, g.BR, nil, nil, r.w))
}

// onto puts spans that were made for the screen onto a dialog; those with a
// background of their own keep it.
func onto(row cell.Row, back cell.Style) cell.Row {
	out := make(cell.Row, len(row))
	for i, s := range row {
		out[i] = s
		if !s.Style.Marked() {
			out[i].Style = s.Style.On(back)
		}
	}
	return out
}

// list is a menu with a filter, the base of several dialogs.
type list struct {
	filter string
	at     int
	top    int
	rows   int // that were shown last
}

// key moves in a list of n items or changes the filter. It says whether the
// filter changed.
func (l *list) key(msg tea.KeyPressMsg, n int) bool {
	page := max(l.rows-1, 1)
	switch msg.String() {
	case "up", "ctrl+k", "shift+tab":
		l.at--
	case "down", "ctrl+j", "tab":
		l.at++
	case "pgup":
		l.at = max(l.at-page, 0)
	case "pgdown":
		l.at = min(l.at+page, n-1)
	case "backspace":
		if r := []rune(l.filter); len(r) > 0 {
			l.filter = string(r[:len(r)-1])
			l.at = 0
			return true
		}
	case "ctrl+u":
		l.filter, l.at = "", 0
		return true
	default:
		if msg.Text != "" && !strings.ContainsAny(msg.Text, "\n\t") {
			l.filter += msg.Text
			l.at = 0
			return true
		}
	}
	if n > 0 {
		l.at = (l.at + n) % n
	}
	return false
}

// window is the part of n items that h rows show, with the chosen one in it.
func (l *list) window(n, h int) (from, to int) {
	l.rows = h
	l.top = clamp(l.top, l.at-h+1, l.at)
	l.top = clamp(l.top, 0, max(n-h, 0))
	return l.top, min(l.top+h, n)
}
