package ui

import (
	"sort"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
)

// maxChoices is how many completions are shown at once.
const maxChoices = 5

func stripped(s string) string { return ansi.Strip(s) }

// lastWord is the word that the text ends with.
func lastWord(text string) string {
	return text[strings.LastIndexAny(text, " \n\t!")+1:]
}

// complete looks for what the last word could become.
func (c *composer) complete() {
	c.chosen, c.picked, c.choices = 0, false, nil
	text := c.Value()
	if c.area.Line() != c.area.LineCount()-1 {
		return
	}
	if strings.HasPrefix(text, "/") && !strings.ContainsAny(text, " \n") {
		c.choices = commandsWith(text)
		return
	}
	word := lastWord(text)
	isFile := strings.HasPrefix(text, "/run ") || strings.HasPrefix(text, "!") && strings.ContainsAny(word, "./")
	if c.files != nil && isFile && !strings.ContainsAny(text, "\n") {
		c.choices = c.files(word)
		if len(c.choices) == 1 && c.choices[0] == word {
			c.choices = nil
		}
	}
}

// accept puts the chosen completion in place of the last word.
func (c *composer) accept() bool {
	if len(c.choices) == 0 {
		return false
	}
	text := c.Value()
	choice := c.choices[c.chosen]
	head := strings.TrimSuffix(text, lastWord(text))
	if !strings.HasSuffix(choice, "/") {
		choice += " "
	}
	c.set(head + choice)
	if strings.HasSuffix(choice, "/") {
		c.complete()
	}
	return true
}

// shown are the completions on the screen, with the chosen one among them.
func (c *composer) shown() []string {
	n := len(c.choices)
	from := clamp(c.chosen-maxChoices+1, 0, max(n-maxChoices, 0))
	return c.choices[from:min(from+maxChoices, n)]
}

// popup draws the completions above the composer.
func (c *composer) popup() []string {
	var out []string
	from := clamp(c.chosen-maxChoices+1, 0, max(len(c.choices)-maxChoices, 0))
	for i, choice := range c.shown() {
		bg, mark := themes.Overlay, "   "
		if from+i == c.chosen {
			bg, mark = themes.Selection, " "+c.l.Glyphs.Focus+" "
		}
		row := cell.Row{cell.S(c.l.On(bg, themes.Accent), mark), cell.S(c.l.On(bg, themes.Text), choice)}
		if help := commandHelp(choice); help != "" {
			row = append(row, cell.S(c.l.On(bg, themes.Muted), "  "+help))
		}
		out = append(out, row.Render(c.w, c.l.On(bg, themes.Text)))
	}
	return out
}

// commandsWith are the slash commands that begin with a prefix.
func commandsWith(prefix string) []string {
	var out []string
	for _, s := range slashes() {
		if strings.HasPrefix(s.name, prefix) {
			out = append(out, s.name)
		}
	}
	sort.Strings(out)
	return out
}

func commandHelp(name string) string {
	for _, s := range slashes() {
		if s.name == name {
			return s.help
		}
	}
	return ""
}

// isCommand says that text is the name of a command.
func isCommand(text string) bool { return commandHelp(text) != "" }

// needsMore says that a command wants something after it.
func needsMore(name string) bool {
	for _, s := range slashes() {
		if s.name == name {
			return s.needs != ""
		}
	}
	return false
}
