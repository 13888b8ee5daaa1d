package ui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// over is a style on a dialog.
func over(l *look.Look, k themes.Token) cell.Style { return l.On(themes.Overlay, k) }

// choiceRow is one choice of a dialog; the chosen one is marked.
func choiceRow(l *look.Look, chosen bool, left, right string, w int) cell.Row {
	bg, mark := themes.Overlay, "  "
	if chosen {
		bg, mark = themes.Selection, l.Glyphs.Focus+" "
	}
	fill := l.On(bg, themes.Text)
	row := cell.Between(
		cell.Row{cell.S(l.On(bg, themes.Accent), mark), cell.S(fill, left)},
		cell.Row{cell.S(l.On(bg, themes.Muted), right)}, w, fill)
	if n := w - row.Width(); n > 0 {
		row = append(row, cell.Span{Style: fill, Text: cell.Spaces(n)})
	}
	for i := range row {
		row[i].Style = row[i].Style.Mark()
	}
	return row
}

// grace is how long a question ignores keys, so that typing which was under
// way cannot answer it.
const grace = 400 * time.Millisecond

// askDialog is a question that only the user may answer.
type askDialog struct {
	ask    event.Ask
	edit   bool // a last choice edits the text of the question
	opened time.Time
	at     int
	lines  int // rows before the choices, as drawn last
}

func newAskDialog(ask event.Ask, edit bool, now time.Time) *askDialog {
	return &askDialog{ask: ask, edit: edit, opened: now}
}

// choices are those of the question, and the one that edits its text.
func (d *askDialog) choices() []string {
	if !d.edit {
		return d.ask.Choices
	}
	return append(slices.Clone(d.ask.Choices), "edit it first")
}

// Title implements dialog.
func (d *askDialog) Title() string { return "? Kintsugi asks" }

// Hint implements dialog.
func (d *askDialog) Hint() string { return "Up/Down choose · Enter answer · Esc later" }

// Rows implements dialog.
func (d *askDialog) Rows(l *look.Look, w, _ int) []cell.Row {
	rows := cell.WrapWords([]cell.Span{cell.S(over(l, themes.Heading), d.ask.Question)}, w, nil)
	if len(d.ask.Why) > 0 {
		rows = append(rows, nil)
	}
	for _, why := range d.ask.Why {
		rows = append(rows, cell.WrapWords([]cell.Span{
			cell.S(over(l, themes.Muted), l.Glyphs.Bullet+" "), cell.S(over(l, themes.Text), why),
		}, w, cell.Row{cell.S(over(l, themes.Text), "  ")})...)
	}
	rows = append(rows, nil)
	d.lines = len(rows)
	for i, c := range d.choices() {
		rows = append(rows, choiceRow(l, i == d.at, numbered(i)+c, "", w))
	}
	return rows
}

func numbered(i int) string {
	if i > 8 {
		return "  "
	}
	return string(rune('1'+i)) + " "
}

// Key implements dialog.
func (d *askDialog) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	n := len(d.choices())
	if m.now.Sub(d.opened) < grace {
		return nil, false
	}
	switch k := msg.String(); {
	case k == "esc":
		return nil, true
	case n == 0:
		return nil, k == "enter"
	case k == "up" || k == "k" || k == "shift+tab":
		d.at = (d.at + n - 1) % n
	case k == "down" || k == "j" || k == "tab":
		d.at = (d.at + 1) % n
	case k == "enter":
		return d.answer(m, d.at), true
	case k == "e" && d.edit:
		return d.answer(m, n-1), true
	case len(k) == 1 && k[0] >= '1' && int(k[0]-'1') < n:
		return d.answer(m, int(k[0]-'1')), true
	}
	return nil, false
}

// Click implements clicker.
func (d *askDialog) Click(m *model, row int) (tea.Cmd, bool) {
	i := row - d.lines
	if i < 0 || i >= len(d.choices()) || m.now.Sub(d.opened) < grace {
		return nil, false
	}
	return d.answer(m, i), true
}

func (d *askDialog) answer(m *model, i int) tea.Cmd {
	if d.edit && i == len(d.ask.Choices) {
		return m.openEditor(d.ask)
	}
	id, choice := d.ask.ID, d.ask.Choices[i]
	return m.intend(func(x Intents) { x.Answer(id, choice) })
}

// confirm is a yes or no about the workbench itself.
type confirm struct {
	question, yes string
	do            func(*model) tea.Cmd
	at            int
}

func newConfirm(question, yes string, do func(*model) tea.Cmd) *confirm {
	return &confirm{question: question, yes: yes, do: do, at: 1}
}

// Title implements dialog.
func (d *confirm) Title() string { return "Sure?" }

// Hint implements dialog.
func (d *confirm) Hint() string { return "Up/Down choose · Enter · Esc back" }

// Rows implements dialog.
func (d *confirm) Rows(l *look.Look, w, _ int) []cell.Row {
	rows := cell.WrapWords([]cell.Span{cell.S(over(l, themes.Heading), d.question)}, w, nil)
	return append(rows, nil, choiceRow(l, d.at == 0, d.yes, "", w), choiceRow(l, d.at == 1, "Back", "", w))
}

// Key implements dialog.
func (d *confirm) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "esc", "n":
		return nil, true
	case "up", "down", "tab", "shift+tab", "j", "k":
		d.at = 1 - d.at
	case "y":
		return d.do(m), true
	case "enter":
		if d.at == 0 {
			return d.do(m), true
		}
		return nil, true
	}
	return nil, false
}

// reader shows text that scrolls.
type reader struct {
	title string
	rows  func(l *look.Look, w int) []cell.Row
	top   int
	size  int
	shown int
}

// Title implements dialog.
func (d *reader) Title() string { return d.title }

// Hint implements dialog.
func (d *reader) Hint() string {
	if d.size > d.shown && d.shown > 0 {
		return "Up/Down scroll · Esc close"
	}
	return "Esc close"
}

// Rows implements dialog.
func (d *reader) Rows(l *look.Look, w, h int) []cell.Row {
	rows := d.rows(l, w)
	d.size, d.shown = len(rows), min(h, len(rows))
	d.top = clamp(d.top, 0, max(len(rows)-h, 0))
	return rows[d.top:min(d.top+h, len(rows))]
}

// paged is the first line to show after a key, where shown lines were seen from
// top on. Whoever draws them keeps it within the text.
func paged(key string, top, shown int) int {
	switch key {
	case "up", "k":
		return top - 1
	case "down", "j":
		return top + 1
	case "pgup", "b":
		return top - max(shown-1, 1)
	case "pgdown", "space":
		return top + max(shown-1, 1)
	case "home", "g":
		return 0
	case "end", "G":
		return 1 << 20
	}
	return top
}

// Key implements dialog.
func (d *reader) Key(_ *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch key := msg.String(); key {
	case "esc", "q", "enter", "?", "f1":
		return nil, true
	default:
		d.top = paged(key, d.top, d.shown)
	}
	return nil, false
}

// openDetail explains the selected entry in full, and shows its place in the
// other panes.
func (m *model) openDetail() tea.Cmd {
	m.linked()
	m.open(&reader{title: "Explained", rows: func(_ *look.Look, w int) []cell.Row { return m.timeline.Explain(w) }})
	return nil
}

// openHelp shows the keys and the written commands.
func (m *model) openHelp() tea.Cmd {
	m.open(&reader{title: "Keys and commands", rows: m.helpRows})
	return nil
}

func (m *model) helpRows(l *look.Look, w int) []cell.Row {
	rows := []cell.Row{
		helpRow(l, "text", "a task for the agent", "", w), helpRow(l, "!command", "run a command line in the sandbox", "", w),
	}
	for _, s := range slashes() {
		rows = append(rows, helpRow(l, strings.TrimSpace(s.name+" "+s.needs), s.help, "", w))
	}
	rows = append(rows, helpRow(l, "Alt+Enter", "a new line; Shift+Enter where the terminal knows it", "", w))
	for _, g := range []struct {
		name string
		at   scope
	}{{"Everywhere", everywhere}, {"In a pane", onPanes}, {"Reasoning", onReason}, {"Sandbox", onSandbox}, {"Timeline", onTimeline}, {"Changes", onReview}} {
		rows = append(rows, nil, cell.Row{cell.S(over(l, themes.Heading), g.name)})
		for _, b := range m.bindings {
			if b.scope == g.at {
				rows = append(rows, helpRow(l, keyNames(b.keys), b.help, b.reason(m), w))
			}
		}
	}
	return append(rows, m.legend(l)...)
}

func keyNames(keys []string) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = keyName(k)
	}
	return strings.Join(names, ", ")
}

// helpKey is the width of the column of keys.
const helpKey = 20

func helpRow(l *look.Look, key, help, why string, w int) cell.Row {
	key = cell.Truncate(cell.Safe(key), helpKey)
	row := cell.Row{cell.S(over(l, themes.Accent), key+cell.Spaces(helpKey-cell.Width(key)+1)), cell.S(over(l, themes.Text), help)}
	if why != "" {
		row = append(row, cell.S(over(l, themes.Muted), " ("+why+")"))
	}
	return row.Cut(w)
}

// legend explains the signs.
func (m *model) legend(l *look.Look) []cell.Row {
	rows := []cell.Row{nil, {cell.S(over(l, themes.Heading), "Signs")}}
	for _, s := range look.Statuses() {
		f := l.Face(s)
		rows = append(rows, cell.Row{cell.S(f.Style, f.Glyph+" "), cell.S(over(l, themes.Text), f.Word)})
	}
	return append(rows, cell.Row{cell.S(over(l, themes.Stderr), l.Glyphs.Stderr+" "), cell.S(over(l, themes.Text), "an error stream")})
}
