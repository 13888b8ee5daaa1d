package pane

import (
	"kintsugi/agent/event"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/scroll"
)

// Timeline shows what happened: steps, attempts, failures, what mended them,
// and the gold line of each seam. A selected entry is explained below the
// list.
type Timeline struct {
	base
	steps    []*branch
	index    map[*event.Step]*branch
	asks     []event.Ask
	selected scroll.ID
	has      bool // something is selected
	focused  bool
	page     int // first row of the detail that is shown
	cut      int64
}

// branch is a step with its entries.
type branch struct {
	st     *event.Step
	nodes  []node
	seq    int64
	final  bool
	stale  bool // nodes are older than the step
	folded bool
}

// nodeKind says what an entry of the timeline is.
type nodeKind uint8

const (
	stepNode nodeKind = iota
	attemptNode
	remedyNode
	seamNode
	laneNode
	checkNode
	noteNode
	askNode
)

// node is one entry.
type node struct {
	kind    nodeKind
	st      *event.Step
	attempt *event.AttemptState
	remedy  *event.RemedyState
	note    event.Note
	ask     event.Ask
	lane    *event.LaneState
	last    bool // the last child of its step
	rows    []string
	width   int
	gen     int
}

// NewTimeline makes an empty pane.
func NewTimeline(l *look.Look) *Timeline {
	p := &Timeline{index: map[*event.Step]*branch{}}
	p.l, p.w, p.h, p.src, p.seen = l, 1, 1, p, -1
	return p
}

// Name implements Pane.
func (p *Timeline) Name() string { return "Timeline" }

// Sync implements Pane.
func (p *Timeline) Sync(s *event.State) {
	p.asks = s.Asks
	for _, st := range s.Steps {
		if p.old(st) {
			continue
		}
		p.see(st)
		b := p.index[st]
		if b == nil {
			b = &branch{st: st}
			p.index[st] = b
			p.steps = append(p.steps, b)
		}
		if !b.final || b.seq != st.LastSeq {
			b.seq, b.final, b.stale = st.LastSeq, over(st), true
		}
	}
	p.seen = s.Seq
}

// list is the entries of a step, made when someone looks at them.
func (p *Timeline) list(b *branch) []node {
	if b.stale {
		b.nodes, b.stale = p.nodes(b.st), false
	}
	return b.nodes
}

// nodes lists the entries of a step in the order in which they happened.
func (p *Timeline) nodes(st *event.Step) []node {
	nodes := []node{{kind: stepNode, st: st}}
	for _, l := range st.Lanes {
		nodes = append(nodes, node{kind: laneNode, st: st, lane: l})
	}
	for _, a := range st.Attempts {
		if !ghost(a) || len(a.Remedies) == 0 {
			nodes = append(nodes, node{kind: attemptNode, st: st, attempt: a})
		}
		for _, r := range a.Remedies {
			nodes = append(nodes, node{kind: remedyNode, st: st, attempt: a, remedy: r})
		}
	}
	for _, a := range p.asks {
		if a.Step == st.N {
			nodes = append(nodes, node{kind: askNode, st: st, ask: a})
		}
	}
	if st.Seam != nil {
		nodes = append(nodes, node{kind: seamNode, st: st})
	}
	for _, n := range st.Notes {
		nodes = append(nodes, node{kind: noteNode, st: st, note: n})
	}
	if st.Checkpoint != nil {
		nodes = append(nodes, node{kind: checkNode, st: st})
	}
	nodes[len(nodes)-1].last = true
	return nodes
}

// visible is the number of entries of step i that are shown.
func (p *Timeline) visible(i int) int {
	if p.steps[i].folded {
		return 1
	}
	return len(p.list(p.steps[i]))
}

func (p *Timeline) node(id scroll.ID) *node {
	b, i := split(id)
	if b < 0 || b >= len(p.steps) || i >= p.visible(b) {
		return nil
	}
	return &p.list(p.steps[b])[i]
}

// First implements scroll.Source.
func (p *Timeline) First() (scroll.ID, bool) { return 0, len(p.steps) > 0 }

// Last implements scroll.Source.
func (p *Timeline) Last() (scroll.ID, bool) {
	n := len(p.steps)
	if n == 0 {
		return 0, false
	}
	return at(n-1, p.visible(n-1)-1), true
}

// Next implements scroll.Source.
func (p *Timeline) Next(id scroll.ID) (scroll.ID, bool) {
	b, i := split(id)
	if b < len(p.steps) && i+1 < p.visible(b) {
		return at(b, i+1), true
	}
	return at(b+1, 0), b+1 < len(p.steps)
}

// Prev implements scroll.Source.
func (p *Timeline) Prev(id scroll.ID) (scroll.ID, bool) {
	b, i := split(id)
	if b >= len(p.steps) {
		return p.Last()
	}
	if i > 0 {
		return at(b, min(i, p.visible(b))-1), true
	}
	if b == 0 {
		return 0, false
	}
	return at(b-1, p.visible(b-1)-1), true
}

// Rows implements scroll.Source.
func (p *Timeline) Rows(id scroll.ID) []string {
	n := p.node(id)
	if n == nil {
		return nil
	}
	selected := p.has && id == p.selected
	if selected {
		return p.highlight(n)
	}
	b, _ := split(id)
	if !p.steps[b].final || n.kind == stepNode || p.later(n) || n.kind == seamNode && !p.gilded(n.st) {
		return p.render(n, p.steps[b].folded)
	}
	if n.rows == nil || n.width != p.w || n.gen != p.l.Gen {
		n.rows, n.width, n.gen = p.render(n, false), p.w, p.l.Gen
	}
	return n.rows
}

// Lines implements Pane.
func (p *Timeline) Lines(focused bool) []string {
	p.focused = focused
	if len(p.steps) == 0 {
		return p.base.lines(
			"What breaks, and what mends it, shows here.",
			"A gold line is a seam: something broke, was mended, and works.")
	}
	detail := p.details()
	list := p.h - len(detail)
	placed := p.view.Window(p, list)
	out := make([]string, 0, p.h)
	for _, r := range placed {
		out = append(out, r.Text)
	}
	return p.mark(append(p.fill(out, list), detail...))
}

// listHeight is the number of rows that the list has.
func (p *Timeline) listHeight() int { return p.h - len(p.details()) }

// Badge implements Pane.
func (p *Timeline) Badge() cell.Row {
	if !p.view.Following() && len(p.steps) > 0 {
		return cell.Row{cell.S(p.l.Warn, p.l.Glyphs.Paused+" paused")}
	}
	seams := 0
	for _, b := range p.steps {
		if b.st.Seam != nil {
			seams++
		}
	}
	if seams == 0 {
		return nil
	}
	return cell.Row{cell.S(p.l.Gold, p.l.Glyphs.Seam+" "+look.Plural(seams, "seam"))}
}

// Foot implements Pane.
func (p *Timeline) Foot(int) cell.Row { return nil }

// Scroll implements Pane.
func (p *Timeline) Scroll(rows int) { p.view.By(p, p.listHeight(), rows) }

// Page implements Pane.
func (p *Timeline) Page(n int) { p.view.By(p, p.listHeight(), n*max(p.listHeight()-2, 1)) }
