package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/ollama/ollama/api"

	"kintsugi/sandbox/inert"
)

// explain turns an error of the client into one line with a way out. A
// cancelled context stays what it is.
func (o *Ollama) explain(ctx context.Context, model string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var status api.StatusError
	var auth api.AuthorizationError
	switch {
	case errors.As(err, &status):
		return o.explainStatus(model, status)
	case errors.As(err, &auth):
		return &Error{Kind: Refused, Text: fmt.Sprintf("%s asks for a sign-in", o.host), Command: "ollama signin", Err: err}
	case unreachable(err):
		return o.absent(err)
	case broken(err):
		return o.died(model, err)
	case garbled(err):
		return o.stranger(err)
	}
	return o.explainText(model, err.Error(), err)
}

func (o *Ollama) absent(err error) error {
	return &Error{Kind: Absent, Text: "no Ollama server answers at " + o.host, Command: "ollama serve", Err: err}
}

func (o *Ollama) died(model string, err error) error {
	return &Error{Kind: Died, Text: fmt.Sprintf("the stream of %s ended without an end: the server or its runner died", model), Command: "ollama ps", Err: err}
}

func (o *Ollama) explainStatus(model string, status api.StatusError) error {
	text := first(status.ErrorMessage, http.StatusText(status.StatusCode))
	switch {
	case status.StatusCode == http.StatusNotFound && !strings.Contains(text, "model"):
		return o.stranger(status)
	case status.StatusCode == http.StatusNotFound:
		return &Error{Kind: NoModel, Text: "the server does not have " + model, Command: "ollama pull " + model, Err: status}
	case status.StatusCode == http.StatusServiceUnavailable:
		return &Error{Kind: Busy, Text: "the server is busy: too many requests wait", Command: "ollama ps", Err: status}
	}
	err := o.explainText(model, text, status)
	var e *Error
	if errors.As(err, &e) && e.Kind == Failed && status.StatusCode < 500 {
		e.Kind = Refused
	}
	return err
}

// causes are told by what the server writes, since one status covers many.
var causes = [...]struct {
	kind    Kind
	parts   []string
	text    string
	command string
}{
	{Overflow, []string{"input length exceeds", "exceeds the context", "exceed the context", "exceeds the available context", "context size", "context shift", "no user query found"}, "the conversation does not fit the window of %s", ""},
	{NoMemory, []string{"more system memory", "out of memory", "unable to allocate", "failed to allocate"}, "%s does not fit the free memory of this machine; choose a smaller model", "ollama ps"},
	{NoModel, []string{"try pulling it first"}, "the server does not have %s", "ollama pull %s"},
	{Busy, []string{"server busy", "maximum pending requests"}, "the server is busy: too many requests wait", "ollama ps"},
	{Died, []string{"runner process has terminated", "runner process no longer running", "unexpected eof", "connection reset", "an error was encountered while running the model"}, "the runner of %s died", "ollama ps"},
}

func (o *Ollama) explainText(model, text string, err error) error {
	low := strings.ToLower(text)
	for _, c := range causes {
		for _, part := range c.parts {
			if strings.Contains(low, part) {
				return &Error{Kind: c.kind, Text: fill(c.text, model), Command: fill(c.command, model), Err: err}
			}
		}
	}
	switch {
	case strings.HasPrefix(text, "<"):
		return o.stranger(err)
	case text == "" || strings.ContainsAny(text[:1], `{["`):
		// The client gives back a line that it cannot read.
		return o.died(model, err)
	}
	return &Error{Kind: Failed, Text: "the server says: " + shorten(text), Err: err}
}

// stranger: something answers, in another language.
func (o *Ollama) stranger(err error) error {
	return &Error{Kind: Refused, Text: "what answers at " + o.host + " is not an Ollama server; set OLLAMA_HOST", Err: err}
}

func fill(format, model string) string { return strings.ReplaceAll(format, "%s", model) }

// shorten makes one bounded line of a server's message.
func shorten(text string) string {
	text = inert.String(strings.Join(strings.Fields(text), " "))
	if r := []rune(text); len(r) > 200 {
		return string(r[:199]) + "…"
	}
	return text
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// explainPull names what is particular to downloads.
func (o *Ollama) explainPull(ctx context.Context, model string, err error) error {
	if ctx.Err() == nil && strings.Contains(err.Error(), "file does not exist") {
		return &Error{Kind: NoModel, Text: "there is no model called " + model, Command: "ollama list", Err: err}
	}
	return o.explain(ctx, model, err)
}

// unreachable: no connection was made.
func unreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &op) && op.Op == "dial"
}

// broken: the connection ended in the middle.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// garbled: the answer is no JSON, or JSON of another shape.
func garbled(err error) bool {
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &shape)
}
