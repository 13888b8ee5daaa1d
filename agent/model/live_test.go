package model

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// live gives a real server and its smallest model.
func live(t *testing.T) (*Ollama, string) {
	t.Helper()
	host := os.Getenv("OLLAMA_HOST_TEST")
	if host == "" {
		t.Skip("OLLAMA_HOST_TEST names no real Ollama server")
	}
	o := NewOllama(host, nil)
	list, err := o.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	best := Info{}
	for _, m := range list {
		if best.Name == "" || m.Size < best.Size {
			best = m
		}
	}
	if best.Name == "" {
		t.Skip("the server has no model; pull a small one")
	}
	return o, best.Name
}

// long is enough for a small model on a slow machine to load and to answer.
const long = 5 * time.Minute

func TestLiveStream(t *testing.T) {
	o, name := live(t)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	pieces := 0
	r, err := o.Chat(ctx, Request{Model: name, Window: 2048, MaxTokens: 32, Messages: []Message{{Role: User, Text: "Say hello."}}},
		func(c Chunk) {
			if c.Kind == Text {
				pieces++
			}
		})
	if err != nil || pieces == 0 || r.Usage.Output == 0 || r.Usage.Prompt == 0 {
		t.Errorf("%d pieces, %+v, %v", pieces, r, err)
	}
}

// With the grammar even the smallest model's every turn is a valid action.
func TestLiveGrammar(t *testing.T) {
	o, name := live(t)
	caps, err := o.Capabilities(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	caps.Tools = false
	o.keep(name, caps)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	for i, task := range []string{"List the files.", "Compute 2+2 in Python.", "You are done: finish."} {
		r, err := o.Chat(ctx, Request{Model: name, Window: 2048, MaxTokens: 512, Tools: bench(), Messages: []Message{{Role: User, Text: task}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Stop == Stopped && (len(r.Calls) != 1 || r.Cut) {
			t.Errorf("turn %d is no action: %+v", i, r)
		}
	}
}

func TestLiveOverflow(t *testing.T) {
	o, name := live(t)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	_, err := o.Chat(ctx, Request{Model: name, Window: 512, MaxTokens: 16, Messages: []Message{{Role: User, Text: strings.Repeat("word and more ", 2000)}}}, nil)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Overflow {
		t.Errorf("too many words for the window: %v", err)
	}
}

func TestLiveCancel(t *testing.T) {
	o, name := live(t)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	_, err := o.Chat(ctx, Request{Model: name, Window: 2048, MaxTokens: 2000, Messages: []Message{{Role: User, Text: "Count to a thousand."}}},
		func(c Chunk) {
			if c.Kind == Text {
				cancel()
			}
		})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLiveUnknownModel(t *testing.T) {
	o, _ := live(t)
	_, err := o.Chat(t.Context(), Request{Model: "no-such-model-here", Messages: []Message{{Role: User, Text: "x"}}}, nil)
	wantKind(t, err, NoModel, "ollama pull no-such-model-here")
}
