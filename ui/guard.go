package ui

import (
	"runtime/debug"
	"time"

	tea "charm.land/bubbletea/v2"
)

// guard is the outermost model. A panic anywhere below it ends the program in
// an orderly way, so that the terminal is restored before anything is said.
type guard struct {
	m     *model
	log   string
	crash *Crash
}

// failed is the message of a command that panicked.
type failed struct{ crash *Crash }

// Init implements tea.Model.
func (g *guard) Init() (cmd tea.Cmd) {
	defer g.recover(&cmd)
	return g.protect(g.m.Init())
}

// Update implements tea.Model.
func (g *guard) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return g, g.update(msg) }

func (g *guard) update(msg tea.Msg) (cmd tea.Cmd) {
	defer g.recover(&cmd)
	if f, ok := msg.(failed); ok {
		g.crash = f.crash
		return tea.Quit
	}
	return g.protect(g.m.Update(msg))
}

// View implements tea.Model.
func (g *guard) View() (v tea.View) {
	if g.crash != nil {
		return v
	}
	defer func() {
		if r := recover(); r != nil {
			g.crash = g.crashed(r)
		}
	}()
	return g.m.View()
}

func (g *guard) crashed(value any) *Crash {
	return &Crash{Value: value, Stack: debug.Stack(), Log: g.log}
}

func (g *guard) recover(cmd *tea.Cmd) {
	if r := recover(); r != nil {
		g.crash = g.crashed(r)
		*cmd = tea.Quit
	}
}

// protect wraps a command, which runs in a goroutine of its own. When View has
// failed meanwhile, the program ends at the next message.
func (g *guard) protect(cmd tea.Cmd) tea.Cmd {
	if g.crash != nil {
		return tea.Quit
	}
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = failed{g.crashed(r)}
			}
		}()
		return g.nested(cmd())
	}
}

// nested protects the commands inside a batch.
func (g *guard) nested(msg tea.Msg) tea.Msg {
	batch, ok := msg.(tea.BatchMsg)
	if !ok {
		return msg
	}
	out := make(tea.BatchMsg, len(batch))
	for i, c := range batch {
		out[i] = g.protect(c)
	}
	return out
}

// calm thins floods of motion events before they reach the update loop, which
// draws a frame for each message.
type calm struct {
	now  func() time.Time
	last time.Time
}

// calmDown is the least time between two motion events.
const calmDown = 8 * time.Millisecond

func newCalm(now func() time.Time) *calm { return &calm{now: now} }

func (c *calm) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.MouseMotionMsg); !ok {
		return msg
	}
	now := c.now()
	if now.Sub(c.last) < calmDown {
		return nil
	}
	c.last = now
	return msg
}
