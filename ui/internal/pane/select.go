package pane

import (
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/scroll"
)

// HasSelection says that an entry is selected.
func (p *Timeline) HasSelection() bool { return p.current() != nil }

// current is the selected entry, nil for none.
func (p *Timeline) current() *node {
	if !p.has {
		return nil
	}
	return p.node(p.selected)
}

// Deselect closes the detail.
func (p *Timeline) Deselect() { p.has = false }

// Move selects the next entry, or the one before when n is negative. With
// nothing selected it starts at the newest.
func (p *Timeline) Move(n int) {
	if len(p.steps) == 0 {
		return
	}
	if p.current() == nil {
		last, _ := p.Last()
		p.choose(last)
		return
	}
	for ; n > 0; n-- {
		if id, ok := p.Next(p.selected); ok {
			p.choose(id)
		}
	}
	for ; n < 0; n++ {
		if id, ok := p.Prev(p.selected); ok {
			p.choose(id)
		}
	}
}

func (p *Timeline) choose(id scroll.ID) {
	p.selected, p.has, p.page = id, true, 0
	p.view.Reveal(p, p.listHeight(), id)
}

// Click selects the entry at a row of the pane. It says whether there is one.
func (p *Timeline) Click(y int) bool {
	rows := p.view.Window(p, p.listHeight())
	if y < 0 || y >= len(rows) {
		return false
	}
	p.view.Pause(p, p.listHeight())
	p.selected, p.has, p.page = rows[y].ID, true, 0
	return true
}

// Fold folds or unfolds the step of the selected entry.
func (p *Timeline) Fold() {
	if p.current() == nil {
		return
	}
	b, _ := split(p.selected)
	p.steps[b].folded = !p.steps[b].folded
	p.choose(at(b, 0))
}

// FoldAll folds every step, or unfolds all when all are folded.
func (p *Timeline) FoldAll() {
	all := true
	for _, b := range p.steps {
		all = all && b.folded
	}
	for _, b := range p.steps {
		b.folded = !all
	}
	if p.has {
		b, _ := split(p.selected)
		p.choose(at(b, 0))
	}
}

// Where is the step and attempt of the selected entry, 0 for none.
func (p *Timeline) Where() (step, attempt int) {
	n := p.current()
	if n == nil {
		return 0, 0
	}
	if n.attempt != nil {
		return n.st.N, n.attempt.Attempt.Attempt
	}
	return n.st.N, 0
}

// Checkpoint is the checkpoint of the selected entry's step, empty for none.
func (p *Timeline) Checkpoint() string {
	n := p.current()
	if n == nil || n.st.Checkpoint == nil {
		return ""
	}
	return n.st.Checkpoint.ID
}

// Explain is the whole explanation of the selected entry, at a width.
func (p *Timeline) Explain(w int) []cell.Row {
	n := p.current()
	if n == nil {
		return nil
	}
	return p.explain(n, w)
}

// Home implements Pane: it selects the first entry.
func (p *Timeline) Home() {
	if id, ok := p.First(); ok {
		p.choose(id)
		p.view.Home(p)
	}
}

// End implements Pane: it follows again.
func (p *Timeline) End() {
	p.view.Follow()
	if id, ok := p.Last(); ok && p.has {
		p.selected = id
	}
}
