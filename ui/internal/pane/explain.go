package pane

import (
	"strings"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// explain says in plain words what an entry is, with its evidence and the
// command a person would type.
func (p *Timeline) explain(n *node, w int) []cell.Row {
	switch n.kind {
	case attemptNode:
		return p.explainAttempt(n.attempt, w)
	case remedyNode:
		return p.explainRemedy(n, w)
	case laneNode:
		return p.explainLane(n, w)
	case seamNode:
		return p.explainSeam(n.st.Seam, w)
	case checkNode:
		return p.explainCheckpoint(n.st.Checkpoint, w)
	case noteNode:
		return note(p.l, n.note, w)
	case askNode:
		return paragraphs(p.l.Text, w, append([]string{n.ask.Question}, n.ask.Why...)...)
	}
	return p.explainStep(n.st, w)
}

func (p *Timeline) explainStep(st *event.Step, w int) []cell.Row {
	rows := p.title("step "+look.Count(st.N), w)
	for _, c := range st.Calls {
		rows = append(rows, p.code(callTitle(c), w)...)
	}
	text := "Runs now."
	switch {
	case st.Cut:
		text = "Was cut short: the session ended before it was done."
	case st.Done && st.Seam != nil:
		text = "Worked after mending, in " + look.Plural(len(st.Attempts), "attempt") + "."
	case st.Done && st.OK:
		text = "Worked."
	case st.Done:
		text = "Did not work."
	}
	return append(rows, paragraphs(p.l.Text, w, text)...)
}

func (p *Timeline) explainAttempt(a *event.AttemptState, w int) []cell.Row {
	f := a.Failure
	if f == nil {
		rows := p.title("attempt "+look.Count(a.Attempt.Attempt), w)
		rows = append(rows, p.code(look.Command(a.Argv), w)...)
		return append(rows, paragraphs(p.l.Muted, w, p.boxWords(a))...)
	}
	rows := p.title(failureTitle(f), w)
	rows = append(rows, paragraphs(p.l.Text, w, f.Explanation)...)
	if len(f.Evidence) > 0 {
		rows = append(rows, nil)
		for _, line := range f.Evidence {
			rows = append(rows, p.quote(line, w)...)
		}
	}
	if f.Command != "" {
		rows = append(rows, nil, cell.Row{cell.S(p.l.Muted, "by hand:")})
		rows = append(rows, p.code(f.Command, w)...)
	}
	if f.Rule != "" {
		rows = append(rows, cell.Row{cell.S(p.l.Muted, "rule "+f.Rule)})
	}
	return rows
}

// boxWords says what an attempt's box was and used.
func (p *Timeline) boxWords(a *event.AttemptState) string {
	text := "In a box of its own"
	if a.Born > 0 {
		text += ", born in " + look.Duration(a.Born)
	}
	if a.Limits != "" {
		text += ", limited to " + a.Limits
	}
	if e := a.End; e != nil {
		text += "; it took " + look.Duration(e.Took)
		if e.Memory > 0 {
			text += " and " + look.Bytes(e.Memory)
		}
		if e.Limit != "" {
			text += "; it hit the " + e.Limit + " limit"
		}
	}
	if n := len(a.Layers); n > 0 {
		text += ". It stands on " + look.Plural(n, "layer") + " from earlier mending"
	}
	return text + "."
}

func (p *Timeline) explainRemedy(n *node, w int) []cell.Row {
	r := n.remedy
	rows := p.title(remedyTitle(&event.RemedyState{Remedy: r.Remedy}), w)
	switch {
	case r.End == nil:
		rows = append(rows, paragraphs(p.l.Text, w, "Runs now, in a box of its own.")...)
	case !r.End.OK:
		rows = append(rows, paragraphs(p.l.Text, w, "Did not work: "+r.End.Error)...)
	case r.End.Reused:
		rows = append(rows, paragraphs(p.l.Text, w, "Taken from a layer that an earlier mending made; nothing was downloaded.")...)
	default:
		rows = append(rows, paragraphs(p.l.Text, w, "Installed in the sandbox only; your computer is as it was.")...)
	}
	if r.End != nil && len(r.End.Versions) > 0 {
		rows = append(rows, paragraphs(p.l.Muted, w, strings.Join(r.End.Versions, ", "))...)
	}
	if r.Origin != "" {
		rows = append(rows, cell.Row{cell.S(p.l.Muted, "because of "+r.Origin)})
	}
	return rows
}

func (p *Timeline) explainSeam(s *event.Seam, w int) []cell.Row {
	rows := Seam(p.l, w, "seam", s.Took, 1)
	rows = append(rows, paragraphs(p.l.Text, w, s.Text)...)
	for _, f := range s.Failures {
		rows = append(rows, p.listed(look.Failed, f, w)...)
	}
	for _, r := range s.Remedies {
		rows = append(rows, p.listed(look.Mending, r, w)...)
	}
	return rows
}

func (p *Timeline) listed(s look.Status, text string, w int) []cell.Row {
	face := p.l.Face(s)
	return cell.WrapWords([]cell.Span{cell.S(face.Style, face.Glyph+" "), cell.S(p.l.Text, text)}, w, cell.Row{cell.S(p.l.Text, "  ")})
}

func (p *Timeline) explainCheckpoint(c *event.Checkpoint, w int) []cell.Row {
	rows := p.title("checkpoint "+c.ID, w)
	rows = append(rows, paragraphs(p.l.Text, w, "The workspace as this step left it. "+look.Plural(c.Total, "file")+" changed.")...)
	for _, f := range c.Changed {
		rows = append(rows, cell.Row{cell.S(p.l.Code, cell.Middle(cell.Safe(f), w))})
	}
	if more := c.Total - len(c.Changed); more > 0 && len(c.Changed) > 0 {
		rows = append(rows, cell.Row{cell.S(p.l.Muted, "… and "+look.Count(more)+" more")})
	}
	return rows
}

func (p *Timeline) title(text string, w int) []cell.Row {
	return cell.WrapWords([]cell.Span{cell.S(p.l.Heading, text)}, w, nil)
}

func (p *Timeline) code(text string, w int) []cell.Row {
	return cell.Wrap([]cell.Span{cell.S(p.l.Code, text)}, w)
}

func (p *Timeline) quote(text string, w int) []cell.Row {
	var rows []cell.Row
	for _, r := range cell.Wrap([]cell.Span{cell.S(p.l.Stderr, text)}, max(w-2, 1)) {
		rows = append(rows, append(cell.Row{cell.S(p.l.Stderr, p.l.Glyphs.Stderr+" ")}, r...))
	}
	return rows
}
