package plain

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/agent/event"
)

// Printer writes events as labelled lines.
type Printer struct {
	w    io.Writer
	err  error
	open map[string]string // text of each stream that has no line end yet
	last string            // the stream that was written last
	asks []event.Ask
}

// New makes a printer.
func New(w io.Writer) *Printer {
	return &Printer{w: w, open: map[string]string{}}
}

// unmarked takes the marks out of Markdown that a screen reader would spell.
var unmarked = strings.NewReplacer("**", "", "`", "")

// line writes one labelled line for each line of text.
func (p *Printer) line(label, text string) {
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if p.err == nil {
			_, p.err = fmt.Fprintf(p.w, "%s: %s\n", label, clean(l))
		}
	}
}

// clean takes colours and control characters out of a line, and what a
// carriage return has overwritten.
func clean(s string) string {
	s = strings.TrimRight(s, "\r ")
	if i := strings.LastIndexByte(s, '\r'); i >= 0 {
		s = s[i+1:]
	}
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, ansi.Strip(s))
}

// stream gathers text until its line ends, so that no line is ever repainted.
// Another stream's text ends it too.
func (p *Printer) stream(label, text string) {
	if p.last != label {
		p.Flush()
	}
	p.last = label
	text = p.open[label] + text
	i := strings.LastIndexByte(text, '\n')
	if i >= 0 {
		p.line(label, text[:i])
	}
	p.open[label] = text[i+1:]
}

// Flush writes what has no line end yet.
func (p *Printer) Flush() {
	for label, text := range p.open {
		if strings.TrimSpace(text) != "" {
			p.line(label, text)
		}
	}
	clear(p.open)
	p.last = ""
}

// Write writes events.
func (p *Printer) Write(events ...event.Event) {
	for _, e := range events {
		p.write(e.Body)
	}
}

func (p *Printer) write(body event.Body) {
	switch b := body.(type) {
	case event.Reasoning:
		label := "agent"
		if b.Thinking {
			label = "thinking"
		}
		p.stream(label, unmarked.Replace(b.Text))
		return
	case event.Output:
		p.output(b)
		return
	case event.Usage, event.Progress:
		return
	}
	p.Flush()
	if !p.story(body) {
		p.mending(body)
	}
}

func (p *Printer) output(b event.Output) {
	if b.Remedy != "" {
		return // the installer's own words; its end says what came of it
	}
	label := "output"
	if b.Stderr {
		label = "error output"
	}
	p.stream(label, b.Text)
	if b.Dropped > 0 {
		p.Flush()
		p.line("note", fmt.Sprintf("%d bytes of output are not shown", b.Dropped))
	}
}

// story writes the events of sessions, steps and calls.
func (p *Printer) story(body event.Body) bool {
	switch b := body.(type) {
	case event.Session:
		p.line("session", strings.TrimSpace(b.ID+" "+b.Title))
		if b.Lesson != "" {
			p.line("lesson", b.Lesson+", its reasoning is scripted")
		}
	case event.Task:
		p.line("task", b.Text)
	case event.Call:
		p.call(b)
	case event.Note:
		p.note(b)
	case event.Model:
		p.model(b)
	case event.StepEnd:
		p.line("step", fmt.Sprintf("%d %s", b.Step, worked(b.OK)))
	case event.Checkpoint:
		p.line("checkpoint", fmt.Sprintf("%s, %s changed", b.ID, count(b.Total, "file")))
	case event.Lane:
		p.line("lane", strings.TrimSpace(fmt.Sprintf("%d %s %s. %s", b.Lane, b.Name, b.State, b.Text)))
	case event.Artefact:
		p.line("result", fmt.Sprintf("%s, %s, %s", b.Path, b.Media, count(int(b.Size), "byte")))
	case event.End:
		p.line("session", "ended")
	default:
		return false
	}
	return true
}

func (p *Printer) call(b event.Call) {
	text := b.Tool
	if len(b.Argv) > 0 {
		text = strings.Join(b.Argv, " ")
	}
	p.line("call", text)
	if b.Text != "" && b.Text != text {
		p.line("code", b.Text)
	}
}

func (p *Printer) note(b event.Note) {
	label := "note"
	if b.Level == "warn" || b.Level == "error" {
		label = map[string]string{"warn": "warning", "error": "error"}[b.Level]
	}
	p.line(label, b.Text)
	if b.Command != "" {
		p.line("command", b.Command)
	}
}

func (p *Printer) model(b event.Model) {
	switch b.State {
	case "absent", "error", "loading":
		p.line("model", strings.TrimSpace(b.Name+" "+b.State+" "+b.Detail))
	}
}

// mending writes the events of attempts and what mends them.
func (p *Printer) mending(body event.Body) {
	switch b := body.(type) {
	case event.Attempt:
		p.line("attempt", fmt.Sprintf("%d starts in a box of its own", b.Attempt))
	case event.AttemptEnd:
		p.line("attempt", ending(b))
	case event.Failure:
		p.failure(b)
	case event.Remedy:
		p.line("mending", b.Title)
	case event.RemedyEnd:
		p.remedyEnd(b)
	case event.Seam:
		p.line("seam", fmt.Sprintf("mended in %s. %s", seconds(b.Took), b.Text))
	case event.Ask:
		p.ask(b)
	case event.Answer:
		p.answered(b)
	}
}

func ending(b event.AttemptEnd) string {
	how := "worked"
	switch {
	case b.Limit != "":
		how = "was stopped by the " + b.Limit + " limit"
	case b.Signal != "":
		how = "failed with " + b.Signal
	case b.Exit != 0:
		how = fmt.Sprintf("failed with exit code %d", b.Exit)
	}
	return fmt.Sprintf("%d %s after %s", b.Attempt, how, seconds(b.Took))
}

func (p *Printer) failure(b event.Failure) {
	p.line("failure", strings.ReplaceAll(b.What, "_", " ")+" "+b.Subject)
	if b.Explanation != "" {
		p.line("explanation", b.Explanation)
	}
	if b.Command != "" {
		p.line("by hand", b.Command)
	}
}

func (p *Printer) remedyEnd(b event.RemedyEnd) {
	switch {
	case !b.OK:
		p.line("mending", "did not work. "+b.Error)
	case b.Reused:
		p.line("mending", "taken from an earlier one. "+strings.Join(b.Versions, ", "))
	default:
		p.line("mending", fmt.Sprintf("done after %s. %s", seconds(b.Took), strings.Join(b.Versions, ", ")))
	}
}

func (p *Printer) ask(b event.Ask) {
	p.asks = append(p.asks, b)
	p.line("question", b.Question)
	for _, why := range b.Why {
		p.line("because", why)
	}
	for i, c := range b.Choices {
		p.line("choice", fmt.Sprintf("%d. %s", i+1, c))
	}
	p.line("question", "type the number of your choice")
}

func (p *Printer) answered(b event.Answer) {
	for i, a := range p.asks {
		if a.ID == b.ID {
			p.asks = append(p.asks[:i:i], p.asks[i+1:]...)
			break
		}
	}
	p.line("answer", b.Choice)
}

func worked(ok bool) string {
	if ok {
		return "worked"
	}
	return "did not work"
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d milliseconds", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f seconds", d.Seconds())
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
