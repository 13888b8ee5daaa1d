package main

import (
	"fmt"
	"strings"

	"kintsugi/agent/event"
)

// askPrinter tells how the agent works: what the model says as it says it, and
// one line for each call, break and mending.
type askPrinter struct {
	printer
	only func(event.Event) // when set, it is told everything instead
	open bool              // the cursor is inside a line of the model's
	dim  bool
	text strings.Builder // what the model said in this step
	last string          // … and in the step before
}

// told is how much of a correction is shown, in characters.
const told = 160

func (p *askPrinter) show(e event.Event) {
	if p.only != nil {
		p.only(e)
		return
	}
	switch b := e.Body.(type) {
	case event.StepStart:
		p.text.Reset()
	case event.Reasoning:
		p.speak(b)
	case event.Model:
		p.model(b)
	case event.Call:
		p.step(dim, "▶ "+b.Tool, firstLine(b))
	case event.AttemptEnd:
		if b.Exit == 0 && b.Limit == "" {
			p.step(dim, "✓ worked", short(b.Took))
		}
	case event.Note:
		p.end()
		b.Text = clipped(oneLine(b.Text), told)
		p.note(b)
	case event.Checkpoint: // told once, at the end
	case event.StepEnd:
		p.end()
		p.last = strings.TrimSpace(p.text.String())
	default:
		p.end()
		p.printer.show(e)
	}
}

// speak passes on what the model says, private thought in dim.
func (p *askPrinter) speak(b event.Reasoning) {
	if b.Thinking != p.dim {
		p.end()
	}
	p.clear()
	text := b.Text
	if !p.open {
		text = strings.TrimLeft(text, "\n")
	}
	if text == "" {
		return
	}
	p.dim = b.Thinking
	if !b.Thinking {
		p.text.WriteString(b.Text)
	}
	if p.colour && b.Thinking {
		text = dim + text + reset
	}
	fmt.Fprint(p.out, text)
	p.open = !strings.HasSuffix(b.Text, "\n")
}

// model tells that a model is being loaded, which can take minutes.
func (p *askPrinter) model(m event.Model) {
	if m.State == "loading" && !p.open {
		p.rewrite("waiting for " + m.Name)
	}
}

func (p *askPrinter) step(colour, head, text string) {
	p.end()
	p.line(colour, head, text)
}

// end ends a line that the model left open.
func (p *askPrinter) end() {
	p.clear()
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}

// said tells whether the last words of the model are this answer.
func (p *askPrinter) said(answer string) bool {
	return p.only == nil && answer == p.last
}

// firstLine is what a call is about, in a few words.
func firstLine(c event.Call) string {
	text := strings.TrimSpace(c.Text)
	if text == "" {
		text = strings.Join(c.Argv, " ")
	}
	line, rest, _ := strings.Cut(text, "\n")
	if n := strings.Count(rest, "\n") + 1; rest != "" {
		line += fmt.Sprintf(" … (%d lines)", n+1)
	}
	return clipped(line, told)
}

func clipped(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
