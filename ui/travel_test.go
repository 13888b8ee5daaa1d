package ui

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/demo"
)

func TestStepBackAndForward(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	r.shows("attempt 2 · worked", "20.3 °C")
	seen := map[string]bool{}
	for range 40 {
		r.press("alt+left")
		r.toast = ""
		seen[r.screen()] = true
	}
	if r.here() != 0 || len(seen) < 12 {
		t.Errorf("%d different moments back to event %d", len(seen), r.here())
	}
	r.hides("import pandas as pd", "attempt 1 ·")
	r.shows("↶ past 0/")
	for range 40 {
		r.press("alt+right")
		r.toast = ""
		if !seen[r.screen()] && r.past != nil {
			t.Fatalf("the way forward shows another moment:\n%s", r.screen())
		}
	}
	if r.past != nil {
		t.Error("the end of the past is the present")
	}
	r.shows("○ ready", "20.3 °C")
}

// A moment must look as it did when it was the present.
func TestThePastLooksAsThePresentDid(t *testing.T) {
	t.Parallel()
	beats := demo.Plot()
	r := newRig(t, 120, 40, beats)
	for n := 1; n < len(beats); n++ {
		r.travel(n)
		then := newRig(t, 120, 40, beats[:n])
		for i, name := range []string{"reasoning", "sandbox"} {
			got := strings.Join(r.panes()[i].Lines(false), "\n")
			want := strings.Join(then.panes()[i].Lines(false), "\n")
			if got != want {
				t.Fatalf("after %d events the %s is\n%s\nand was\n%s", n, name, got, want)
			}
		}
	}
}

func TestTravelToTheSelectedEntry(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	r.press("alt+3", "home", "down", "t")
	r.shows("past", "attempt 1 · failed")
	r.hides("attempt 2 ·", "20.3 °C")
	r.shows("attempt 2 worked") // what came later stays in the timeline
	r.press("esc")
	r.shows("20.3 °C")
	if r.past != nil || r.focus != inTimeline {
		t.Error("Esc first returns to the present")
	}
}

func TestEventsArriveWhileThePastIsShown(t *testing.T) {
	t.Parallel()
	beats := demo.Plot()
	r := newRig(t, 120, 40, beats[:20])
	r.press("alt+left", "alt+left")
	before := r.screen()
	at := r.here()
	r.onEvents(demo.Events(beats)[20:])
	after := strings.Replace(r.screen(), "/"+"34", "/20", 1)
	if r.here() != at {
		t.Fatal("new events moved the moment")
	}
	if strings.Split(before, "\n")[3] != strings.Split(after, "\n")[3] {
		t.Error("new events changed the past")
	}
	r.press("alt+end")
	r.shows("20.3 °C")
}

func TestReplayRunsAtItsOwnPace(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, nil)
	r.o.Replay = true
	r.apply(demo.Events(demo.Plot()))
	r.startReplay()
	r.shows("replay 0/")
	r.hides("attempt 1")
	tick := func(d time.Duration) {
		for end := r.now.Add(d); r.now.Before(end); {
			r.now = r.now.Add(frameTime)
			r.model.now = r.now
			r.onTick()
		}
	}
	tick(1000 * time.Millisecond)
	r.shows("I will read")
	r.hides("attempt 1 ·")
	r.press("alt+3", "}", "}", "}", "}", "}")
	r.shows("16x")
	tick(2 * time.Second)
	r.shows("20.3 °C", "replay 32/32")
	if r.playing() {
		t.Error("it plays on after the end")
	}
	r.press("[", "[", "[", "[")
	r.hides("20.3 °C")
	r.press("p")
	if !r.playing() {
		t.Error("p plays on")
	}
}

func TestHistoryOfOutputIsBounded(t *testing.T) {
	t.Parallel()
	var h history
	for range 100 {
		h.add([]event.Event{{Body: event.Output{Text: strings.Repeat("x", 1<<20)}}})
	}
	kept := 0
	for _, e := range h.events {
		kept += len(e.Body.(event.Output).Text)
	}
	if kept > maxHistory {
		t.Errorf("%d bytes are kept", kept)
	}
	if first := h.events[0].Body.(event.Output); first.Dropped != 1<<20 {
		t.Errorf("the first output says that %d bytes are gone", first.Dropped)
	}
}

// BenchmarkTravel is going to a moment near the end of 100,000 events.
func BenchmarkTravel(b *testing.B) {
	r := newRig(b, 200, 50, long(100_000/14))
	n := len(r.history.events) - 100
	b.ResetTimer()
	for b.Loop() {
		r.travel(n)
		_ = r.View()
		r.present()
	}
}

// After two million lines the workbench holds only what it shows.
func TestAFloodLeavesMemoryFlat(t *testing.T) {
	r := newRig(t, 200, 50, demo.Running()[:11])
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		batch := make([]event.Event, 100)
		for i := range batch {
			chunk := strings.Repeat("a line of output that is not very long\n", 200)
			batch[i] = event.Event{At: r.now, Body: event.Output{Step: 1, Attempt: 1, Text: chunk}}
		}
		r.onEvents(batch)
		_ = r.View()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 40<<20 {
		t.Errorf("2,000,000 lines left %d MB behind", grown>>20)
	}
	r.shows("a line of output")
	r.press("alt+2", "home")
	r.shows("1,990,000 earlier lines not kept")
}
