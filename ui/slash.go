package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// slash is a command that is written, not pressed.
type slash struct {
	name  string
	needs string // what must follow, empty for nothing
	help  string
	do    func(m *model, rest string) tea.Cmd
}

// slashes is the table of written commands.
func slashes() []slash {
	return []slash{
		{"/run", "FILE [ARGS]", "run a program file in the sandbox", (*model).runFile},
		{"/env", "WORDS", "make an environment: /env Python 3.12 with pandas", (*model).environment},
		{"/diff", "", "changes: look, and bring them to the real project", pressing("apply")},
		{"/results", "", "results: look at what was made, open it, save it", pressing("results")},
		{"/stop", "", "stop what runs", func(m *model, _ string) tea.Cmd { return m.cancel() }},
		{"/theme", "", "choose a theme", (*model).themeCommand},
		{"/thinking", "", "show thinking: while it runs, always, never", func(m *model, _ string) tea.Cmd { return m.toggleThinking() }},
		{"/present", "", "presenter mode: captions, a spotlight, the keys", func(m *model, _ string) tea.Cmd {
			cmd := m.togglePresenter()
			m.arrange()
			return cmd
		}},
		{"/help", "", "show the keys and commands", func(m *model, _ string) tea.Cmd { return m.openHelp() }},
		{"/quit", "", "leave; the session is kept", func(m *model, _ string) tea.Cmd { return m.askQuit() }},
	}
}

// pressing does what a key does that has this name.
func pressing(id string) func(*model, string) tea.Cmd {
	return func(m *model, _ string) tea.Cmd {
		at := slices.IndexFunc(m.bindings, func(b binding) bool { return b.id == id })
		return m.from(m.bindings[at])(m)
	}
}

// said does what an input asks for: a slash command, a shell command, or a
// task for the agent.
func (m *model) said(text string) tea.Cmd {
	if !m.o.Replay {
		m.present()
	}
	for _, p := range m.panes() {
		p.End()
	}
	m.timeline.Deselect()
	if cmd, ok := strings.CutPrefix(text, "!"); ok && !m.o.Replay {
		if cmd = strings.TrimSpace(cmd); cmd == "" {
			m.say("write the command after the !, as in !ls")
			return m.animate()
		}
		return m.intend(func(i Intents) { i.Shell(cmd) })
	}
	if strings.HasPrefix(text, "/") {
		return m.slash(text)
	}
	if m.o.Replay {
		m.say("this is a recording; nothing can be asked here")
		return m.animate()
	}
	return m.intend(func(i Intents) { i.Submit(text) })
}

// slash does a written command. What a key does can be written too, by its
// name.
func (m *model) slash(text string) tea.Cmd {
	name, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	for _, s := range slashes() {
		if s.name != name {
			continue
		}
		if s.needs != "" && rest == "" {
			m.say("write " + s.name + " " + s.needs)
			m.composer.set(s.name + " ")
			return m.animate()
		}
		return tea.Batch(s.do(m, rest), m.animate())
	}
	for _, b := range m.bindings {
		if "/"+b.id == name {
			return m.from(b)(m)
		}
	}
	m.say("no command is called " + name + "; /help shows them")
	return m.animate()
}

func (m *model) runFile(rest string) tea.Cmd {
	words, err := fields(rest)
	if err != "" {
		m.say(err)
		return nil
	}
	return m.intend(func(i Intents) { i.RunFile(words[0], words[1:]) })
}

// environment asks for what boxes shall have, in plain words or by name.
func (m *model) environment(rest string) tea.Cmd {
	if _, ok := m.o.Intents.(Environer); !ok {
		m.say("this session's environment cannot be changed from here")
		return nil
	}
	return m.intend(func(i Intents) { i.(Environer).Environment(rest) })
}

func (m *model) themeCommand(rest string) tea.Cmd {
	if rest == "" {
		return m.openThemes()
	}
	if err := m.setTheme(rest); err != nil {
		m.say(err.Error())
		return nil
	}
	m.auto, m.chosen = false, rest
	m.say("theme " + rest)
	return m.keep()
}

// fields splits words as a shell does, with quotes and backslashes. The second
// result says what is wrong.
func fields(s string) (words []string, wrong string) {
	var b strings.Builder
	started := false
	quote := rune(0)
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\\' && quote != '\'' && i+1 < len(runes):
			i++
			b.WriteRune(runes[i])
			started = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, started = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if started {
				words = append(words, b.String())
				b.Reset()
				started = false
			}
		default:
			b.WriteRune(r)
			started = true
		}
	}
	if quote != 0 {
		return nil, "a quote is not closed"
	}
	if started {
		words = append(words, b.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, "no file is named"
	}
	return words, ""
}
