package ui

import (
	tea "charm.land/bubbletea/v2"

	"kintsugi/ui/internal/pane"
)

// wheelRows is how far one notch of the wheel scrolls.
const wheelRows = 3

// drag is what the pressed mouse button does.
type drag struct {
	line   place // the pane whose right edge is moved; inComposer: none
	text   place // the pane in which text is marked; inComposer: none
	anchor pane.Spot
	x      int // where the edge was last
}

// onMouse gives a mouse event to what is under it.
func (m *model) onMouse(msg tea.MouseMsg) tea.Cmd {
	l := m.layout()
	if l.small {
		return nil
	}
	e := msg.Mouse()
	if d := m.dialog(); d != nil {
		return m.onDialogMouse(d, msg)
	}
	switch msg.(type) {
	case tea.MouseWheelMsg:
		m.onWheel(l, e)
	case tea.MouseClickMsg:
		if e.Button == tea.MouseLeft {
			m.onClick(l, e.X, e.Y)
		}
	case tea.MouseMotionMsg:
		m.onDrag(l, e.X, e.Y)
	case tea.MouseReleaseMsg:
		return m.onRelease()
	}
	return nil
}

func (m *model) onWheel(l layout, e tea.Mouse) {
	at := l.paneAt(e.X, e.Y)
	if at == inComposer {
		return
	}
	rows := wheelRows
	if e.Button == tea.MouseWheelUp {
		rows = -rows
	} else if e.Button != tea.MouseWheelDown {
		return
	}
	m.paneOf(at).Scroll(rows)
}

// paneOf is the pane at a place.
func (m *model) paneOf(at place) pane.Pane { return m.panes()[at-inReason] }

func (m *model) onClick(l layout, x, y int) {
	m.drag = drag{}
	for _, p := range m.panes() {
		p.Unselect()
	}
	if l.tabsAt.w > 0 && l.tabsAt.holds(x, y) {
		if at := m.tabAt(l, x); at != inComposer {
			m.setFocus(at)
			return
		}
	}
	if at := l.edgeAt(x, y); at != inComposer {
		m.drag = drag{line: at, x: x}
		return
	}
	at := l.paneAt(x, y)
	m.setFocus(at)
	if at == inComposer {
		return
	}
	r := l.panes[at-inReason]
	m.drag = drag{text: at, anchor: pane.Spot{X: x - r.x - 1, Y: y - r.y - 1}}
	if a, ok := m.sandbox.ArtefactAt(y - r.y - 1); at == inSandbox && ok {
		m.drag = drag{}
		m.view(a)
		return
	}
	if at == inReason && m.reason.Click(y-r.y-1) {
		return
	}
	if at == inTimeline && m.timeline.Click(y-r.y-1) {
		m.linked()
	}
}

// onDrag moves an edge or marks text.
func (m *model) onDrag(l layout, x, y int) {
	switch {
	case m.drag.line != inComposer:
		m.moveEdge(m.drag.line, x-m.drag.x)
		m.drag.x = x
		m.arrange()
	case m.drag.text != inComposer:
		r := l.panes[m.drag.text-inReason]
		to := pane.Spot{X: clamp(x-r.x-1, 0, r.w-3), Y: clamp(y-r.y-1, 0, r.h-3)}
		m.paneOf(m.drag.text).Select(m.drag.anchor, to)
	}
}

// onRelease copies what was marked, or keeps the widths.
func (m *model) onRelease() tea.Cmd {
	d := m.drag
	m.drag = drag{}
	switch {
	case d.line != inComposer:
		return m.keep()
	case d.text != inComposer && m.paneOf(d.text).Selecting():
		p := m.paneOf(d.text)
		return m.copyText(p.Selected(p.Lines(m.focus == d.text)))
	}
	return nil
}

// moveEdge moves the line at the right of a pane by some cells.
func (m *model) moveEdge(at place, by int) {
	switch {
	case at == inReason || m.w < threePanes:
		m.split[0] += by
	case at == inSandbox:
		m.split[2] -= by
	}
	m.limitSplit()
}

// edgeAt is the pane whose right edge, shared with another, is at a cell.
func (l layout) edgeAt(x, y int) place {
	order := l.order()
	for i, p := range order {
		r := l.panes[p]
		if i < len(order)-1 && x == r.x+r.w-1 && y > r.y && y < r.y+r.h-1 {
			return inReason + place(p)
		}
	}
	return inComposer
}
