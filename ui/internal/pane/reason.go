package pane

import (
	"strings"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/md"
	"kintsugi/ui/internal/scroll"
)

// Thinking says how much of the private chain of thought is shown.
type Thinking int

// Auto shows thinking while it streams and folds it when the text begins.
const (
	Auto Thinking = iota
	All
	Hidden
)

// Reason shows what the agent thinks and says, and what it calls.
type Reason struct {
	base
	entries []*thought
	index   map[*event.Step]*thought
	notes   int // notes of the state taken over
	density Thinking
	whole   bool // programs are shown to their end
	lesson  string
	model   event.Model
}

// thought is one step, or a note between steps.
type thought struct {
	st                *event.Step
	note              *event.Note
	thinkDoc, textDoc md.Doc
	nt, nx            int // chunks taken over
	words             int
	done              bool // answered from the step's answer
	flip              bool // the user wants its thinking the other way
	cache             map[scroll.ID]cached
}

type cached struct {
	rows       []string
	width, gen int
}

// The parts of an entry, in the order of the screen.
const (
	partTask = iota
	partThinkHead
	partThink
	partGap
	partText
	partCall
	partNote
	partEnd
	parts
)

// NewReason makes an empty pane.
func NewReason(l *look.Look) *Reason {
	p := &Reason{index: map[*event.Step]*thought{}}
	p.l, p.w, p.h, p.src, p.seen = l, 1, 1, p, -1
	return p
}

// Name implements Pane.
func (p *Reason) Name() string { return "Reasoning" }

// Sync implements Pane.
func (p *Reason) Sync(s *event.State) {
	p.lesson, p.model = s.Session.Lesson, s.Model
	for _, st := range s.Steps {
		if p.old(st) {
			continue
		}
		p.see(st)
		t := p.index[st]
		if t == nil {
			p.takeNotes(s, st.FirstSeq)
			t = &thought{st: st, cache: map[scroll.ID]cached{}}
			p.index[st] = t
			p.entries = append(p.entries, t)
		}
	}
	p.takeNotes(s, s.Seq+1)
	p.seen = s.Seq
}

// takeNotes takes over the notes that were written before an event.
func (p *Reason) takeNotes(s *event.State, before int64) {
	for ; p.notes < len(s.Notes) && s.NotesAt[p.notes] < before; p.notes++ {
		note := s.Notes[p.notes]
		p.entries = append(p.entries, &thought{note: &note})
	}
}

// think is the chain of thought as far as it has come.
func (t *thought) think() *md.Doc {
	for ; t.nt < len(t.st.Thinking); t.nt++ {
		chunk := t.st.Thinking[t.nt]
		t.words += len(strings.Fields(chunk))
		t.thinkDoc.Write(chunk)
	}
	return &t.thinkDoc
}

// text is what the agent says, as far as it has come.
func (t *thought) text() *md.Doc {
	for ; t.nx < len(t.st.Text); t.nx++ {
		t.textDoc.Write(t.st.Text[t.nx])
	}
	if t.st.Answer != "" && !t.done && t.textDoc.Empty() {
		t.textDoc.Write(t.st.Answer)
		t.done = true
	}
	return &t.textDoc
}

func part(entry, part, i int) scroll.ID {
	return scroll.ID(entry)<<32 | scroll.ID(part)<<24 | scroll.ID(min(i, 1<<24-1))
}

func unpart(id scroll.ID) (entry, part, i int) {
	return int(id >> 32), int(id>>24) & 0xff, int(id & (1<<24 - 1))
}

// size is the number of items of a part.
func (p *Reason) size(t *thought, which int) int {
	if t.st == nil {
		return one(which == partNote)
	}
	switch which {
	case partTask:
		return one(t.st.Task != "")
	case partThinkHead:
		return one(!t.think().Empty())
	case partThink:
		if p.folded(t) {
			return 0
		}
		return t.think().Len()
	case partGap:
		return one(!t.think().Empty() && !p.folded(t))
	case partText:
		return t.text().Len()
	case partCall:
		return len(t.st.Calls)
	case partNote:
		return len(t.st.Notes)
	}
	return 1
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// folded says whether a chain of thought is hidden behind its head.
func (p *Reason) folded(t *thought) bool {
	folded := p.density == Hidden
	if p.density == Auto {
		folded = over(t.st) || len(t.st.Calls) > 0 || !t.text().Empty()
	}
	return folded != t.flip
}

// First implements scroll.Source.
func (p *Reason) First() (scroll.ID, bool) { return 0, len(p.entries) > 0 }

// Last implements scroll.Source.
func (p *Reason) Last() (scroll.ID, bool) {
	return part(len(p.entries)-1, partEnd, 0), len(p.entries) > 0
}

// Next implements scroll.Source.
func (p *Reason) Next(id scroll.ID) (scroll.ID, bool) {
	entry, which, i := unpart(id)
	i++
	for entry < len(p.entries) {
		for which < parts {
			if i < p.size(p.entries[entry], which) {
				return part(entry, which, i), true
			}
			which, i = which+1, 0
		}
		entry, which, i = entry+1, 0, 0
	}
	return 0, false
}

// Prev implements scroll.Source.
func (p *Reason) Prev(id scroll.ID) (scroll.ID, bool) {
	entry, which, i := unpart(id)
	if entry >= len(p.entries) {
		return p.Last()
	}
	i = min(i, p.size(p.entries[entry], which))
	for entry >= 0 {
		if i > 0 {
			return part(entry, which, i-1), true
		}
		if which--; which < 0 {
			if entry--; entry < 0 {
				break
			}
			which = parts - 1
		}
		i = p.size(p.entries[entry], which)
	}
	return 0, false
}

// margin is the number of blank cells at each side of the text.
const margin = 1

// Rows implements scroll.Source.
func (p *Reason) Rows(id scroll.ID) []string {
	entry, which, i := unpart(id)
	if entry >= len(p.entries) {
		return nil
	}
	t := p.entries[entry]
	if i >= p.size(t, which) {
		return nil
	}
	frozen := t.st != nil && over(t.st) && which != partThinkHead && which != partGap && (which != partEnd || p.gilded(t.st)) || which == partThink && i < t.think().Len()-2 || which == partText && i < t.text().Len()-2
	if !frozen {
		return p.draw(t, which, i)
	}
	if c, ok := t.cache[id]; ok && c.width == p.w && c.gen == p.l.Gen {
		return c.rows
	}
	rows := p.draw(t, which, i)
	t.cache[id] = cached{rows, p.w, p.l.Gen}
	return rows
}

func (p *Reason) draw(t *thought, which, i int) []string {
	w := max(p.w-2*margin, 1)
	switch which {
	case partThink:
		return p.pad(t.think().Rows(i, w, p.l, p.l.Thinking))
	case partText:
		return p.pad(t.text().Rows(i, w, p.l, p.l.Text))
	}
	return p.pad(render(p.rows(t, which, i, w), w, p.l))
}

func (p *Reason) pad(rows []string) []string {
	edge := p.l.Text.Seq() + cell.Spaces(margin)
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = edge + r + edge
	}
	return out
}

func (p *Reason) rows(t *thought, which, i, w int) []cell.Row {
	switch which {
	case partTask:
		return p.task(t, w)
	case partThinkHead:
		return []cell.Row{p.thinkHead(t)}
	case partGap:
		return []cell.Row{nil}
	case partCall:
		return p.call(t.st.Calls[i], w)
	case partNote:
		if t.note != nil {
			return note(p.l, *t.note, w)
		}
		return note(p.l, t.st.Notes[i], w)
	case partEnd:
		return p.end(t, w)
	}
	return nil
}

// task is what the user asked, set off by a bar.
func (p *Reason) task(t *thought, w int) []cell.Row {
	bar := cell.S(p.l.Accent, p.l.Glyphs.User+" ")
	var rows []cell.Row
	for _, line := range strings.Split(strings.TrimSpace(t.st.Task), "\n") {
		for _, r := range cell.WrapWords([]cell.Span{cell.S(p.l.Bold, line)}, max(w-2, 1), nil) {
			rows = append(rows, append(cell.Row{bar}, r...))
		}
	}
	return append(rows, nil)
}

func (p *Reason) thinkHead(t *thought) cell.Row {
	g := p.l.Glyphs
	if p.folded(t) {
		return cell.Row{cell.S(p.l.Thinking, g.Thought+" thought, "+look.Plural(t.words, "word")), cell.S(p.l.Muted, " "+g.Closed)}
	}
	return cell.Row{cell.S(p.l.Thinking, g.Thought+" thinking"), cell.S(p.l.Muted, " "+g.Open)}
}

// codeLines is how much of a program is shown with its call.
const codeLines = 12

// call is a call, with the head of the program it was given.
func (p *Reason) call(c event.Call, w int) []cell.Row {
	g := p.l.Glyphs
	head := c.Tool
	if c.Origin != "" && c.Origin != "model" {
		head += " " + g.Dot + " " + c.Origin
	}
	rows := []cell.Row{nil, {cell.S(p.l.Accent, g.Call+" "), cell.S(p.l.Muted, head)}}
	text := c.Text
	if len(c.Argv) > 0 && !strings.Contains(text, "\n") {
		text = look.Command(c.Argv)
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == codeLines && !p.whole {
			rows = append(rows, cell.Row{cell.S(p.l.Faint, g.V+" "), cell.S(p.l.Muted, "… "+look.Plural(len(lines)-i, "more line"))})
			break
		}
		for _, r := range cell.WrapCode(cell.S(p.l.Code, line), max(w-2, 1)) {
			rows = append(rows, append(cell.Row{cell.S(p.l.Faint, g.V+" ")}, r...))
		}
	}
	return rows
}

// end says how a step ended and leaves room below it.
func (p *Reason) end(t *thought, w int) []cell.Row {
	if t.st == nil {
		return []cell.Row{nil}
	}
	st := t.st
	if !over(st) || len(st.Calls)+len(st.Attempts) == 0 {
		return []cell.Row{nil}
	}
	if st.Seam != nil {
		return append(append([]cell.Row{nil}, Seam(p.l, w, st.Seam.Text, st.Seam.Took, p.gilt(st))...), nil)
	}
	face := p.l.Face(stepStatus(st))
	text := face.Glyph + " " + face.Word
	if n := len(st.Attempts); n > 1 {
		text += " after " + look.Plural(n, "attempt")
	}
	return []cell.Row{{cell.S(face.Style, text)}, nil}
}

// note is a line for the user, with the command that it recommends.
func note(l *look.Look, n event.Note, w int) []cell.Row {
	status := look.Noted
	switch n.Level {
	case "warn":
		status = look.Warned
	case "error":
		status = look.Failed
	}
	face := l.Face(status)
	var rows []cell.Row
	for i, r := range cell.WrapWords([]cell.Span{cell.S(l.Text, n.Text)}, max(w-2, 1), nil) {
		mark := "  "
		if i == 0 {
			mark = face.Glyph + " "
		}
		rows = append(rows, append(cell.Row{cell.S(face.Style, mark)}, r...))
	}
	if n.Command != "" {
		for _, r := range cell.WrapCode(cell.S(l.Code, n.Command), max(w-4, 1)) {
			rows = append(rows, append(cell.Row{cell.S(l.Faint, "  "+l.Glyphs.V+" ")}, r...))
		}
	}
	return rows
}

// Lines implements Pane.
func (p *Reason) Lines(bool) []string {
	return p.base.lines(
		"Tell me what you want to do.",
		"I think here, run code in the sandbox next door, and mend what breaks. Your files stay as they are until you say otherwise.")
}

// Badge implements Pane.
func (p *Reason) Badge() cell.Row {
	if !p.view.Following() {
		return p.follow()
	}
	if p.lesson != "" {
		return cell.Row{cell.S(p.l.Info, "lesson "+p.l.Glyphs.Dot+" scripted")}
	}
	return nil
}

// Foot implements Pane.
func (p *Reason) Foot(int) cell.Row { return nil }

// ToggleThinking goes to the next way to show thinking.
func (p *Reason) ToggleThinking() Thinking {
	p.density = (p.density + 1) % 3
	return p.density
}

// Thinking is the way in which thinking is shown.
func (p *Reason) Thinking() Thinking { return p.density }

// SetThinking sets the way in which thinking is shown.
func (p *Reason) SetThinking(t Thinking) { p.density = t }

// ToggleWhole shows programs to their end, or their first lines.
func (p *Reason) ToggleWhole() bool {
	p.whole = !p.whole
	for _, t := range p.entries {
		clear(t.cache)
	}
	return p.whole
}

// Click unfolds or folds the chain of thought whose head is at a row of the
// pane. It says whether there is one.
func (p *Reason) Click(y int) bool {
	rows := p.view.Window(p, p.h)
	if y < 0 || y >= len(rows) {
		return false
	}
	entry, which, _ := unpart(rows[y].ID)
	if which != partThinkHead {
		return false
	}
	p.view.Pause(p, p.h)
	p.entries[entry].flip = !p.entries[entry].flip
	return true
}

// Show brings a step into view.
func (p *Reason) Show(step int) {
	for i, t := range p.entries {
		if t.st != nil && t.st.N == step {
			id := part(i, 0, 0)
			if p.size(t, 0) == 0 {
				id, _ = p.Next(part(i, 0, 0))
			}
			p.view.At(p, p.h, id, true)
			return
		}
	}
}
