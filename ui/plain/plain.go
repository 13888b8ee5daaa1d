// Package plain is the workbench as plain lines: for screen readers, dumb
// terminals and logs.
//
// Every line says what it is, nothing is ever repainted, no colour and no
// timer is used, and a question is a numbered list that is answered with a
// number. The package shows the same events as the screen does and never runs
// anything.
package plain

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kintsugi/agent/event"
	"kintsugi/ui"
)

// Options are what Run needs.
type Options struct {
	Events  <-chan []event.Event
	History []event.Event
	Intents ui.Intents
	Input   io.Reader // nil: nothing can be asked; the end of Events ends Run
	Output  io.Writer
	// Split cuts the words of a /run line. Nil splits at blanks.
	Split func(string) ([]string, error)
}

// help is printed for /help.
const help = "Commands: a task in your own words. !COMMAND runs a command line. " +
	"/run FILE [ARGS] runs a program. /stop stops what runs. /quit leaves."

// Run prints what happens and hands over what is typed, until the input or
// the events end, or ctx does.
func Run(ctx context.Context, o Options) error {
	p := New(o.Output)
	p.Write(o.History...)
	lines := make(chan string)
	var input <-chan string
	if o.Input != nil {
		input = lines
		go read(ctx, o.Input, lines)
		p.line("help", help)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case batch, ok := <-o.Events:
			if !ok {
				p.Flush()
				return p.err
			}
			p.Write(batch...)
		case text, ok := <-input:
			if !ok || p.said(text, o) {
				p.Flush()
				return p.err
			}
		}
		if p.err != nil {
			return p.err
		}
	}
}

// read sends the lines of the input, and closes lines at its end.
func read(ctx context.Context, r io.Reader, lines chan<- string) {
	defer close(lines)
	for s := bufio.NewScanner(r); s.Scan(); {
		select {
		case lines <- s.Text():
		case <-ctx.Done():
			return
		}
	}
}

// said does what a line asks for. It says whether to leave.
func (p *Printer) said(text string, o Options) (leave bool) {
	text = strings.TrimSpace(text)
	name, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case text == "":
	case len(p.asks) > 0 && p.answer(text, o):
	case name == "/quit":
		o.Intents.Quit()
		return true
	case name == "/stop":
		o.Intents.Cancel()
	case name == "/help":
		p.line("help", help)
	case name == "/run":
		p.runFile(rest, o)
	case text[0] == '/':
		p.line("error", "no command is called "+name+". "+help)
	case text[0] == '!':
		o.Intents.Shell(strings.TrimSpace(text[1:]))
	default:
		o.Intents.Submit(text)
	}
	return false
}

func (p *Printer) runFile(rest string, o Options) {
	words := strings.Fields(rest)
	if o.Split != nil {
		split, err := o.Split(rest)
		if err != nil {
			p.line("error", err.Error())
			return
		}
		words = split
	}
	if len(words) == 0 {
		p.line("error", "write /run and the name of a file")
		return
	}
	o.Intents.RunFile(words[0], words[1:])
}

// answer takes a number as the answer to the oldest question.
func (p *Printer) answer(text string, o Options) bool {
	ask := p.asks[0]
	n, err := strconv.Atoi(text)
	if err != nil {
		return false
	}
	if n < 1 || n > len(ask.Choices) {
		p.line("question", fmt.Sprintf("type a number from 1 to %d", len(ask.Choices)))
		return true
	}
	o.Intents.Answer(ask.ID, ask.Choices[n-1])
	return true
}
