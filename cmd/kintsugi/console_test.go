package main

import (
	"context"
	"io"
	"testing"
)

// The line that answers a question does not reach the program, whether the
// program waits for input at that moment or not.
func TestConsoleSharesInput(t *testing.T) {
	t.Parallel()
	for name, waiting := range map[string]bool{"program waits": true, "program does not": false} {
		in, out := io.Pipe()
		c := &console{src: in}
		read := make(chan string, 1)
		program := func() {
			p := make([]byte, 100)
			n, _ := c.Read(p)
			read <- string(p[:n])
		}
		if waiting {
			go program()
			for c.turn.TryLock() { // until the program has its turn
				c.turn.Unlock()
			}
		}
		answer := make(chan string, 1)
		go func() {
			text, _ := c.line(context.Background())
			answer <- text
		}()
		for c.open(nil) { // until the question is open
		}
		typed(t, out, "yes\n")
		if got := <-answer; got != "yes" {
			t.Errorf("%s: the answer is %q", name, got)
		}
		if !waiting {
			go program()
		}
		typed(t, out, "data\n")
		if got := <-read; got != "data\n" {
			t.Errorf("%s: the program got %q", name, got)
		}
		_ = out.Close()
	}
}

func typed(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Error(err)
	}
}

func TestConsoleWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	c := &console{src: in}
	_ = out.Close()
	if text, ok := c.line(context.Background()); ok {
		t.Errorf("an answer %q from closed input", text)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in, _ = io.Pipe()
	c = &console{src: in}
	if _, ok := c.line(ctx); ok {
		t.Error("an answer after the end")
	}
}
