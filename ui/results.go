package ui

import (
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/pane"
)

// Keeper is for Intents that can take an artefact out of the session.
type Keeper interface {
	// Open shows an artefact with the desktop's own program.
	Open(a event.Artefact)
	// Keep writes an artefact to a new file at path.
	Keep(a event.Artefact, path string)
}

func resultBindings() []binding {
	return []binding{
		{id: "results", keys: []string{"alt+o"}, help: "results: look at what was made, open it, save it", scope: everywhere, do: (*model).openResults, unless: (*model).noResults},
		{id: "results-pane", keys: []string{"r", "enter"}, help: "results: look at what was made, open it, save it", short: "results", scope: onSandbox, do: (*model).openResults, unless: (*model).noResults},
		{id: "output-table", keys: []string{"T"}, help: "show the last table of the output as a table", scope: onSandbox, do: (*model).openOutputTable},
	}
}

// openOutputTable shows the data frame that a program has printed, whatever
// its width.
func (m *model) openOutputTable() tea.Cmd {
	t := m.sandbox.OutputTable()
	if t == nil {
		m.say("the output has no table")
		return m.animate()
	}
	m.open(&viewer{a: event.Artefact{Path: "a table in the output"}, m: m, fixed: &pane.Shot{Table: t}})
	return nil
}

func (m *model) noResults() string {
	if !m.sandbox.HasArtefacts() {
		return "nothing was made yet"
	}
	return ""
}

// results lists what was made, the newest first.
type results struct {
	list
	all []event.Artefact
}

func (m *model) openResults() tea.Cmd {
	m.open(&results{all: m.sandbox.Artefacts()})
	return nil
}

// Title implements dialog.
func (d *results) Title() string { return "Results" }

// Hint implements dialog.
func (d *results) Hint() string { return "Enter look · o open · s save · Esc close" }

// Rows implements dialog.
func (d *results) Rows(l *look.Look, w, h int) []cell.Row {
	var rows []cell.Row
	from, to := d.window(len(d.all), clamp(h, 1, paletteRows))
	for i := from; i < to; i++ {
		a := d.all[i]
		right := "step " + look.Count(a.Step) + " " + l.Glyphs.Dot + " " + pane.Describe(l, a, nil)
		rows = append(rows, choiceRow(l, i == d.at, cell.Middle(cell.Safe(a.Path), max(w-cell.Width(right)-4, 8)), right, w))
	}
	return rows
}

// Key implements dialog.
func (d *results) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	a := d.all[d.at]
	switch msg.String() {
	case "esc", "q":
		return nil, true
	case "enter", "space":
		m.view(a)
		return nil, false
	case "o":
		return m.openOutside(a), false
	case "s":
		m.askPath(a)
		return nil, false
	case "j":
		msg = tea.KeyPressMsg{Code: tea.KeyDown}
	case "k":
		msg = tea.KeyPressMsg{Code: tea.KeyUp}
	}
	if msg.Text == "" {
		d.key(msg, len(d.all))
	}
	return nil, false
}

// Click implements clicker.
func (d *results) Click(m *model, row int) (tea.Cmd, bool) {
	if i := d.top + row; i >= 0 && i < len(d.all) {
		d.at = i
		m.view(d.all[i])
	}
	return nil, false
}

// keeper is what opens and saves, nil when nothing can.
func (m *model) keeper() Keeper {
	k, ok := m.o.Intents.(Keeper)
	if !ok {
		m.say("results cannot be taken out of this session")
		return nil
	}
	return k
}

func (m *model) openOutside(a event.Artefact) tea.Cmd {
	k := m.keeper()
	if k == nil {
		return m.animate()
	}
	m.say("opening " + cell.Safe(pane.BaseName(a)))
	return m.intend(func(Intents) { k.Open(a) })
}

// askPath asks where to save an artefact.
func (m *model) askPath(a event.Artefact) {
	k := m.keeper()
	if k == nil {
		return
	}
	path := filepath.Join(m.o.SaveDir, cell.Safe(pane.BaseName(a)))
	m.open(newPrompt("Save a copy", "A new file; what is there already is never overwritten.", path, func(m *model, path string) tea.Cmd {
		m.say("saving " + path)
		return m.intend(func(Intents) { k.Keep(a, path) })
	}))
}

// prompt asks for a line of text.
type prompt struct {
	list
	title, words string
	do           func(m *model, text string) tea.Cmd
}

func newPrompt(title, words, text string, do func(*model, string) tea.Cmd) *prompt {
	return &prompt{list: list{filter: text}, title: title, words: words, do: do}
}

// Title implements dialog.
func (d *prompt) Title() string { return d.title }

// Hint implements dialog.
func (d *prompt) Hint() string { return "Enter do it · Ctrl+U clear · Esc back" }

// Rows implements dialog.
func (d *prompt) Rows(l *look.Look, w, _ int) []cell.Row {
	text := cell.Safe(d.filter)
	if room := w - 3; cell.Width(text) > room { // the end is what is written
		text = "…" + cell.Part(text, cell.Width(text)-room+1, cell.Width(text))
	}
	rows := cell.WrapWords([]cell.Span{cell.S(over(l, themes.Muted), d.words)}, w, nil)
	return append([]cell.Row{filterRow(l, text), nil}, rows...)
}

// Key implements dialog.
func (d *prompt) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "esc":
		return nil, true
	case "enter":
		if text := strings.TrimSpace(d.filter); text != "" {
			return d.do(m, text), true
		}
		return nil, false
	}
	d.key(msg, 0)
	return nil, false
}

// viewer shows one artefact as large as the screen allows.
type viewer struct {
	a     event.Artefact
	m     *model
	fixed *pane.Shot // what is shown when it is no file
	top   int        // first row of a table
	shown int
}

// view opens the viewer. A picture is loaded when it is in view.
func (m *model) view(a event.Artefact) { m.open(&viewer{a: a, m: m}) }

// Title implements dialog.
func (d *viewer) Title() string { return cell.Truncate(cell.Safe(d.a.Path), 50) }

// Size implements sized: all that the screen has.
func (d *viewer) Size() (int, bool) { return 1 << 16, false }

// Hint implements dialog.
func (d *viewer) Hint() string {
	hint := "o open · s save · Esc back"
	if d.fixed != nil {
		hint = "Esc back"
	}
	if s := d.shot(); s != nil && s.Table != nil && len(s.Table.Rows) > d.shown {
		hint = "Up/Down scroll · " + hint
	}
	return hint
}

func (d *viewer) shot() *pane.Shot {
	if d.fixed != nil {
		return d.fixed
	}
	return d.m.gallery.Shot(d.a)
}

// Rows implements dialog.
func (d *viewer) Rows(l *look.Look, w, h int) []cell.Row {
	s := d.shot()
	about := cell.Row{cell.S(over(l, themes.Muted), pane.Describe(l, d.a, s))}
	if d.fixed != nil {
		about = cell.Row{cell.S(over(l, themes.Muted), look.Plural(len(s.Table.Rows), "row"))}
	}
	switch {
	case s == nil && d.m.gallery.Wants(d.a):
		return []cell.Row{about, nil, {cell.S(over(l, themes.Muted), "loading …")}}
	case s != nil && s.Picture != nil:
		cols, rows := d.size(s, w)
		return append([]cell.Row{about, nil}, centred(l, d.m.gallery.Draw(l, pane.RefOf(d.a), cols, rows), (w-cols)/2)...)
	case s != nil && s.Table != nil:
		d.shown = max(h-4, 1)
		d.top = clamp(d.top, 0, max(len(s.Table.Rows)-d.shown, 0))
		return append([]cell.Row{about, nil}, s.Table.Draw(l, w, d.top, d.shown)...)
	}
	return []cell.Row{about, nil, {cell.S(over(l, themes.Text), "It cannot be shown here. o opens it with the desktop's program, s saves a copy.")}}
}

// size is how many cells the picture takes, whatever is drawn of the dialog.
func (d *viewer) size(s *pane.Shot, w int) (cols, rows int) {
	return d.m.gallery.Size(s, w, max(d.m.h-8, 1))
}

// centred moves rows to the right.
func centred(l *look.Look, rows []cell.Row, by int) []cell.Row {
	out := make([]cell.Row, len(rows))
	for i, r := range rows {
		out[i] = append(cell.Row{{Style: over(l, themes.Text), Text: cell.Spaces(by)}}, r...)
	}
	return out
}

// Shown implements pictured.
func (d *viewer) Shown(_ *model, r rect) []pane.Shown {
	out := pane.Shown{Artefact: d.a}
	if s := d.shot(); s != nil && s.Picture != nil {
		w := r.w - 4
		out.Cols, out.Rows = d.size(s, w)
		out.X, out.Y, out.Whole = r.x+2+(w-out.Cols)/2, r.y+3, true
	}
	return []pane.Shown{out}
}

// Key implements dialog.
func (d *viewer) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch key := msg.String(); key {
	case "esc", "q", "enter":
		return nil, true
	case "o":
		if d.fixed == nil {
			return m.openOutside(d.a), false
		}
	case "s":
		if d.fixed == nil {
			m.askPath(d.a)
		}
	default:
		d.top = paged(key, d.top, d.shown)
	}
	return nil, false
}
