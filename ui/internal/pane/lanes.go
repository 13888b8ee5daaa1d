package pane

import (
	"strings"
	"time"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// span is when something ran, for the bars of work that runs side by side.
type span struct{ from, to time.Time }

func (s span) over(o span) span {
	if s.from.IsZero() || o.from.Before(s.from) {
		s.from = o.from
	}
	if o.to.After(s.to) {
		s.to = o.to
	}
	return s
}

// laneSpan is when a lane ran, until now when it still does.
func (p *Timeline) laneSpan(l *event.LaneState, over bool) span {
	switch {
	case !l.End.IsZero():
		return span{l.Start, l.End}
	case over:
		return span{l.Start, l.Seen}
	}
	return span{l.Start, p.now}
}

// remedySpan is when a remedy ran.
func (p *Timeline) remedySpan(r *event.RemedyState) span {
	if r.End != nil {
		return span{r.Start, r.Start.Add(r.End.Took)}
	}
	return span{r.Start, p.now}
}

// stepSpan is the whole time in which the lanes of a step ran.
func (p *Timeline) stepSpan(st *event.Step) span {
	var all span
	for _, l := range st.Lanes {
		all = all.over(p.laneSpan(l, over(st)))
	}
	return all
}

// remediesSpan is the whole time in which the remedies of an attempt were
// tried side by side.
func (p *Timeline) remediesSpan(a *event.AttemptState) span {
	var all span
	for _, r := range a.Remedies {
		if r.Lane > 0 {
			all = all.over(p.remedySpan(r))
		}
	}
	return all
}

// bar shows when something ran in a whole time, w cells wide.
func bar(l *look.Look, style cell.Style, all, s span, w int) cell.Row {
	total := all.to.Sub(all.from)
	if total <= 0 || w < 4 {
		return nil
	}
	at := func(t time.Time) int { return clamp(int(float64(w)*float64(t.Sub(all.from))/float64(total)+0.5), 0, w) }
	from, to := at(s.from), at(s.to)
	if to == from {
		from, to = min(from, w-1), min(from, w-1)+1
	}
	g := l.Glyphs
	return cell.Row{
		cell.S(l.Border, strings.Repeat(g.FillOff, from)), cell.S(style, strings.Repeat(g.FillOn, to-from)),
		cell.S(l.Border, strings.Repeat(g.FillOff, w-to)),
	}
}

// laneStatus is how a lane stands.
func laneStatus(l *event.LaneState, over bool) look.Status {
	switch {
	case l.State == event.LaneRunning && over:
		return look.Skipped
	case l.State == event.LaneRunning:
		return look.Running
	case l.State == event.LaneWorked:
		return look.Worked
	}
	return look.Failed
}

// lane draws one of several lines of work: its name, how it stands, and when
// it ran beside the others.
func (p *Timeline) lane(n *node) []cell.Row {
	l := n.lane
	face := p.l.Face(laneStatus(l, over(n.st)))
	s := p.laneSpan(l, over(n.st))
	took := look.Duration(max(s.to.Sub(s.from), 0))
	name := cell.Truncate(cell.Safe(oneLine(l.Name)), max(p.inner()-9-cell.Width(face.Word)-cell.Width(took), 8))
	row := cell.Row{
		cell.S(face.Style, face.Glyph+" "), cell.S(p.l.Muted, look.Count(l.Lane.Lane)+" "), cell.S(p.l.Text, name+" "),
		cell.S(face.Style, face.Word),
	}
	rows := []cell.Row{p.child(n, row, cell.Row{cell.S(p.l.Muted, took)})}
	return append(rows, p.barRow(n, face.Style, p.stepSpan(n.st), s)...)
}

// barRow is the row of a bar below an entry.
func (p *Timeline) barRow(n *node, style cell.Style, all, s span) []cell.Row {
	b := bar(p.l, style, all, s, p.inner()-4)
	if b == nil {
		return nil
	}
	left := p.l.Glyphs.V
	if n.last {
		left = " "
	}
	return []cell.Row{append(cell.Row{cell.S(p.l.Border, left+"   ")}, b...)}
}

// explainLane says in plain words what a lane is.
func (p *Timeline) explainLane(n *node, w int) []cell.Row {
	l := n.lane
	rows := p.title("lane "+look.Count(l.Lane.Lane)+": "+oneLine(l.Name), w)
	rows = append(rows, paragraphs(p.l.Muted, w, "One of several lines of work, side by side, each in a copy of its own of the same files.")...)
	if l.Text != "" {
		rows = append(rows, paragraphs(p.l.Text, w, l.Text)...)
	}
	var counted []string
	for _, c := range []struct {
		n    int
		noun string
	}{{l.Steps, "step"}, {l.Attempts, "attempt"}, {l.Seams, "seam"}, {l.Tokens, "token"}} {
		if c.n > 0 {
			counted = append(counted, look.Plural(c.n, c.noun))
		}
	}
	if len(counted) > 0 {
		rows = append(rows, paragraphs(p.l.Text, w, strings.Join(counted, ", ")+".")...)
	}
	return rows
}
