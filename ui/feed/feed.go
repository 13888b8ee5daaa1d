// Package feed gathers events that arrive one by one into batches, before they
// reach the update loop of the screen.
//
// The screen draws a frame for every message. One message per line of output
// would cost a frame per line; one batch per frame costs what a frame costs.
// The first event after a pause passes at once, those that follow within the
// interval pass together. Push waits only when the screen is far behind, and
// nothing is ever dropped.
package feed

import (
	"sync"
	"time"

	"kintsugi/agent/event"
)

const (
	// Interval is the least time between two batches, about one frame.
	Interval = 16 * time.Millisecond
	// Bound is the most bytes that wait for the screen. It keeps memory flat
	// when a program writes faster than a terminal shows.
	Bound = 8 << 20
)

// Feed gathers events. Make one with New.
type Feed struct {
	out  chan []event.Event
	wake chan struct{}
	stop chan struct{}
	once sync.Once
	now  func() time.Time

	mu      sync.Mutex
	room    sync.Cond // signalled when what waits was taken
	waiting []event.Event
	size    int
	closed  bool
}

// New starts a feed. The clock measures the intervals.
func New(clock func() time.Time) *Feed {
	f := &Feed{out: make(chan []event.Event), wake: make(chan struct{}, 1), stop: make(chan struct{}), now: clock}
	f.room.L = &f.mu
	go f.run()
	return f
}

// Out delivers the batches, in order. It is closed after Close, once
// everything was delivered.
func (f *Feed) Out() <-chan []event.Event { return f.out }

// Push adds an event. It may be called from any goroutine.
func (f *Feed) Push(e event.Event) {
	f.mu.Lock()
	for f.size > Bound && !f.closed {
		f.room.Wait()
	}
	if !f.closed {
		f.waiting = append(f.waiting, e)
		f.size += weight(e)
	}
	f.mu.Unlock()
	f.signal()
}

// Close says that no more events come. It never waits.
func (f *Feed) Close() {
	f.mu.Lock()
	f.closed = true
	f.room.Broadcast()
	f.mu.Unlock()
	f.signal()
}

// Stop is Close for when nobody reads any more: what waits is dropped.
func (f *Feed) Stop() {
	f.once.Do(func() { close(f.stop) })
	f.Close()
}

func (f *Feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *Feed) run() {
	defer close(f.out)
	var last time.Time
	for range f.wake {
		if wait := Interval - f.now().Sub(last); wait > 0 && wait <= Interval {
			time.Sleep(wait)
		}
		batch, closed := f.take()
		if len(batch) > 0 {
			select {
			case f.out <- batch:
				last = f.now()
			case <-f.stop:
				return
			}
		}
		if closed {
			return
		}
	}
}

// take empties what waits.
func (f *Feed) take() ([]event.Event, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	batch := f.waiting
	f.waiting, f.size = nil, 0
	f.room.Broadcast()
	return batch, f.closed
}

// weight is about how many bytes an event holds.
func weight(e event.Event) int {
	switch b := e.Body.(type) {
	case event.Output:
		return len(b.Text) + 128
	case event.Reasoning:
		return len(b.Text) + 128
	}
	return 256
}
