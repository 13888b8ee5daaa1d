package ui

// MinWidth and MinHeight are the smallest terminal, in cells, that the
// workbench can be used in. Below there is only a line that says so.
const (
	MinWidth  = 60
	MinHeight = 15
)

// The widths from which two and three panes stand side by side.
const (
	twoPanes   = 80
	threePanes = 100
)

type rect struct{ x, y, w, h int }

func (r rect) holds(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// layout says where everything is. A pane without width is hidden. Panes that
// stand side by side share the line between them.
type layout struct {
	small    bool // too small for anything
	panes    [3]rect
	tabs     []place // the panes that share a place, none when all are shown
	tabsAt   rect
	composer rect
	status   rect
}

// layout is a function of the size, the focus and the zoom alone.
func (m *model) layout() layout {
	if m.w < MinWidth || m.h < MinHeight {
		return layout{small: true}
	}
	l := layout{status: rect{0, m.h - 1, m.w, 1}}
	ch := m.composer.Height()
	l.composer = rect{0, m.h - 1 - ch, m.w, ch}
	area := rect{0, 0, m.w, m.h - 1 - ch}
	if m.show.on {
		area.h -= captionRows
	}
	switch {
	case m.zoom:
		l.panes[m.pane-inReason] = area
	case m.w >= threePanes && m.show.on:
		m.spotlight(&l, area)
	case m.w >= threePanes:
		m.three(&l, area)
	case m.w >= twoPanes:
		m.two(&l, area)
	default:
		l.tabs, l.tabsAt = []place{inReason, inSandbox, inTimeline}, rect{0, 0, m.w, 1}
		area.y, area.h = 1, area.h-1
		l.panes[m.pane-inReason] = area
	}
	return l
}

// three splits the area 30 : 40 : 30, changed by what the user dragged.
func (m *model) three(l *layout, a rect) {
	left := clamp(a.w*30/100+m.split[0], 24, a.w-60)
	right := clamp(a.w*30/100+m.split[2], 28, a.w-left-30)
	l.panes[0] = rect{a.x, a.y, left, a.h}
	l.panes[1] = rect{a.x + left - 1, a.y, a.w - left - right + 2, a.h}
	l.panes[2] = rect{a.x + a.w - right, a.y, right, a.h}
}

// two shows the sandbox and, in one place, reasoning or timeline.
func (m *model) two(l *layout, a rect) {
	left := clamp(a.w*45/100+m.split[0], 30, a.w-36)
	shown := m.beside()
	l.tabs = []place{inReason, inTimeline}
	l.tabsAt = rect{a.x, a.y, left, 1}
	l.panes[shown-inReason] = rect{a.x, a.y, left, a.h}
	l.panes[1] = rect{a.x + left - 1, a.y, a.w - left + 1, a.h}
}

// beside is the pane that shares the screen with the sandbox.
func (m *model) beside() place {
	if m.pane == inTimeline || m.pane == inSandbox && m.leftTimeline {
		return inTimeline
	}
	return inReason
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }

// paneAt is the pane at a cell, or inComposer for none.
func (l layout) paneAt(x, y int) place {
	for i, r := range l.panes {
		if r.w > 0 && r.holds(x, y) {
			return inReason + place(i)
		}
	}
	return inComposer
}

// order lists the visible panes from left to right.
func (l layout) order() []int {
	var out []int
	for i, r := range l.panes {
		if r.w > 0 {
			out = append(out, i)
		}
	}
	if len(out) == 2 && l.panes[out[0]].x > l.panes[out[1]].x {
		out[0], out[1] = out[1], out[0]
	}
	return out
}

// before is the pane at the left of pane i, -1 for none; last says that none
// stands at its right.
func (l layout) before(i int) (before int, last bool) {
	order := l.order()
	before = -1
	for n, other := range order {
		if other == i {
			return before, n == len(order)-1
		}
		before = other
	}
	return -1, true
}
