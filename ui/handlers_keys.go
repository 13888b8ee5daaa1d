package ui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/pane"
)

// onKey gives a key to the dialog, the bindings, or the composer.
func (m *model) onKey(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	if key != "ctrl+c" {
		m.armed = time.Time{}
	}
	m.pressed(msg)
	if d := m.dialog(); d != nil && key != "ctrl+c" && key != "ctrl+z" {
		return m.onDialogKey(d, msg)
	}
	if m.focus == inComposer {
		if cmd, taken := m.composer.Key(msg, m); taken {
			m.arrange()
			return cmd
		}
	}
	if b := m.find(key, m.focus); b != nil {
		return m.perform(b)
	}
	if m.focus == inComposer {
		cmd := m.composer.Update(msg)
		m.arrange()
		return cmd
	}
	return m.typed(msg)
}

// typed takes a letter that no pane knows: "/" and "!" start writing.
func (m *model) typed(msg tea.KeyPressMsg) tea.Cmd {
	if msg.Text == "/" || msg.Text == "!" {
		m.setFocus(inComposer)
		cmd := m.composer.Update(msg)
		m.arrange()
		return cmd
	}
	return nil
}

// perform does what a binding says, or says why not.
func (m *model) perform(b *binding) tea.Cmd {
	if why := b.reason(m); why != "" {
		m.say(why)
		return m.animate()
	}
	cmd := b.do(m)
	m.arrange()
	return tea.Batch(cmd, m.animate())
}

func (m *model) onPaste(msg tea.PasteMsg) tea.Cmd {
	if d := m.dialog(); d != nil {
		if p, ok := d.(paster); ok {
			p.Paste(msg)
		}
		return nil
	}
	m.setFocus(inComposer)
	cmd := m.composer.Update(msg)
	m.arrange()
	return cmd
}

// setFocus goes to a place.
func (m *model) setFocus(at place) {
	if at != inComposer {
		if m.pane == inTimeline || m.pane == inReason {
			m.leftTimeline = m.pane == inTimeline
		}
		m.pane = at
	}
	m.focus = at
	m.composer.SetFocus(at == inComposer)
	m.arrange()
	if at == inTimeline && !m.timeline.HasSelection() {
		m.timeline.Move(-1)
	}
}

func (m *model) cycle(n int) { m.setFocus((m.focus + place(n) + places) % places) }

// escape leaves what is special: the zoom, the selection, then the pane.
func (m *model) escape() {
	switch {
	case m.zoom:
		m.zoom = false
	case m.past != nil && !m.o.Replay:
		m.present()
	default:
		if m.focus == inTimeline {
			m.timeline.Deselect()
		}
		m.setFocus(inComposer)
	}
}

// step moves one row, or one entry in the timeline.
func (m *model) step(n int) {
	if m.focus == inTimeline {
		m.timeline.Move(n)
		return
	}
	m.current().Scroll(n)
}

func (m *model) toggleZoom() { m.zoom = !m.zoom }

// widen changes the width of the current pane.
func (m *model) widen(n int) {
	switch m.pane {
	case inSandbox:
		m.split[0] -= n / 2
		m.split[2] -= n / 2
	case inTimeline:
		m.split[2] += n
	default:
		m.split[0] += n
	}
	m.limitSplit()
}

func (m *model) toggleThinking() tea.Cmd {
	switch m.reason.ToggleThinking() {
	case pane.All:
		m.say("thinking is always shown")
	case pane.Hidden:
		m.say("thinking is folded")
	default:
		m.say("thinking is shown while it runs")
	}
	return m.keep()
}

func (m *model) toggleVerbose() {
	if m.sandbox.ToggleVerbose() {
		m.say("installers' output is shown")
		return
	}
	m.say("installers' output is hidden")
}

// cancel stops what runs.
func (m *model) cancel() tea.Cmd {
	m.say("stopping")
	return m.intend(func(i Intents) { i.Cancel() })
}

// intend tells the outside what the user wants, without waiting for it.
func (m *model) intend(f func(Intents)) tea.Cmd {
	intents := m.o.Intents
	return func() tea.Msg {
		f(intents)
		return nil
	}
}

// quitTime is how long ctrl+c waits for the second one.
const quitTime = 3 * time.Second

// interrupt is ctrl+c: it stops what runs, and the second one quits.
func (m *model) interrupt() tea.Cmd {
	if !m.armed.IsZero() && m.now.Sub(m.armed) < quitTime {
		return m.quit()
	}
	m.armed = m.now
	m.dialogs = nil
	m.reask()
	if m.busy() {
		m.say("stopping; Ctrl+C again quits")
		return m.intend(func(i Intents) { i.Cancel() })
	}
	m.composer.Clear()
	m.say("Ctrl+C again quits")
	return nil
}

func (m *model) quit() tea.Cmd {
	return tea.Sequence(m.forgetPictures(), m.intend(func(i Intents) { i.Quit() }), tea.Quit)
}

// askQuit quits, or asks first when something runs.
func (m *model) askQuit() tea.Cmd {
	if !m.busy() {
		return m.quit()
	}
	m.open(newConfirm("Something still runs. Quit and stop it?", "Quit", (*model).quit))
	return nil
}

// copyPane copies the visible text of the pane.
func (m *model) copyPane() tea.Cmd {
	lines := m.current().Lines(true)
	for i, line := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(line), " ")
	}
	return m.copyText(strings.TrimSpace(strings.Join(lines, "\n")) + "\n")
}

// copyText copies by way of the terminal, and by what the outside offers for
// terminals that do not pass it on.
func (m *model) copyText(text string) tea.Cmd {
	m.say("copied " + look.Plural(strings.Count(strings.TrimSpace(text), "\n")+1, "line"))
	cmds := []tea.Cmd{tea.SetClipboard(text), m.animate()}
	if extra := m.o.Copy; extra != nil {
		cmds = append(cmds, func() tea.Msg {
			extra(text)
			return nil
		})
	}
	return tea.Batch(cmds...)
}

// linked shows the place of the selected entry in the other panes.
func (m *model) linked() {
	step, attempt := m.timeline.Where()
	if step > 0 {
		m.reason.Show(step)
		m.sandbox.Show(step, attempt)
	}
}
