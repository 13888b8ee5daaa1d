package pane

import (
	"time"

	"kintsugi/agent/event"
)

// flowTime is how long the gold takes to run along a new seam.
const flowTime = 700 * time.Millisecond

// glow lets the gold run along a seam when it is made. What was mended before
// the pane was opened, or while motion is not wanted, is simply gold.
type glow struct {
	on    bool
	known map[*event.Step]time.Time // when each seam was made, zero for old ones
	beat  time.Time                 // now, in the time of the reader, also in a replay
}

// Beat tells the time of the reader.
func (g *glow) Beat(now time.Time) { g.beat = now }

// Flow turns the running of the gold on, for the seams to come.
func (g *glow) Flow() {
	g.on = true
	if g.known == nil {
		g.known = map[*event.Step]time.Time{}
	}
}

// see takes note of a step that has a seam.
func (g *glow) see(st *event.Step) {
	if st.Seam == nil || !g.on {
		return
	}
	if _, old := g.known[st]; !old {
		g.known[st] = g.beat
	}
}

// gilt is how much of a step's seam is gold, from 0 to 1.
func (g *glow) gilt(st *event.Step) float64 {
	at, ok := g.known[st]
	if !ok {
		return 1
	}
	passed := g.beat.Sub(at)
	if passed >= flowTime || passed < 0 {
		g.known[st] = time.Time{}
		return 1
	}
	x := 1 - float64(passed)/float64(flowTime)
	return 1 - x*x // it slows down towards its end
}

// gilded says that a step's seam is gold to its end.
func (g *glow) gilded(st *event.Step) bool { return st.Seam == nil || g.gilt(st) >= 1 }

// Flowing says that gold runs somewhere.
func (g *glow) Flowing() bool {
	for _, at := range g.known {
		if passed := g.beat.Sub(at); passed >= 0 && passed < flowTime {
			return true
		}
	}
	return false
}
