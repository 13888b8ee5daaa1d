package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/demo"
)

// long is a session with many steps, each broken and mended.
func long(steps int) []demo.Beat {
	beats := []demo.Beat{{Body: event.Session{ID: "long", Runtime: "namespace"}}}
	for n := 1; n <= steps; n++ {
		beats = append(beats,
			demo.Beat{After: time.Millisecond, Body: event.StepStart{Step: n}},
			demo.Beat{Body: event.Reasoning{Step: n, Text: "I will **try** `this`:\n\n- one\n- two\n\n"}},
			demo.Beat{Body: event.Call{Step: n, Tool: "shell", Origin: "model", Argv: []string{"make", fmt.Sprint(n)}}},
			demo.Beat{Body: event.Attempt{Step: n, Attempt: 1, Argv: []string{"make", fmt.Sprint(n)}}},
			demo.Beat{Body: event.Output{Step: n, Attempt: 1, Stderr: true, Text: strings.Repeat("\x1b[31mno\x1b[0m such thing\n", 12)}},
			demo.Beat{Body: event.AttemptEnd{Step: n, Attempt: 1, Exit: 2, Took: time.Second}},
			demo.Beat{Body: event.Failure{Step: n, Attempt: 1, What: "missing_command", Subject: "gcc", Explanation: "No gcc."}},
			demo.Beat{Body: event.Remedy{Step: n, Attempt: 1, ID: fmt.Sprint("r", n), Title: "install gcc with apt"}},
			demo.Beat{Body: event.RemedyEnd{Step: n, ID: fmt.Sprint("r", n), OK: true, Took: time.Second}},
			demo.Beat{Body: event.Attempt{Step: n, Attempt: 2, Argv: []string{"make", fmt.Sprint(n)}}},
			demo.Beat{Body: event.Output{Step: n, Attempt: 2, Text: strings.Repeat("built something\n", 10)}},
			demo.Beat{Body: event.AttemptEnd{Step: n, Attempt: 2, Took: time.Second}},
			demo.Beat{Body: event.Seam{Step: n, Attempt: 2, Text: "missing gcc: installed, worked on attempt 2", Took: time.Second}},
			demo.Beat{Body: event.StepEnd{Step: n, OK: true}})
	}
	return beats
}

func benchRig(b *testing.B, w, h int, beats []demo.Beat) *rig {
	b.Helper()
	return newRig(b, w, h, beats)
}

// BenchmarkView is one frame at 200x50 when nothing has changed but the clock.
func BenchmarkView(b *testing.B) {
	r := benchRig(b, 200, 50, long(200))
	b.ReportAllocs()
	for b.Loop() {
		_ = r.View()
	}
}

// BenchmarkViewRunning is a frame while a step runs and is drawn anew.
func BenchmarkViewRunning(b *testing.B) {
	r := benchRig(b, 200, 50, append(long(200), demo.Running()[3:]...))
	b.ReportAllocs()
	for b.Loop() {
		_ = r.View()
	}
}

// BenchmarkFlood is 2,000,000 lines of output in batches of one frame each.
func BenchmarkFlood(b *testing.B) {
	chunk := strings.Repeat("a line of output that is not very long\n", 200)
	for b.Loop() {
		r := benchRig(b, 200, 50, demo.Running()[:11])
		for range 100 {
			batch := make([]event.Event, 100)
			for i := range batch {
				batch[i] = event.Event{At: r.now, Body: event.Output{Step: 1, Attempt: 1, Text: chunk}}
			}
			r.onEvents(batch)
			_ = r.View()
		}
	}
}

// BenchmarkOpen is opening a session of 100,000 events.
func BenchmarkOpen(b *testing.B) {
	beats := long(100_000 / 14)
	events := demo.Events(beats)
	b.ResetTimer()
	for b.Loop() {
		r := benchRig(b, 200, 50, nil)
		r.apply(events)
		_ = r.View()
	}
}

// BenchmarkViewPicture is a frame with a picture in it, as half blocks.
func BenchmarkViewPicture(b *testing.B) {
	r := benchRig(b, 200, 50, demo.Results())
	b.ReportAllocs()
	for b.Loop() {
		_ = r.View()
	}
}

// BenchmarkUpdatePicture is what a message costs while a picture is in view.
func BenchmarkUpdatePicture(b *testing.B) {
	r := benchRig(b, 200, 50, demo.Results())
	b.ReportAllocs()
	for b.Loop() {
		r.Update(tickMsg{})
	}
}
