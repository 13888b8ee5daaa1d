package ui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// maxComposer is the most rows that the composer grows to.
const maxComposer = 6

// composer is where the user writes: several lines, earlier inputs, slash
// commands and files completed.
type composer struct {
	area     textarea.Model
	l        *look.Look
	w        int
	said     []string
	at       int    // index into said; len(said) is the draft
	draft    string // what was being written before going back
	files    func(string) []string
	choices  []string // completions of the last word
	chosen   int
	picked   bool // the user moved to the chosen one
	remember func(string)
	stale    bool     // something changed since the next three were made
	view     []string // the rows of the area
	x, y     int      // the cursor in them
}

func newComposer(l *look.Look, o Options) *composer {
	c := &composer{area: textarea.New(), l: l, said: append([]string(nil), o.Said...), files: o.Complete, remember: o.Remember}
	c.at = len(c.said)
	c.area.ShowLineNumbers = false
	c.area.Prompt = ""
	c.area.Placeholder = "Describe a task, or type !command, /run FILE, /help"
	c.area.CharLimit = 0
	c.area.MaxHeight = 0
	c.area.SetVirtualCursor(false)
	c.area.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	c.area.SetHeight(maxComposer) // as many rows are drawn as the text needs
	c.Restyle(l)
	return c
}

// Focus makes the composer take keys.
func (c *composer) Focus() tea.Cmd {
	c.stale = true
	return c.area.Focus()
}

// SetFocus shows or hides the cursor.
func (c *composer) SetFocus(on bool) {
	c.stale = true
	if on {
		c.area.Focus()
		return
	}
	c.area.Blur()
	c.choices = nil
}

// Restyle takes the colours of a look.
func (c *composer) Restyle(l *look.Look) {
	c.l, c.stale = l, true
	style := func(k themes.Token) lipgloss.Style {
		s := lipgloss.NewStyle()
		if fg := l.Theme.Color(k); !fg.IsDefault() {
			s = s.Foreground(lipgloss.Color(fg.String()))
		}
		if bg := l.Theme.Color(themes.Surface); !bg.IsDefault() {
			s = s.Background(lipgloss.Color(bg.String()))
		}
		return s
	}
	state := textarea.StyleState{
		Base: style(themes.Text), Text: style(themes.Text), CursorLine: style(themes.Text),
		Placeholder: style(themes.Muted), Prompt: style(themes.Accent), EndOfBuffer: style(themes.Text),
		Selection: style(themes.Text).Reverse(true),
	}
	styles := c.area.Styles()
	styles.Focused, styles.Blurred = state, state
	c.area.SetStyles(styles)
}

// Resize sets the width of the screen.
func (c *composer) Resize(w int) {
	if c.w != w {
		c.w, c.stale = w, true
		c.area.SetWidth(max(w-promptWidth-1, 10))
	}
}

// promptWidth is the room for the prompt.
const promptWidth = 3

// draw makes the rows of the text, as many as it needs.
func (c *composer) draw() []string {
	if !c.stale && c.view != nil {
		return c.view
	}
	c.stale = false
	c.x, c.y = 0, 0
	if cur := c.area.Cursor(); cur != nil {
		c.x, c.y = cur.X, cur.Y
	}
	n := 0
	for _, line := range strings.Split(c.area.Value(), "\n") {
		n += len(cell.WrapWords([]cell.Span{cell.S(cell.Style{}, line)}, max(c.area.Width(), 1), nil))
	}
	rows := strings.Split(c.area.View(), "\n")
	c.view = rows[:clamp(max(n, c.y+1), 1, len(rows))]
	return c.view
}

// Height is the rows of the composer and its completions.
func (c *composer) Height() int { return len(c.draw()) + len(c.shown()) }

// Value is what is written.
func (c *composer) Value() string { return c.area.Value() }

// Clear empties the composer.
func (c *composer) Clear() { c.set("") }

func (c *composer) set(text string) {
	c.area.SetValue(text)
	c.area.MoveToEnd()
	c.choices, c.stale = nil, true
}

// Update gives a message to the text area.
func (c *composer) Update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	c.area, cmd = c.area.Update(msg)
	c.stale = true
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
		c.complete()
	}
	return cmd
}

// Key takes the keys that mean something to the composer alone.
func (c *composer) Key(msg tea.KeyPressMsg, m *model) (tea.Cmd, bool) {
	switch k := msg.String(); k {
	case "enter":
		return c.submit(m), true
	case "tab":
		return nil, c.accept()
	case "up", "down":
		return nil, c.vertical(k == "up")
	case "esc":
		if len(c.choices) > 0 {
			c.choices = nil
			return nil, true
		}
	case "?":
		if c.Value() == "" {
			return m.openHelp(), true
		}
	}
	return nil, false
}

// vertical moves in the completions, or in the earlier inputs when the cursor
// is at the first or last line.
func (c *composer) vertical(up bool) bool {
	step := 1
	if up {
		step = -1
	}
	if n := len(c.choices); n > 0 {
		c.chosen, c.picked = (c.chosen+step+n)%n, true
		return true
	}
	if up && c.area.Line() > 0 || !up && c.area.Line() < c.area.LineCount()-1 {
		return false
	}
	next := c.at + step
	if next < 0 || next > len(c.said) {
		return true
	}
	if c.at == len(c.said) {
		c.draft = c.Value()
	}
	c.at = next
	if c.at == len(c.said) {
		c.set(c.draft)
	} else {
		c.set(c.said[c.at])
	}
	return true
}

// submit hands over what is written.
func (c *composer) submit(m *model) tea.Cmd {
	text := strings.TrimSpace(c.Value())
	if c.wantsChoice(text) {
		c.accept()
		text = strings.TrimSpace(c.Value())
		if !isCommand(text) || needsMore(text) {
			return nil
		}
	}
	if text == "" {
		return nil
	}
	c.keep(text)
	c.Clear()
	return m.said(text)
}

// wantsChoice says that Enter means the chosen completion: the user moved to
// it, or has written the beginning of a command.
func (c *composer) wantsChoice(text string) bool {
	if len(c.choices) == 0 || c.choices[c.chosen] == lastWord(text) {
		return false
	}
	return c.picked || strings.HasPrefix(text, "/") && !strings.Contains(text, " ") && !isCommand(text)
}

// keep remembers an input.
func (c *composer) keep(text string) {
	if n := len(c.said); n == 0 || c.said[n-1] != text {
		c.said = append(c.said, text)
		if c.remember != nil {
			c.remember(text)
		}
	}
	c.at, c.draft = len(c.said), ""
}

// Lines draws the composer, w cells wide.
func (c *composer) Lines(focused bool) []string {
	fill := c.l.On(themes.Surface, themes.Text)
	prompt := c.l.On(themes.Surface, themes.Muted)
	if focused {
		prompt = c.l.On(themes.Surface, themes.Accent)
	}
	var out []string
	for i, row := range c.draw() {
		mark := "   "
		if i == 0 {
			mark = " " + c.l.Glyphs.Prompt + " "
		}
		out = append(out, prompt.Seq()+mark+row+fill.Seq()+cell.Spaces(c.w-promptWidth-cell.Width(stripped(row))))
	}
	return append(c.popup(), out...)
}

// Cursor is where the cursor is, relative to the first row of Lines.
func (c *composer) Cursor() (x, y int) {
	c.draw()
	return c.x + promptWidth, c.y + len(c.shown())
}
