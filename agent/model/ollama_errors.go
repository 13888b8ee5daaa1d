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

// server is what errors say of a server: its kind, its address, and the
// commands that start it, show what it does and give it a model.
type server struct {
	kind, host        string
	start, list, pull string
	setting           string // the variable that holds its address
}

func ollamaServer(host string) server {
	return server{
		kind: "Ollama", host: host, start: "ollama serve", list: "ollama ps", pull: "ollama pull %s", setting: "OLLAMA_HOST",
	}
}

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
		return o.explainStatus(model, status.StatusCode, status.ErrorMessage, status)
	case errors.As(err, &auth):
		return &Error{Kind: Refused, Text: fmt.Sprintf("%s asks for a sign-in", o.host), Command: "ollama signin", Err: err}
	}
	return o.explainWire(model, err)
}

// explainWire names what happened to the connection, or what came over it.
func (s server) explainWire(model string, err error) error {
	switch {
	case unreachable(err):
		return s.absent(err)
	case broken(err):
		return s.died(model, err)
	case garbled(err):
		return s.stranger(err)
	}
	return s.explainText(model, err.Error(), err)
}

func (s server) absent(err error) error {
	return &Error{Kind: Absent, Text: fmt.Sprintf("no %s server answers at %s", s.kind, s.host), Command: s.start, Err: err}
}

func (s server) died(model string, err error) error {
	return &Error{Kind: Died, Text: fmt.Sprintf("the stream of %s ended without an end: the server or its runner died", model), Command: s.list, Err: err}
}

func (s server) explainStatus(model string, code int, text string, cause error) error {
	text = first(text, http.StatusText(code))
	switch {
	case code == http.StatusNotFound && !strings.Contains(text, "model"):
		return s.stranger(cause)
	case code == http.StatusNotFound:
		return &Error{Kind: NoModel, Text: "the server does not have " + model, Command: fill(s.pull, model), Err: cause}
	case code == http.StatusServiceUnavailable, code == http.StatusTooManyRequests:
		return &Error{Kind: Busy, Text: "the server is busy: too many requests wait", Command: s.list, Err: cause}
	}
	err := s.explainText(model, text, cause)
	var e *Error
	if errors.As(err, &e) && e.Kind == Failed && code < 500 {
		e.Kind = Refused
	}
	return err
}

// causes are told by what the server writes, since one status covers many.
var causes = [...]struct {
	kind  Kind
	parts []string
	text  string
}{
	{Overflow, []string{"input length exceeds", "exceeds the context", "exceed the context", "exceeds the available context", "context size", "context shift", "no user query found", "maximum context length", "context_length_exceeded"}, "the conversation does not fit the window of %s"},
	{NoMemory, []string{"more system memory", "out of memory", "unable to allocate", "failed to allocate"}, "%s does not fit the free memory of this machine; choose a smaller model"},
	{NoModel, []string{"try pulling it first"}, "the server does not have %s"},
	{Busy, []string{"server busy", "maximum pending requests", "loading model"}, "the server is busy: too many requests wait"},
	{Died, []string{"runner process has terminated", "runner process no longer running", "unexpected eof", "connection reset", "an error was encountered while running the model"}, "the runner of %s died"},
}

// command is the way out of a cause, where there is one.
func (s server) command(kind Kind, model string) string {
	switch kind {
	case Overflow:
		return ""
	case NoModel:
		return fill(s.pull, model)
	}
	return s.list
}

func (s server) explainText(model, text string, err error) error {
	low := strings.ToLower(text)
	for _, c := range causes {
		for _, part := range c.parts {
			if strings.Contains(low, part) {
				return &Error{Kind: c.kind, Text: fill(c.text, model), Command: s.command(c.kind, model), Err: err}
			}
		}
	}
	switch {
	case strings.HasPrefix(text, "<"):
		return s.stranger(err)
	case text == "" || strings.ContainsAny(text[:1], `{["`):
		// The client gives back a line that it cannot read.
		return s.died(model, err)
	}
	return &Error{Kind: Failed, Text: "the server says: " + shorten(text), Err: err}
}

// stranger: something answers, in another language.
func (s server) stranger(err error) error {
	return &Error{Kind: Refused, Text: fmt.Sprintf("what answers at %s is not an %s server; set %s", s.host, s.kind, s.setting), Err: err}
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
