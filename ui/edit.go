package ui

import (
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// Editor is for Intents whose questions may bring a text that the user can
// change before it is answered.
type Editor interface {
	// AnswerText answers a question for another text than the one it brought.
	AnswerText(id, choice, text string)
}

// tabMark stands for a tab while a text is edited, since the text area makes
// blanks of tabs.
const tabMark = "␉"

// editor changes the text of a question: the code of an act before it runs.
type editor struct {
	ask  event.Ask
	area textarea.Model
	top  int // first line that is shown
	left int // first column that is shown
}

// editable says that the text of a question can be changed here.
func (m *model) editable(a event.Ask) bool {
	_, ok := m.o.Intents.(Editor)
	return ok && a.Text != "" && len(a.Choices) > 0
}

func (m *model) openEditor(a event.Ask) tea.Cmd {
	d := &editor{ask: a, area: textarea.New()}
	d.area.ShowLineNumbers, d.area.Prompt = false, ""
	d.area.CharLimit, d.area.MaxHeight, d.area.MaxWidth = 0, 0, 0
	d.area.SetWidth(400) // it draws nothing: lines are not wrapped, but scrolled
	d.area.SetHeight(24)
	d.area.SetValue(strings.ReplaceAll(a.Text, "\t", tabMark))
	d.area.MoveToBegin()
	cmd := d.area.Focus()
	m.open(d)
	return cmd
}

// Title implements dialog.
func (d *editor) Title() string { return "Edit: " + cell.Safe(d.ask.Question) }

// Size implements sized: all that the screen has.
func (d *editor) Size() (int, bool) { return 1 << 16, false }

// Hint implements dialog.
func (d *editor) Hint() string { return "Ctrl+S " + cell.Safe(d.ask.Choices[0]) + " · Esc back" }

// Rows implements dialog: exactly h rows, with the cursor among them.
func (d *editor) Rows(l *look.Look, w, h int) []cell.Row {
	lines := strings.Split(d.area.Value(), "\n")
	room := max(w-numberWidth, 1)
	y, x := d.area.Line(), d.column(lines)
	d.top = clamp(d.top, y-h+1, y)
	d.left = clamp(d.left, x-room+1, x)
	rows := make([]cell.Row, h)
	for i := range rows {
		if n := d.top + i; n < len(lines) {
			rows[i] = d.line(l, lines[n], n, x, n == y, room)
		}
	}
	return rows
}

// numberWidth is the room for the numbers of lines.
const numberWidth = 5

// column is where the cursor stands in its line, in cells.
func (d *editor) column(lines []string) int {
	runes := []rune(lines[min(d.area.Line(), len(lines)-1)])
	return cell.Width(cell.Safe(string(runes[:min(d.area.Column(), len(runes))])))
}

// line draws one line, and the cursor in it.
func (d *editor) line(l *look.Look, text string, n, x int, here bool, room int) cell.Row {
	number := look.Count(n + 1)
	row := cell.Row{cell.S(over(l, themes.Muted), cell.Spaces(max(numberWidth-1-cell.Width(number), 0))+number+" ")}
	text = cell.Safe(text)
	end := cell.Width(text)
	part := func(from, to int) string {
		from, to = max(from, d.left), min(to, d.left+room)
		if from >= to {
			return ""
		}
		return cell.Part(text+cell.Spaces(max(to-end, 0)), from, to)
	}
	plain := over(l, themes.Code)
	if !here {
		return append(row, cell.Span{Style: plain, Text: part(0, end)})
	}
	cursor := l.On(themes.Selection, themes.Heading).With(cell.Reverse).Mark()
	return append(row, cell.Span{Style: plain, Text: part(0, x)}, cell.Span{Style: cursor, Text: part(x, x+1)},
		cell.Span{Style: plain, Text: part(x+1, end)})
}

// Key implements dialog.
func (d *editor) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "esc":
		m.reask()
		return nil, true
	case "ctrl+s":
		text := strings.ReplaceAll(d.area.Value(), tabMark, "\t")
		id, choice := d.ask.ID, d.ask.Choices[0]
		if text == d.ask.Text {
			return m.intend(func(i Intents) { i.Answer(id, choice) }), true
		}
		return m.intend(func(i Intents) { i.(Editor).AnswerText(id, choice, text) }), true
	}
	var cmd tea.Cmd
	d.area, cmd = d.area.Update(msg)
	return cmd, false
}

// Paste implements paster.
func (d *editor) Paste(msg tea.PasteMsg) {
	msg.Content = strings.ReplaceAll(msg.Content, "\t", tabMark)
	d.area, _ = d.area.Update(msg)
}

// paster is a dialog that takes pasted text.
type paster interface{ Paste(tea.PasteMsg) }
