package ui

import (
	"sort"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// entry is something that the palette offers.
type entry struct {
	name, keys, why string
	do              func(*model) tea.Cmd
}

// palette finds any command by a few of its letters.
type palette struct {
	list
	all   []entry
	found []entry
}

func (m *model) openPalette() tea.Cmd {
	p := &palette{all: m.entries()}
	p.search()
	m.open(p)
	return nil
}

// entries are all bindings and written commands, each once.
func (m *model) entries() []entry {
	var out []entry
	seen := map[string]bool{"find any command": true, "up": true, "down": true}
	for _, b := range m.bindings {
		if seen[b.help] {
			continue
		}
		seen[b.help] = true
		out = append(out, entry{name: b.help, keys: keyName(b.keys[0]), why: b.reason(m), do: m.from(b)})
	}
	for _, s := range slashes() {
		if !seen[s.help] {
			seen[s.help] = true
			out = append(out, entry{name: s.help, keys: s.name, do: func(m *model) tea.Cmd { return m.slash(s.name) }})
		}
	}
	return out
}

// from does a binding from anywhere: it goes first where the binding holds.
func (m *model) from(b binding) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd {
		switch b.scope {
		case onReason:
			m.setFocus(inReason)
		case onSandbox:
			m.setFocus(inSandbox)
		case onTimeline:
			m.setFocus(inTimeline)
		}
		return m.perform(&b)
	}
}

// search keeps what matches the filter, the best first.
func (p *palette) search() {
	type scored struct {
		entry
		score int
	}
	var hits []scored
	for _, e := range p.all {
		if s, ok := fuzzy(p.filter, e.name+" "+e.keys); ok {
			hits = append(hits, scored{e, s})
		}
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].score > hits[j].score })
	p.found = p.found[:0]
	for _, h := range hits {
		p.found = append(p.found, h.entry)
	}
}

// fuzzy finds the letters of a pattern in a text, in order. A higher score is
// a better match: letters that start words or follow each other count more.
func fuzzy(pattern, text string) (score int, ok bool) {
	want := []rune(strings.ToLower(strings.ReplaceAll(pattern, " ", "")))
	prev, run := ' ', 0
	i := 0
	for _, r := range strings.ToLower(text) {
		if i == len(want) {
			break
		}
		if r != want[i] {
			prev, run = r, 0
			continue
		}
		run++
		score += run
		if !unicode.IsLetter(prev) && !unicode.IsDigit(prev) {
			score += 5
		}
		prev = r
		i++
	}
	return score, i == len(want)
}

// Title implements dialog.
func (p *palette) Title() string { return "Commands" }

// Hint implements dialog.
func (p *palette) Hint() string { return "type to search · Enter do it · Esc close" }

// paletteRows is how many commands are shown at once.
const paletteRows = 12

// Rows implements dialog.
func (p *palette) Rows(l *look.Look, w, h int) []cell.Row {
	rows := []cell.Row{filterRow(l, p.filter), nil}
	size := clamp(h-2, 1, paletteRows)
	from, to := p.window(len(p.found), size)
	for i := from; i < to; i++ {
		e := p.found[i]
		right := e.keys
		if e.why != "" {
			right = e.why
		}
		rows = append(rows, choiceRow(l, i == p.at, e.name, right, w))
	}
	if len(p.found) == 0 {
		rows = append(rows, cell.Row{cell.S(over(l, themes.Muted), "nothing matches; Backspace widens the search")})
	}
	for len(rows) < size+2 {
		rows = append(rows, nil)
	}
	return rows
}

func filterRow(l *look.Look, filter string) cell.Row {
	return cell.Row{cell.S(over(l, themes.Accent), l.Glyphs.Prompt+" "), cell.S(over(l, themes.Text), filter), cell.S(over(l, themes.Muted), "▏")}
}

// Key implements dialog.
func (p *palette) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "esc", "ctrl+p":
		return nil, true
	case "enter":
		return p.do(m, p.at)
	}
	if p.key(msg, len(p.found)) {
		p.search()
	}
	return nil, false
}

// Click implements clicker.
func (p *palette) Click(m *model, row int) (tea.Cmd, bool) { return p.do(m, p.top+row-2) }

func (p *palette) do(m *model, i int) (tea.Cmd, bool) {
	if i < 0 || i >= len(p.found) {
		return nil, false
	}
	m.close(p)
	return p.found[i].do(m), true
}

// themePicker shows each theme on the whole screen while it is chosen.
type themePicker struct {
	list
	names  []string
	found  []string
	before string
	auto   bool
}

func (m *model) openThemes() tea.Cmd {
	p := &themePicker{names: themes.List(m.o.Themes), before: m.theme, auto: m.auto}
	p.search()
	for i, n := range p.found {
		if n == m.theme {
			p.at = i
		}
	}
	m.open(p)
	return nil
}

func (p *themePicker) search() {
	p.found = p.found[:0]
	for _, n := range p.names {
		if _, ok := fuzzy(p.filter, n); ok {
			p.found = append(p.found, n)
		}
	}
}

// Title implements dialog.
func (p *themePicker) Title() string { return "Themes" }

// Size implements sized: most of the screen shows the theme.
func (p *themePicker) Size() (int, bool) { return 36, true }

// Hint implements dialog.
func (p *themePicker) Hint() string { return "Enter keep · Esc back" }

// Rows implements dialog.
func (p *themePicker) Rows(l *look.Look, w, h int) []cell.Row {
	rows := []cell.Row{filterRow(l, p.filter), nil}
	from, to := p.window(len(p.found), clamp(h-2, 1, paletteRows))
	for i := from; i < to; i++ {
		rows = append(rows, choiceRow(l, i == p.at, p.found[i], "", w))
	}
	return rows
}

// Key implements dialog.
func (p *themePicker) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "esc":
		_ = m.setTheme(p.before) // it was loaded before
		m.auto = p.auto
		return nil, true
	case "enter":
		m.chosen = m.theme
		return m.keep(), true
	}
	if p.key(msg, len(p.found)) {
		p.search()
	}
	p.try(m)
	return nil, false
}

// Click implements clicker.
func (p *themePicker) Click(m *model, row int) (tea.Cmd, bool) {
	if i := p.top + row - 2; i >= 0 && i < len(p.found) {
		p.at = i
		p.try(m)
	}
	return nil, false
}

// try shows the chosen theme at once.
func (p *themePicker) try(m *model) {
	if p.at < 0 || p.at >= len(p.found) {
		return
	}
	m.auto = false
	if err := m.setTheme(p.found[p.at]); err != nil {
		m.say(err.Error())
	}
}
