package ui

import (
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// framesPerSecond is how often the terminal is written to at most: a key
	// waits for half a frame on average.
	framesPerSecond = 80
	// restAfter is how long after the last message nothing moves any more.
	restAfter = 500 * time.Millisecond
	// restFrame is how often the terminal library looks for a new frame while
	// nothing happens. A message wakes it at once.
	restFrame = 500 * time.Millisecond
)

// pulse slows the frame clock of the terminal library down while nothing
// happens: the library keeps it running for ever, which alone costs a laptop
// two percent of a core.
type pulse struct {
	program *tea.Program
	clock   *time.Ticker

	mu    sync.Mutex
	slow  bool
	sleep *time.Timer
}

// beat says that a message came. It is called where messages are handled, one
// after the other.
func (p *pulse) beat() {
	if p.clock == nil {
		if p.clock = frameClock(p.program); p.clock == nil {
			return // a library that keeps its clock elsewhere ticks on
		}
		p.sleep = time.AfterFunc(restAfter, p.rest)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow {
		p.clock.Reset(time.Second / framesPerSecond)
		p.slow = false
	}
	p.sleep.Reset(restAfter)
}

func (p *pulse) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock.Reset(restFrame)
	p.slow = true
}

// end leaves the clock alone from now on.
func (p *pulse) end() {
	if p.sleep != nil {
		p.sleep.Stop()
	}
}

// frameClock is the ticker of a running program, which has no accessor; nil
// when it is not where it was in version 2.0.
func frameClock(p *tea.Program) *time.Ticker {
	field := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*time.Ticker]() {
		return nil
	}
	return *(**time.Ticker)(field.Addr().UnsafePointer())
}
