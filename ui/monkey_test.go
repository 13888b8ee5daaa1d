package ui

import (
	"math/rand/v2"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/demo"
)

// monkeyKeys are keys, clicks and sizes that a careless user could send.
var monkeyKeys = []string{"tab", "shift+tab", "esc", "enter", "up", "down", "left", "right", "pgup", "pgdown", "home", "end", "space",
	"a", "t", "f", "v", "z", "F", "R", "K", "p", "[", "]", "{", "}", "<", ">", "?", "/", "!", "1", "2", "3", "y", "i", "backspace",
	"ctrl+p", "ctrl+f", "ctrl+x", "alt+left", "alt+right", "alt+end", "alt+t", "alt+p", "alt+s", "alt+a", "alt+z", "alt+r", "f1", "alt+enter"}

// A careless user and a log in any order must not break the frame.
func TestMonkey(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var beats []demo.Beat
		for _, story := range [][]demo.Beat{demo.Plot(), demo.Ask(), demo.Hard()} {
			beats = append(beats, story...)
		}
		events := demo.Events(beats)
		if seed%2 == 1 {
			rnd.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		}
		r := newRig(t, 120, 40, nil)
		r.o.Intents = &able{}
		for range 150 {
			events = r.poke(rnd, events)
			if r.screen(); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// poke does one careless thing.
func (r *rig) poke(rnd *rand.Rand, events []event.Event) []event.Event {
	r.now = r.now.Add(time.Duration(rnd.IntN(500)) * time.Millisecond)
	switch rnd.IntN(8) {
	case 0:
		n := min(rnd.IntN(5), len(events))
		r.Update(eventsMsg(events[:n]))
		return events[n:]
	case 1:
		r.Update(tea.MouseClickMsg{X: rnd.IntN(r.w + 1), Y: rnd.IntN(r.h + 1), Button: tea.MouseLeft})
	case 2:
		r.Update(tea.MouseMotionMsg{X: rnd.IntN(r.w + 1), Y: rnd.IntN(r.h + 1), Button: tea.MouseLeft})
		if rnd.IntN(3) == 0 {
			r.Update(tea.MouseReleaseMsg{})
		}
	case 3:
		r.Update(tea.MouseWheelMsg{X: rnd.IntN(r.w), Y: rnd.IntN(r.h), Button: tea.MouseWheelUp + tea.MouseButton(rnd.IntN(2))})
	case 4:
		if rnd.IntN(4) == 0 {
			r.Update(tea.WindowSizeMsg{Width: 1 + rnd.IntN(210), Height: 1 + rnd.IntN(60)})
		}
		r.Update(tickMsg{})
	case 5:
		names := themes.List(nil)
		_ = r.setTheme(names[rnd.IntN(len(names))])
	default:
		r.Update(keyMsg(monkeyKeys[rnd.IntN(len(monkeyKeys))]))
	}
	return events
}

// FuzzLog opens whatever the log's reader accepts.
func FuzzLog(f *testing.F) {
	for _, story := range [][]demo.Beat{demo.Plot(), demo.Ask(), demo.Hard()} {
		var log []byte
		for _, e := range demo.Events(story) {
			line, err := event.Encode(e)
			if err != nil {
				f.Fatal(err)
			}
			log = append(log, line...)
		}
		f.Add(log)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		r := newRig(t, 100, 24, nil)
		r.apply(decodeAll(log))
		r.screen()
		r.setFocus(inTimeline)
		r.screen()
		r.back()
		r.screen()
	})
}

// decodeAll reads the lines of a log as far as they can be read.
func decodeAll(log []byte) []event.Event {
	var out []event.Event
	for len(log) > 0 {
		n := 0
		for n < len(log) && log[n] != '\n' {
			n++
		}
		if e, err := event.Decode(log[:n]); err == nil {
			out = append(out, e)
		}
		log = log[min(n+1, len(log)):]
	}
	return out
}
