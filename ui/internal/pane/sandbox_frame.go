package pane

import (
	"kintsugi/agent/event"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// Lines implements Pane.
func (p *Sandbox) Lines(bool) []string {
	return p.base.lines(
		"Nothing has run yet.",
		"Every command runs in a box of its own: no network, no view of your home, gone when it ends. What it breaks stays in there.",
		"Type ! and a command, or /run and a file.")
}

// Badge implements Pane.
func (p *Sandbox) Badge() cell.Row {
	if len(p.sections) == 0 {
		return nil
	}
	return p.follow()
}

// Foot is the life of the newest box: when it was born, what it uses, its
// limits. What does not fit is left out.
func (p *Sandbox) Foot(w int) cell.Row {
	a := p.last
	if a == nil {
		return nil
	}
	dot := " " + p.l.Glyphs.Dot + " "
	var parts []string
	if a.Born > 0 {
		parts = append(parts, "born in "+look.Duration(a.Born))
	}
	parts = append(parts, p.usage(a)...)
	if a.Limits != "" {
		parts = append(parts, "limits "+a.Limits)
	}
	var row cell.Row
	for i, text := range parts {
		next := cell.Row{cell.S(p.l.Border, dot), cell.S(p.l.Muted, text)}
		if i == 0 {
			next = next[1:]
		}
		if row.Width()+next.Width() > w {
			break
		}
		row = append(row, next...)
	}
	return row
}

// usage is what the box uses now, or has used.
func (p *Sandbox) usage(a *event.AttemptState) []string {
	cpu, memory := a.Usage.CPU, a.Usage.Memory
	if a.End != nil {
		cpu, memory = max(cpu, a.End.CPU), max(memory, a.End.Memory)
	}
	var parts []string
	if memory > 0 {
		parts = append(parts, look.Bytes(memory))
	}
	if cpu > 0 {
		parts = append(parts, "CPU "+look.Duration(cpu))
	}
	if a.End == nil && a.Usage.Processes > 0 {
		parts = append(parts, look.Plural(a.Usage.Processes, "process"))
	}
	if a.End != nil {
		parts = append(parts, "gone")
	}
	return parts
}

// Show brings an attempt into view; attempt 0 is the first of the step.
func (p *Sandbox) Show(step, attempt int) {
	for i, s := range p.sections {
		if s.step.N == step && s.kind == runs && s.attempt.Attempt.Attempt >= attempt {
			p.view.At(p, p.h, at(i, headRow), true)
			return
		}
	}
}

// ToggleVerbose shows or hides what installers print.
func (p *Sandbox) ToggleVerbose() bool {
	p.verbose = !p.verbose
	return p.verbose
}
