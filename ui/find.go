package ui

import (
	tea "charm.land/bubbletea/v2"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// finder looks for text in the current pane while it is typed.
type finder struct {
	list
	name   string
	failed bool
}

func (m *model) openFind() tea.Cmd {
	m.current().Unfind()
	m.open(&finder{name: m.current().Name()})
	return nil
}

// Title implements dialog.
func (d *finder) Title() string { return "Find in " + d.name }

// Hint implements dialog.
func (d *finder) Hint() string { return "Enter, Up older · Down newer · Esc" }

// Size implements sized: what is found must be seen.
func (d *finder) Size() (int, bool) { return 44, true }

// Rows implements dialog.
func (d *finder) Rows(l *look.Look, _, _ int) []cell.Row {
	row := filterRow(l, d.filter)
	if d.failed {
		row = append(row, cell.S(over(l, themes.Warn), " "+l.Glyphs.Warn+" nothing more"))
	}
	return []cell.Row{row}
}

// Key implements dialog.
func (d *finder) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	p := m.current()
	switch msg.String() {
	case "esc", "ctrl+f":
		p.Unfind()
		return nil, true
	case "enter", "up":
		d.failed = !p.Find(d.filter, true) && d.filter != ""
	case "down":
		d.failed = !p.Find(d.filter, false) && d.filter != ""
	default:
		if d.key(msg, 0) {
			p.Unfind()
			d.failed = !p.Find(d.filter, true) && d.filter != ""
		}
	}
	return nil, false
}
