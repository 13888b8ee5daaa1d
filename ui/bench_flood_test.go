package ui

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/feed"
	"kintsugi/ui/internal/demo"
)

// eye watches what is written to a terminal, and tells when it first shows
// what it was asked to look for.
type eye struct {
	mu   sync.Mutex
	want []byte
	seen chan time.Time
}

func (e *eye) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.want) > 0 && bytes.Contains(p, e.want) {
		e.want = nil
		e.seen <- time.Now()
	}
	return len(p), nil
}

func (e *eye) lookFor(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.want = []byte(text)
}

// BenchmarkKeyInFlood is how long a key takes to its frame while 2,000,000
// lines of output pour in: from the key's bytes to the bytes of the frame. The
// screen is drawn 60 times a second at most.
func BenchmarkKeyInFlood(b *testing.B) {
	var took []time.Duration
	var all time.Duration
	for b.Loop() {
		keys, flood := keysInFlood(b)
		took, all = append(took, keys...), all+flood
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e6, "ms/key-p50")
	b.ReportMetric(float64(took[len(took)*95/100])/1e6, "ms/key-p95")
	b.ReportMetric(all.Seconds()/float64(b.N), "s/2M-lines")
	b.ReportMetric(float64(len(took))/float64(b.N), "keys")
}

func keysInFlood(b *testing.B) (took []time.Duration, all time.Duration) {
	b.Helper()
	in, keys := io.Pipe()
	watch := &eye{seen: make(chan time.Time, 1)}
	f := feed.New(time.Now)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{Events: f.Out(), Theme: themes.Dark, Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
			Input: in, Output: watch, Width: 200, Height: 50, Profile: colorprofile.TrueColor})
	}()
	watch.lookFor("escribe a task")
	<-watch.seen
	for _, e := range demo.Events(demo.Running()[:11]) {
		f.Push(e)
	}
	flooded := make(chan time.Duration, 1)
	go func() {
		start, chunk := time.Now(), strings.Repeat("a line of output that is not very long\n", 200)
		for range 10_000 {
			f.Push(event.Event{At: demo.Start(), Body: event.Output{Step: 1, Attempt: 1, Text: chunk}})
		}
		flooded <- time.Since(start)
	}()
	for letter := 'Ā'; all == 0; letter++ {
		watch.lookFor(string(letter))
		start := time.Now()
		_, _ = io.WriteString(keys, string(letter))
		took = append(took, (<-watch.seen).Sub(start))
		select {
		case all = <-flooded:
		case <-time.After(time.Duration(len(took)%7) * time.Millisecond): // not in step with the frames
		}
	}
	cancel()
	<-done
	f.Stop()
	return took, all
}
