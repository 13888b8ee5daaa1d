package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"kintsugi/agent/event"
	"kintsugi/sandbox/inert"
)

// askFrom puts a question to the user of a terminal. line gives the next line
// that is typed.
func askFrom(ctx context.Context, q event.Ask, line func(context.Context) (string, bool)) (string, bool) {
	for _, why := range q.Why[:min(len(q.Why), 2)] {
		fmt.Fprintf(os.Stderr, "kintsugi · %s\n", oneLine(inert.String(why)))
	}
	fmt.Fprintf(os.Stderr, "kintsugi ? %s [y/N] ", oneLine(inert.String(q.Question)))
	text, ok := line(ctx)
	if !ok {
		return "", false
	}
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(text)), "y") {
		return "yes", true
	}
	return "no", true
}

// console is standard input that the program and Kintsugi's questions share:
// while a question is open, the next line is its answer and the program never
// sees it.
type console struct {
	src  io.Reader
	turn sync.Mutex // who reads src

	mu     sync.Mutex
	answer chan string // the open question
}

// Read implements io.Reader for the program.
func (c *console) Read(p []byte) (int, error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	for {
		n, err := c.src.Read(p)
		if err == nil && c.take(p[:n]) {
			continue
		}
		return n, err
	}
}

// take gives what was read to the open question, if there is one.
func (c *console) take(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer == nil || len(p) == 0 {
		return false
	}
	line, _, _ := bytes.Cut(p, []byte("\n"))
	c.answer <- string(line)
	c.answer = nil
	return true
}

// line waits for the answer to a question. When the program waits for input
// already, its read gets the line and passes it on.
func (c *console) line(ctx context.Context) (string, bool) {
	answer := make(chan string, 1)
	c.mu.Lock()
	c.answer = answer
	c.mu.Unlock()
	defer c.forget(answer)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.turn.Lock()
		defer c.turn.Unlock()
		if c.open(answer) {
			text, err := bufio.NewReaderSize(c.src, 4096).ReadSlice('\n')
			if err == nil {
				c.take(text)
			}
		}
	}()
	select {
	case text := <-answer:
		return text, true
	case <-ended:
	case <-ctx.Done():
	}
	select {
	case text := <-answer:
		return text, true
	default:
		return "", false
	}
}

// forget closes a question that nobody answered.
func (c *console) forget(answer chan string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer == answer {
		c.answer = nil
	}
}

// open says whether the question waits still.
func (c *console) open(answer chan string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answer == answer
}
