package pane

import (
	"strings"
	"time"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/scroll"
)

// Sandbox shows what the boxes do: attempt by attempt, live, and between a
// broken attempt and the next what mended it.
type Sandbox struct {
	base
	sections []*section
	index    map[any]*section
	drain    bool
	last     *event.AttemptState // the newest attempt
	lastStep *event.Step
	verbose  bool // installers' output is shown in full
	held     int  // bytes of output in all sections
	shed     int  // sections before this one have given up their output
	gallery  *Gallery
	left     int // artefacts of all attempts
}

// maxHeld bounds the output that the pane keeps of all attempts together, in
// bytes; the oldest goes first. The session's log has it all.
const maxHeld = 16 << 20

// sectionKind tells attempts from what stands between them.
type sectionKind uint8

const (
	runs  sectionKind = iota // an attempt
	joint                    // a failure and what mends it
)

// section is a part of the pane. Its rows are a head, lines of output and a
// foot.
type section struct {
	kind    sectionKind
	step    *event.Step
	attempt *event.AttemptState
	out     backlog
	install backlog
	read    int            // outputs taken over
	got     map[string]int // outputs taken over of each remedy
	kept    [2]cached      // head and foot, once nothing changes any more
	hung    *hungFoot      // the foot, when artefacts are in it
	left    int            // artefacts that were counted
}

// The rows of a section: a head, the output, a foot.
const (
	headRow = 0
	lineRow = 1
	footRow = 1 << 30
)

func at(section, row int) scroll.ID { return scroll.ID(section)<<32 | scroll.ID(row) }

func split(id scroll.ID) (section, row int) { return int(id >> 32), int(id & (1<<32 - 1)) }

// NewSandbox makes an empty pane. With drain, Sync takes the output out of the
// state, so that a flood is kept once and bounded.
func NewSandbox(l *look.Look, drain bool) *Sandbox {
	p := &Sandbox{index: map[any]*section{}, drain: drain}
	p.l, p.w, p.h, p.src, p.seen = l, 1, 1, p, -1
	return p
}

// Name implements Pane.
func (p *Sandbox) Name() string { return "Sandbox" }

// Sync implements Pane.
func (p *Sandbox) Sync(s *event.State) {
	for _, st := range s.Steps {
		if p.old(st) {
			continue
		}
		p.see(st)
		for _, a := range st.Attempts {
			p.attempt(st, a)
		}
	}
	p.seen = s.Seq
	p.trim()
}

// trim lets the oldest sections give up their output when all hold too much.
func (p *Sandbox) trim() {
	for p.held > maxHeld && p.shed < len(p.sections)-1 {
		s := p.sections[p.shed]
		p.held -= s.out.drop() + s.install.drop()
		s.kept = [2]cached{}
		p.shed++
	}
}

func (p *Sandbox) attempt(st *event.Step, a *event.AttemptState) {
	sec := p.section(a, runs, st, a)
	p.last, p.lastStep = a, st
	p.left += len(a.Artefacts) - sec.left
	sec.left = len(a.Artefacts)
	for ; sec.read < len(a.Output); sec.read++ {
		p.held += sec.out.add(a.Output[sec.read])
	}
	if p.drain {
		a.Output, sec.read = nil, 0
	}
	if a.Failure == nil && len(a.Remedies) == 0 {
		return
	}
	join := p.section(joinKey{a}, joint, st, a)
	for _, r := range a.Remedies {
		p.held += join.take(r, p.drain)
	}
}

// joinKey tells the section of a failure from that of its attempt.
type joinKey struct{ a *event.AttemptState }

func (p *Sandbox) section(key any, kind sectionKind, st *event.Step, a *event.AttemptState) *section {
	sec := p.index[key]
	if sec == nil {
		sec = &section{kind: kind, step: st, attempt: a, got: map[string]int{}}
		p.index[key] = sec
		p.sections = append(p.sections, sec)
	}
	return sec
}

// take takes over what an installer printed and returns how many bytes.
func (s *section) take(r *event.RemedyState, drain bool) int {
	held := 0
	for n := s.got[r.ID]; n < len(r.Output); n++ {
		held += s.install.add(r.Output[n])
	}
	s.got[r.ID] = len(r.Output)
	if drain {
		r.Output, s.got[r.ID] = nil, 0
	}
	return held
}

// lines is the ring whose lines a section shows, nil for none.
func (p *Sandbox) lines(s *section) *ring {
	if s.kind == runs {
		return s.out.lines()
	}
	if p.verbose {
		return s.install.lines()
	}
	return nil
}

// First implements scroll.Source.
func (p *Sandbox) First() (scroll.ID, bool) { return at(0, headRow), len(p.sections) > 0 }

// Last implements scroll.Source.
func (p *Sandbox) Last() (scroll.ID, bool) {
	return at(len(p.sections)-1, footRow), len(p.sections) > 0
}

// Next implements scroll.Source.
func (p *Sandbox) Next(id scroll.ID) (scroll.ID, bool) {
	sec, row := split(id)
	if sec >= len(p.sections) {
		return 0, false
	}
	if row < footRow {
		if r := p.lines(p.sections[sec]); r != nil && r.count() > 0 {
			n := max(row-lineRow+1, r.first)
			if row == headRow {
				n = r.first
			}
			if n < r.end() {
				return at(sec, lineRow+n), true
			}
		}
		return at(sec, footRow), true
	}
	return at(sec+1, headRow), sec+1 < len(p.sections)
}

// Prev implements scroll.Source.
func (p *Sandbox) Prev(id scroll.ID) (scroll.ID, bool) {
	sec, row := split(id)
	if sec >= len(p.sections) {
		return p.Last()
	}
	if row > headRow {
		if r := p.lines(p.sections[sec]); r != nil && r.count() > 0 {
			n := min(row-lineRow, r.end()) - 1
			if n >= r.first {
				return at(sec, lineRow+n), true
			}
		}
		return at(sec, headRow), true
	}
	return at(sec-1, footRow), sec > 0
}

// Rows implements scroll.Source.
func (p *Sandbox) Rows(id scroll.ID) []string {
	sec, row := split(id)
	if sec >= len(p.sections) {
		return nil
	}
	s := p.sections[sec]
	if row == headRow || row == footRow {
		return p.fixed(sec, s, row)
	}
	if r := p.lines(s); r != nil {
		return r.render(row-lineRow, p.w, p.l)
	}
	return nil
}

// fixed draws the head or the foot of a section.
func (p *Sandbox) fixed(i int, s *section, row int) []string {
	if row == footRow && s.kind == runs && len(s.attempt.Artefacts) > 0 {
		return p.footWithResults(s).rows
	}
	kept := &s.kept[one(row == footRow)]
	if kept.rows != nil && kept.width == p.w && kept.gen == p.l.Gen {
		return kept.rows
	}
	rows := render(p.part(i, s, row), p.w, p.l)
	if over(s.step) && p.gilded(s.step) {
		*kept = cached{rows, p.w, p.l.Gen}
	}
	return rows
}

func (p *Sandbox) part(i int, s *section, row int) []cell.Row {
	switch {
	case row == headRow && s.kind == runs && ghost(s.attempt) && len(s.attempt.Remedies) > 0:
		return nil
	case row == headRow && s.kind == runs:
		return p.head(i, s)
	case row == headRow:
		return p.failure(s)
	case s.kind == runs:
		return p.foot(s)
	}
	return p.mending(s)
}

// head is the command, for the first attempt of a step, and the attempt's own
// line.
func (p *Sandbox) head(i int, s *section) []cell.Row {
	var rows []cell.Row
	if i > 0 {
		rows = append(rows, nil)
	}
	a := s.attempt
	if a.Attempt.Attempt <= 1 && len(a.Argv) > 0 {
		rows = append(rows, cell.WrapWords([]cell.Span{
			cell.S(p.l.Accent, " $ "), cell.S(p.l.Bold, look.Command(a.Argv)),
		}, p.w-1, cell.Row{cell.S(p.l.Text, "   ")})...)
	}
	rows = append(rows, p.title(s))
	if gone := s.out.lines().first; gone > 0 {
		rows = append(rows, cell.Row{cell.S(p.l.Muted, "   … "+look.Plural(gone, "earlier line")+" not kept")})
	}
	return rows
}

// title is "✗ attempt 1 · failed · exit 1 · 0.3 s ─────".
func (p *Sandbox) title(s *section) cell.Row {
	a := s.attempt
	face := p.l.Face(attemptStatus(a, over(s.step)))
	dot := " " + p.l.Glyphs.Dot + " "
	text := dot + face.Word
	if how := ending(a); how != "" {
		text += dot + how
	}
	row := cell.Row{
		cell.S(face.Style, " "+face.Glyph+" "), cell.S(p.l.Bold, "attempt "+look.Count(a.Attempt.Attempt)),
		cell.S(face.Style, text), cell.S(p.l.Muted, dot+look.Duration(attemptTime(a, p.now))),
	}
	return ruled(p.l, row, p.w)
}

// ruled fills the rest of a row with a line.
func ruled(l *look.Look, row cell.Row, w int) cell.Row {
	if n := w - row.Width() - 2; n > 0 {
		row = append(row, cell.S(l.Border, " "+strings.Repeat(l.Glyphs.H, n)))
	}
	return row
}

// foot tells what the log left out and which limit was hit.
func (p *Sandbox) foot(s *section) []cell.Row {
	var rows []cell.Row
	if lost := s.out.lines().lost; lost > 0 {
		rows = append(rows, cell.Row{cell.S(p.l.Muted, "   … "+look.Bytes(lost)+" more in the session's side file")})
	}
	if e := s.attempt.End; e != nil && e.Limit != "" {
		text := " " + p.l.Glyphs.Limit + " stopped: " + e.Limit + " limit"
		if e.Mechanism != "" {
			text += ", enforced by " + e.Mechanism
		}
		rows = append(rows, cell.WrapWords([]cell.Span{cell.S(p.l.Error, text)}, p.w-1, cell.Row{cell.S(p.l.Text, "   ")})...)
	}
	return rows
}

// failure is the diagnosis between two attempts.
func (p *Sandbox) failure(s *section) []cell.Row {
	f := s.attempt.Failure
	if f == nil {
		return nil
	}
	face := p.l.Face(look.Failed)
	return []cell.Row{nil, {cell.S(face.Style, " "+face.Glyph+" "+failureTitle(f))}}
}

// mending is the remedies of a failure, and the gold line once they held.
func (p *Sandbox) mending(s *section) []cell.Row {
	if p.mended(s) {
		return indent(p.l, Seam(p.l, p.w-2, p.seamText(s), p.seamTime(s), p.gilt(s.step)))
	}
	var rows []cell.Row
	for _, r := range s.attempt.Remedies {
		rows = append(rows, p.remedy(s, r)...)
	}
	return rows
}

// mended says that the step worked in the end and this failure was answered.
func (p *Sandbox) mended(s *section) bool {
	if s.step.Seam == nil {
		return false
	}
	for _, r := range s.attempt.Remedies {
		if r.End != nil && r.End.OK {
			return true
		}
	}
	return false
}

func (p *Sandbox) seamText(s *section) string {
	var done []string
	for _, r := range s.attempt.Remedies {
		if r.End == nil || !r.End.OK {
			continue
		}
		if len(r.End.Versions) > 0 {
			done = append(done, strings.Join(r.End.Versions, ", "))
			continue
		}
		done = append(done, remedyTitle(r))
	}
	return strings.Join(done, ", ")
}

func (p *Sandbox) seamTime(s *section) time.Duration {
	var d time.Duration
	for _, r := range s.attempt.Remedies {
		d += remedyTime(r, p.now)
	}
	return d
}

// remedy is one remedy: what it does, its newest line, how it ended.
func (p *Sandbox) remedy(s *section, r *event.RemedyState) []cell.Row {
	face := p.l.Face(remedyStatus(r, over(s.step)))
	dot := " " + p.l.Glyphs.Dot + " "
	mend := p.l.Face(look.Mending)
	rows := []cell.Row{cell.Between(
		cell.Row{cell.S(mend.Style, " "+mend.Glyph+" "), cell.S(p.l.Text, remedyTitle(r)), cell.S(face.Style, dot+face.Word)},
		cell.Row{cell.S(p.l.Muted, look.Duration(remedyTime(r, p.now)))}, p.w-1, p.l.Text)}
	switch {
	case r.End != nil && r.End.Error != "":
		for _, row := range cell.WrapWords([]cell.Span{cell.S(p.l.Error, r.End.Error)}, max(p.w-4, 1), nil) {
			rows = append(rows, append(cell.Row{cell.S(p.l.Text, "   ")}, row...))
		}
	case r.End != nil && len(r.End.Versions) > 0:
		rows = append(rows, cell.Row{cell.S(p.l.Muted, "   "+strings.Join(r.End.Versions, ", "))}.Cut(p.w-1))
	case r.End == nil && r.Progress != "":
		rows = append(rows, cell.Row{cell.S(p.l.Muted, "   "+r.Progress)}.Cut(p.w-1))
	}
	return rows
}
