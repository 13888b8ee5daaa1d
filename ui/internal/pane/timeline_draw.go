package pane

import (
	"strings"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// inner is the width of the entries: a blank cell stays free at each side.
func (p *Timeline) inner() int { return max(p.w-2, 1) }

// render draws an entry with its margins.
func (p *Timeline) render(n *node, folded bool) []string {
	rows := p.draw(n, folded)
	if p.later(n) {
		rows = p.dim(rows)
	}
	return render(indent(p.l, rows), p.w, p.l)
}

// draw makes the rows of an entry.
func (p *Timeline) draw(n *node, folded bool) []cell.Row {
	switch n.kind {
	case stepNode:
		return p.step(n, folded)
	case attemptNode:
		return p.attempt(n)
	case remedyNode:
		return p.remedy(n)
	case laneNode:
		return p.lane(n)
	case seamNode:
		return Seam(p.l, p.inner(), n.st.Seam.Text, n.st.Seam.Took, p.gilt(n.st))
	case checkNode:
		face := p.l.Face(look.Saved)
		text := face.Word
		if c := n.st.Checkpoint; c.Total > 0 {
			text += " " + p.l.Glyphs.Dot + " " + look.Plural(c.Total, "file")
		}
		return []cell.Row{p.child(n, cell.Row{cell.S(face.Style, face.Glyph+" "), cell.S(p.l.Muted, text)}, nil)}
	case askNode:
		face := p.l.Face(look.Asking)
		return []cell.Row{p.child(n, cell.Row{cell.S(face.Style, face.Glyph+" "+face.Word+" "), cell.S(p.l.Text, oneLine(n.ask.Question))}, nil)}
	}
	return []cell.Row{p.child(n, note(p.l, n.note, max(p.inner()-3, 8))[0], nil)}
}

func (p *Timeline) step(n *node, folded bool) []cell.Row {
	face := p.l.Face(stepStatus(n.st))
	row := cell.Row{cell.S(face.Style, face.Glyph+" "), cell.S(p.l.Muted, look.Count(n.st.N)+" "), cell.S(p.l.Bold, stepTitle(n.st))}
	if folded && n.st.Seam != nil {
		row = append(row, cell.S(p.l.Gold, " "+p.l.Glyphs.Seams+p.l.Glyphs.Seams))
	}
	var rows []cell.Row
	if n.st.N > 1 {
		rows = append(rows, nil)
	}
	right := cell.Row{cell.S(p.l.Muted, look.Duration(stepTime(n.st, p.now)))}
	return append(rows, cell.Between(row, right, p.inner(), p.l.Text))
}

func (p *Timeline) attempt(n *node) []cell.Row {
	a := n.attempt
	face := p.l.Face(attemptStatus(a, over(n.st)))
	text := face.Word
	if how := ending(a); how != "" && a.Failure == nil {
		text += " " + p.l.Glyphs.Dot + " " + how
	}
	name := "attempt "
	if p.inner() < 26 {
		name = ""
	}
	row := cell.Row{cell.S(face.Style, face.Glyph+" "), cell.S(p.l.Text, name+look.Count(a.Attempt.Attempt)+" "), cell.S(face.Style, text)}
	rows := []cell.Row{p.child(n, row, cell.Row{cell.S(p.l.Muted, look.Duration(attemptTime(a, p.now)))})}
	if f := a.Failure; f != nil {
		rows = append(rows, p.below(n, cell.S(p.l.Stderr, failureTitle(f))))
	}
	return rows
}

func (p *Timeline) remedy(n *node) []cell.Row {
	r := n.remedy
	face := p.l.Face(remedyStatus(r, over(n.st)))
	mend := p.l.Face(look.Mending)
	row := cell.Row{cell.S(mend.Style, mend.Glyph+" "), cell.S(p.l.Text, remedyTitle(r))}
	if r.Lane > 0 {
		row = append(cell.Row{row[0], cell.S(p.l.Muted, look.Count(r.Lane)+" ")}, row[1:]...)
	}
	if r.End == nil || !r.End.OK {
		row = append(row, cell.S(face.Style, " "+face.Word))
	} else if r.End.Reused {
		row = append(row, cell.S(p.l.Muted, " "+p.l.Glyphs.Dot+" reused"))
	}
	rows := []cell.Row{p.child(n, row, cell.Row{cell.S(p.l.Muted, look.Duration(remedyTime(r, p.now)))})}
	switch {
	case r.End != nil && r.End.Error != "":
		rows = append(rows, p.below(n, cell.S(p.l.Error, oneLine(r.End.Error))))
	case r.End == nil && r.Progress != "":
		rows = append(rows, p.below(n, cell.S(p.l.Muted, oneLine(r.Progress))))
	}
	if r.Lane > 0 {
		rows = append(rows, p.barRow(n, face.Style, p.remediesSpan(n.attempt), p.remedySpan(r))...)
	}
	return rows
}

// child is an entry below its step.
func (p *Timeline) child(n *node, left, right cell.Row) cell.Row {
	tree := p.l.Glyphs.Tree
	if n.last {
		tree = p.l.Glyphs.TreeEnd
	}
	row := append(cell.Row{cell.S(p.l.Border, tree+" ")}, left...)
	return cell.Between(row, right, p.inner(), p.l.Text)
}

// below is a second row of an entry.
func (p *Timeline) below(n *node, s cell.Span) cell.Row {
	bar := p.l.Glyphs.V
	if n.last {
		bar = " "
	}
	return cell.Row{cell.S(p.l.Border, bar+"   "), s}.Cut(p.inner())
}

// highlight draws an entry as the selected one.
func (p *Timeline) highlight(n *node) []string {
	fill := p.l.On(themes.Selection, themes.Text)
	b := p.index[n.st]
	rows := indent(p.l, p.draw(n, b != nil && b.folded))
	out := make([]string, len(rows))
	for i, r := range rows {
		if len(r) < 2 {
			out[i] = r.Render(p.w, p.l.Text)
			continue
		}
		over := make(cell.Row, len(r))
		for j, s := range r {
			over[j] = cell.Span{Style: s.Style.On(fill), Text: s.Text}
		}
		out[i] = over.Render(p.w, fill)
	}
	return out
}

// details explains the selected entry: a rule and at most half of the pane.
func (p *Timeline) details() []string {
	n := p.current()
	if n == nil || p.h < 10 {
		return nil
	}
	rows := p.explain(n, max(p.w-2, 1))
	room := max(p.h/2, 4)
	if len(rows) > room-1 {
		p.page = min(p.page, len(rows)-room+1)
		rows = append(rows[p.page:p.page+room-2:p.page+room-2], cell.Row{cell.S(p.l.Muted, "… enter shows all")})
	}
	out := []string{cell.Row{cell.S(p.l.Border, strings.Repeat(p.l.Glyphs.H, p.w))}.Render(p.w, p.l.Text)}
	for _, r := range rows {
		out = append(out, append(cell.Row{cell.S(p.l.Text, " ")}, r...).Render(p.w, p.l.Text))
	}
	return out
}
