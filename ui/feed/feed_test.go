package feed

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"kintsugi/agent/event"
)

func note(n int) event.Event {
	return event.Event{Seq: int64(n), Body: event.Note{Text: fmt.Sprint(n)}}
}

// all reads every batch until the feed is closed.
func all(f *Feed) (events []event.Event, batches int) {
	for batch := range f.Out() {
		events = append(events, batch...)
		batches++
	}
	return events, batches
}

func TestNothingIsLostAndFewBatchesCome(t *testing.T) {
	t.Parallel()
	f := New(time.Now)
	start := time.Now()
	go func() {
		for n := 1; n <= 50_000; n++ {
			f.Push(note(n))
		}
		f.Close()
	}()
	events, batches := all(f)
	if len(events) != 50_000 {
		t.Fatalf("%d events arrived", len(events))
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d is at place %d", e.Seq, i)
		}
	}
	if most := int(time.Since(start)/Interval) + 3; batches > most {
		t.Errorf("%d batches in %v, want at most %d", batches, time.Since(start), most)
	}
}

func TestTheFirstEventPassesAtOnce(t *testing.T) {
	t.Parallel()
	f := New(time.Now)
	defer f.Close()
	start := time.Now()
	f.Push(note(1))
	if batch := <-f.Out(); len(batch) != 1 {
		t.Fatalf("the first batch has %d events", len(batch))
	}
	if took := time.Since(start); took > 200*time.Millisecond {
		t.Errorf("the first event took %v", took)
	}
}

func TestTheLastEventIsNotKeptBack(t *testing.T) {
	t.Parallel()
	f := New(time.Now)
	defer f.Close()
	f.Push(note(1))
	<-f.Out()
	f.Push(note(2)) // within the interval of the first
	select {
	case batch := <-f.Out():
		if batch[0].Seq != 2 {
			t.Errorf("got event %d", batch[0].Seq)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the event never came")
	}
}

// Who writes faster than the screen reads must wait, not fill the memory.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	f := New(time.Now)
	text := strings.Repeat("x", 1<<20)
	var pushed sync.WaitGroup
	pushed.Go(func() {
		for n := range 100 {
			f.Push(event.Event{Seq: int64(n), Body: event.Output{Text: text}})
		}
		f.Close()
	})
	var most int
	events := 0
	for batch := range f.Out() {
		events += len(batch)
		most = max(most, len(batch))
		runtime.Gosched()
	}
	pushed.Wait()
	if events != 100 {
		t.Errorf("%d events arrived", events)
	}
	if most > Bound>>20+2 {
		t.Errorf("%d MB waited at once", most)
	}
}

func TestStopEndsWithoutAReader(t *testing.T) {
	t.Parallel()
	f := New(time.Now)
	f.Push(note(1))
	f.Push(note(2))
	f.Stop()
	f.Stop()
	f.Push(note(3))
	deadline := time.After(5 * time.Second)
	for {
		select {
		case _, open := <-f.Out():
			if !open {
				return
			}
		case <-deadline:
			t.Fatal("the feed never ends")
		}
	}
}

func TestCloseFreesWhoWaits(t *testing.T) {
	t.Parallel()
	f := New(time.Now)
	done := make(chan struct{})
	go func() {
		for range 2 * Bound >> 20 {
			f.Push(event.Event{Body: event.Output{Text: strings.Repeat("x", 1<<20)}})
		}
		close(done)
	}()
	f.Close()
	<-done
	all(f)
}
