package ui

import (
	"fmt"
	"strings"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// on is a style of the status line.
func (m *model) on(k themes.Token) cell.Style { return m.look.On(themes.Surface, k) }

// statusLeft says how things stand: what is left out first stands last.
func (m *model) statusLeft() cell.Row {
	row := append(cell.Row{cell.S(m.on(themes.Text), " ")}, m.activity()...)
	if m.stepping {
		row = append(row, cell.S(m.on(themes.Warn), m.sep()+"step by step"))
	}
	if m.toast != "" {
		return append(row, cell.S(m.on(themes.Muted), m.sep()), cell.S(m.on(themes.Text), m.toast))
	}
	used := row.Width() + m.hints().Width() + 2
	for _, part := range m.facts() {
		if used += cell.Width(part.Text) + 3; used > m.w {
			break
		}
		row = append(row, cell.S(m.on(themes.Muted), m.sep()), part)
	}
	return row
}

func (m *model) sep() string { return " " + m.look.Glyphs.Dot + " " }

// activity is what goes on, as glyph and word.
func (m *model) activity() cell.Row {
	if m.past != nil {
		return m.pastWords()
	}
	status, word := m.doing()
	face := m.look.Face(status)
	if word == "" {
		word = face.Word
	}
	glyph := face.Glyph
	if (status == look.Running || status == look.Mending) && !m.o.Reduced {
		spin := m.look.Glyphs.Spinner
		glyph = spin[m.frame%len(spin)]
	}
	back := m.on(themes.Text)
	return cell.Row{cell.S(face.Style.On(back), glyph+" "+word)}
}

// pastWords says which moment is shown.
func (m *model) pastWords() cell.Row {
	g := m.look.Glyphs
	mark, word := g.Past, "past"
	if m.o.Replay {
		word = "replay"
	}
	if m.past.playing {
		mark = g.Call
	}
	text := fmt.Sprintf("%s %s %d/%d", mark, word, m.past.at, len(m.history.events))
	if m.past.speed > 1 {
		text += fmt.Sprintf(" %dx", m.past.speed)
	}
	row := cell.Row{cell.S(m.on(themes.Warn).With(cell.Bold), text)}
	if at := m.state.Now; !at.IsZero() {
		row = append(row, cell.S(m.on(themes.Muted), m.sep()+at.Format("15:04:05")))
	}
	if !m.o.Replay && m.focus == inComposer {
		row = append(row, cell.S(m.on(themes.Muted), m.sep()+"Alt+End now"))
	}
	return row
}

// doing is the status of the whole session.
func (m *model) doing() (look.Status, string) {
	if len(m.state.Asks) > 0 {
		return look.Asking, "waits for you"
	}
	if m.state.Ended != nil {
		return look.Idle, "ended"
	}
	st := running(m.state)
	switch {
	case m.state.Model.State == "loading":
		return look.Running, "loading model"
	case st == nil && m.state.Model.State == "thinking":
		return look.Running, "thinking"
	case st == nil:
		return look.Idle, "ready"
	case len(st.Attempts) == 0:
		return look.Running, "thinking"
	}
	last := st.Attempts[len(st.Attempts)-1]
	for _, r := range last.Remedies {
		if r.End == nil {
			return look.Mending, "mending"
		}
	}
	if last.End == nil {
		return look.Running, fmt.Sprintf("running, attempt %d", last.Attempt.Attempt)
	}
	return look.Running, "working"
}

// facts are the standing facts of the session, most important first.
func (m *model) facts() []cell.Span {
	text, muted := m.on(themes.Text), m.on(themes.Muted)
	var out []cell.Span
	add := func(s cell.Style, t string) {
		if t != "" {
			out = append(out, cell.S(s, t))
		}
	}
	add(text, m.modelName())
	add(muted, m.contextFill())
	add(muted, m.state.Session.Runtime)
	if m.state.Session.Runtime != "" {
		add(muted, m.look.Glyphs.Offline+" offline box")
	}
	add(muted, shortID(m.state.Session.ID))
	return out
}

func (m *model) modelName() string {
	mod := m.state.Model
	switch {
	case mod.State == "absent":
		return "no model"
	case mod.State == "error":
		return strings.TrimSpace(mod.Name + " does not answer")
	case mod.Name == "" && m.state.Session.Lesson != "":
		return "lesson"
	case mod.Speed > 0:
		return fmt.Sprintf("%s %.0f tok/s", mod.Name, mod.Speed)
	}
	return mod.Name
}

// contextFill is how full the model's window is, as a small bar and a number.
func (m *model) contextFill() string {
	mod := m.state.Model
	if mod.Window <= 0 || mod.Context <= 0 {
		return ""
	}
	part := min(float64(mod.Context)/float64(mod.Window), 1)
	full := int(part*5 + 0.5)
	g := m.look.Glyphs
	return fmt.Sprintf("context %s%s %.0f%%", strings.Repeat(g.FillOn, full), strings.Repeat(g.FillOff, 5-full), part*100)
}

// shortID is the end of a session's name, which tells sessions of one day
// apart.
func shortID(id string) string {
	if id == "" {
		return ""
	}
	parts := strings.Split(cell.Safe(id), "-")
	return "session " + cell.Truncate(strings.Join(parts[max(0, len(parts)-2):], "-"), 20)
}

// pastHints are the keys that matter while the past is shown.
func (m *model) pastHints() [][2]string {
	play := "play"
	if m.playing() {
		play = "stop"
	}
	hints := [][2]string{{"P", play}, {"[ ]", "step"}, {"{ }", "speed"}}
	if m.o.Replay {
		return append(hints, [2]string{"?", "help"})
	}
	return append(hints, [2]string{"Esc", "now"})
}

// hints are the keys that matter where the focus is.
func (m *model) hints() cell.Row {
	key, word := m.on(themes.Accent), m.on(themes.Muted)
	var row cell.Row
	add := func(k, what string) {
		if len(row) > 0 {
			row = append(row, cell.S(word, "  "))
		}
		row = append(row, cell.S(key, k), cell.S(word, " "+what))
	}
	if m.past != nil && m.focus != inComposer {
		for _, h := range m.pastHints() {
			add(h[0], h[1])
		}
		return append(row, cell.S(word, " "))
	}
	if m.focus == inComposer && !m.o.Replay {
		add("Enter", "send")
	}
	limit := m.w / 2
	for i := len(m.bindings) - 1; i >= 0; i-- {
		b := m.bindings[i]
		if b.short == "" || !b.holds(m.focus) || b.reason(m) != "" || m.focus != inComposer && b.scope == everywhere && b.id != "next" {
			continue
		}
		next := cell.Width(keyName(b.keys[0])) + cell.Width(b.short) + 3
		if row.Width()+next > limit {
			break
		}
		add(keyName(b.keys[0]), b.short)
	}
	if m.w >= 100 && m.focus == inComposer {
		add("?", "help")
	}
	return append(row, cell.S(word, " "))
}
