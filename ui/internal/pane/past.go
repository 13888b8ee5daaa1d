package pane

import (
	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
)

// SetCut tells the timeline that a moment of the past is shown: entries that
// began after the sequence number are dimmed. Zero is the present.
func (p *Timeline) SetCut(seq int64) { p.cut = seq }

// later says that an entry had not begun at the moment that is shown.
func (p *Timeline) later(n *node) bool { return p.cut != 0 && n.began() > p.cut }

// began is the sequence number at which an entry began.
func (n *node) began() int64 {
	switch {
	case n.lane != nil:
		return n.lane.FirstSeq
	case n.remedy != nil:
		return n.remedy.FirstSeq
	case n.attempt != nil:
		return n.attempt.FirstSeq
	case n.kind == stepNode:
		return n.st.FirstSeq
	}
	return n.st.LastSeq
}

// Over is the sequence number at which the selected entry began, and whether
// something is selected.
func (p *Timeline) Over() (int64, bool) {
	n := p.current()
	if n == nil {
		return 0, false
	}
	return n.began(), true
}

// dim draws rows in the colour of what has not happened yet.
func (p *Timeline) dim(rows []cell.Row) []cell.Row {
	faint := p.l.Style(themes.Border)
	for _, r := range rows {
		for i := range r {
			r[i].Style = faint
		}
	}
	return rows
}

// Like takes over how another pane shows things, not where it looks.
func (p *Reason) Like(o *Reason) { p.density, p.whole = o.density, o.whole }

// Like takes over how another pane shows things, not where it looks.
func (p *Sandbox) Like(o *Sandbox) { p.verbose = o.verbose }

// Like takes over how another pane shows things, not where it looks.
func (p *Timeline) Like(o *Timeline) { p.w, p.h = o.w, o.h }
