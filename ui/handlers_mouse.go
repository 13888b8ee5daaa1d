package ui

import tea "charm.land/bubbletea/v2"

// wheelRows is how far one notch of the wheel scrolls.
const wheelRows = 3

// onMouse gives a mouse event to what is under it.
func (m *model) onMouse(msg tea.MouseMsg) tea.Cmd {
	e := msg.Mouse()
	if d := m.dialog(); d != nil {
		return m.onDialogMouse(d, msg)
	}
	l := m.layout()
	if l.small {
		return nil
	}
	switch msg.(type) {
	case tea.MouseWheelMsg:
		m.onWheel(l, e)
	case tea.MouseClickMsg:
		if e.Button == tea.MouseLeft {
			m.onClick(l, e.X, e.Y)
		}
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
	m.panes()[at-inReason].Scroll(rows)
}

func (m *model) onClick(l layout, x, y int) {
	if l.tabsAt.w > 0 && l.tabsAt.holds(x, y) {
		if at := m.tabAt(l, x); at != inComposer {
			m.setFocus(at)
			return
		}
	}
	at := l.paneAt(x, y)
	m.setFocus(at)
	if at == inTimeline {
		r := l.panes[inTimeline-inReason]
		if m.timeline.Click(y - r.y - 1) {
			m.linked()
		}
	}
}
