package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"kintsugi/agent/event"
)

// printer tells a run on standard error: one line for each break, remedy and
// seam, and one line that is rewritten while something is being installed.
type printer struct {
	out              io.Writer
	terminal, colour bool
	progress         bool // a progress line is on the screen
	titles           map[string]string
	locks            map[string]bool // remedies that only prepare what a lock names
	lanes            map[string]bool
	last             *event.Failure
}

const (
	gold  = "\x1b[38;5;178m"
	dim   = "\x1b[2m"
	red   = "\x1b[31m"
	reset = "\x1b[0m"
)

func (p *printer) show(e event.Event) {
	switch b := e.Body.(type) {
	case event.Failure:
		p.failure(b)
	case event.Remedy:
		p.remedy(b)
	case event.Progress:
		p.rewrite(p.titles[b.ID] + ": " + b.Text)
	case event.RemedyEnd:
		p.remedyEnd(b)
	case event.Seam:
		p.line(gold, "━━ mended", fmt.Sprintf("%s (worked on attempt %d, %s of mending)", strings.Join(b.Failures, ", "), b.Attempt, short(b.Took)))
	case event.Checkpoint:
		if len(b.Changed) > 0 { // a file that was only opened for writing is no change
			p.line(dim, "· kept aside", changed(b))
		}
	case event.Note:
		p.note(b)
	case event.StepEnd:
		p.stepEnd(b)
	}
}

func (p *printer) failure(f event.Failure) {
	what := strings.ReplaceAll(f.What, "_", " ")
	if f.Subject != "" {
		what += ": " + f.Subject
	}
	p.line(red, "✗ broke", fmt.Sprintf("%s (attempt %d)", what, f.Attempt))
	p.last = &f
}

func (p *printer) remedy(r event.Remedy) {
	if p.titles == nil {
		p.titles, p.locks, p.lanes = map[string]string{}, map[string]bool{}, map[string]bool{}
	}
	p.titles[r.ID], p.locks[r.ID], p.lanes[r.ID] = r.Title, r.Origin == "lock", r.Lane > 0
	p.rewrite(r.Title)
}

func (p *printer) remedyEnd(r event.RemedyEnd) {
	what := p.titles[r.ID]
	switch {
	case !r.OK && p.lanes[r.ID]: // one of several remedies that were tried at once
		p.line(dim, "· left aside", what+": "+r.Error)
	case !r.OK:
		p.line(red, "✗ could not", what+": "+r.Error)
	case r.Reused && p.locks[r.ID]: // the usual case of a program with a lock
		p.clear()
	case p.locks[r.ID]:
		p.line(dim, "· prepared", what+" ("+short(r.Took)+")")
	case r.Reused:
		p.line(gold, "⚒ remedy", what+" (already here, no download)")
	default:
		p.line(gold, "⚒ remedy", what+" ("+short(r.Took)+")")
	}
}

func (p *printer) note(n event.Note) {
	text := n.Text
	if n.Command != "" {
		text += "; to allow or do it: " + n.Command
	}
	p.line(dim, "· note", text)
}

// stepEnd explains a failure that stayed.
func (p *printer) stepEnd(b event.StepEnd) {
	if b.OK || p.last == nil {
		return
	}
	text := oneLine(p.last.Explanation)
	if p.last.Command != "" {
		text += " You could type: " + p.last.Command
	}
	if strings.TrimSpace(text) != "" {
		p.line(dim, "· why", text)
	}
}

func changed(c event.Checkpoint) string {
	names := strings.Join(c.Changed[:min(len(c.Changed), 3)], ", ")
	if c.Total > 3 {
		names += fmt.Sprintf(" and %d more", c.Total-3)
	}
	return fmt.Sprintf("%s (your project is unchanged; see: kintsugi diff, kintsugi apply)", names)
}

// line prints one lasting line.
func (p *printer) line(colour, head, text string) {
	p.clear()
	text = oneLine(text)
	if p.colour {
		fmt.Fprintf(p.out, "%skintsugi %s%s %s\n", colour, head, reset, text)
		return
	}
	fmt.Fprintf(p.out, "kintsugi %s: %s\n", head, text)
}

// rewrite shows progress, on a terminal only.
func (p *printer) rewrite(text string) {
	if !p.terminal {
		return
	}
	text = oneLine(text)
	if r := []rune(text); len(r) > 60 {
		text = string(r[:59]) + "…"
	}
	p.clear()
	fmt.Fprintf(p.out, "kintsugi … %s", text)
	p.progress = true
}

func (p *printer) clear() {
	if p.progress {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.progress = false
	}
}

// short tells a duration as people do.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// jsonPrinter prints every event as the log has it.
func jsonPrinter(w io.Writer) func(event.Event) {
	return func(e event.Event) {
		if line, err := event.Encode(e); err == nil {
			_, _ = w.Write(line)
		}
	}
}
