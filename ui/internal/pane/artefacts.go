package pane

import (
	"fmt"
	"path"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/scroll"
	"kintsugi/ui/internal/table"
)

const (
	// maxPreviews is how many artefacts of an attempt are shown, not only
	// listed.
	maxPreviews = 4
	// previewRows is how many rows of a table are shown in the pane.
	previewRows = 8
	// previewHeight is the most rows that a picture takes in the pane.
	previewHeight = 26
	// previewLeft is where previews begin.
	previewLeft = 3
)

// Hang gives the pane the gallery by which it shows artefacts.
func (p *Sandbox) Hang(g *Gallery) { p.gallery = g }

// hung is an artefact in the rows of a foot: where its name stands, and how
// many cells its picture below takes, none for what is no picture.
type hung struct {
	artefact   event.Artefact
	row        int
	cols, rows int
}

// results draws what an attempt left, below row at.
func (p *Sandbox) results(a *event.AttemptState, at int) ([]cell.Row, []hung) {
	var rows []cell.Row
	var all []hung
	for i, art := range a.Artefacts {
		h := hung{artefact: art, row: at + len(rows)}
		rows = append(rows, p.result(art))
		if i < maxPreviews && p.gallery != nil {
			var below []cell.Row
			below, h.cols, h.rows = p.preview(art)
			rows = append(rows, below...)
		}
		all = append(all, h)
	}
	return rows, all
}

// result names an artefact, with what it is and its size.
func (p *Sandbox) result(a event.Artefact) cell.Row {
	var s *Shot
	if p.gallery != nil {
		s = p.gallery.Shot(a)
	}
	return cell.Between(
		cell.Row{cell.S(p.l.Accent, " "+p.l.Glyphs.Artefact+" "), cell.S(p.l.Text, cell.Middle(cell.Safe(a.Path), max(p.w-24, 12)))},
		cell.Row{cell.S(p.l.Muted, Describe(p.l, a, s))}, p.w-1, p.l.Text)
}

// Describe says in a few words what an artefact is.
func Describe(l *look.Look, a event.Artefact, s *Shot) string {
	size := look.Bytes(a.Size)
	dot := " " + l.Glyphs.Dot + " "
	switch {
	case s != nil && s.Picture != nil:
		return fmt.Sprintf("%d×%d", s.Picture.Width, s.Picture.Height) + dot + size
	case s != nil && s.Table != nil:
		return look.Plural(len(s.Table.Rows), "row") + more(s) + dot + size
	case s != nil && s.Error != "":
		return s.Error + dot + size
	}
	if a.Changed {
		size = "changed" + dot + size
	}
	return size
}

func more(s *Shot) string {
	if s.Table.Cut {
		return " or more"
	}
	return ""
}

// preview draws an artefact in the pane. cols and rows are those of a picture.
func (p *Sandbox) preview(a event.Artefact) (below []cell.Row, cols, rows int) {
	s := p.gallery.Shot(a)
	room := max(p.w-previewLeft-1, 1)
	switch {
	case s == nil:
		return nil, 0, 0
	case s.Picture != nil:
		cols, rows = p.gallery.Size(s, room, clamp(p.h-4, 4, previewHeight))
		return p.indented(p.gallery.Draw(p.l, RefOf(a), cols, rows)), cols, rows
	case s.Table != nil:
		below = p.indented(s.Table.Draw(p.l, room, 0, previewRows))
		if n := len(s.Table.Rows) - previewRows; n > 0 {
			below = append(below, cell.Row{cell.S(p.l.Muted, "   … "+look.Plural(n, "row")+" more")})
		}
	}
	return below, 0, 0
}

func (p *Sandbox) indented(rows []cell.Row) []cell.Row {
	out := make([]cell.Row, len(rows))
	for i, r := range rows {
		out[i] = append(cell.Row{cell.S(p.l.Text, cell.Spaces(previewLeft))}, r...)
	}
	return out
}

// footKey is what the rows of a foot with artefacts depend on.
type footKey struct{ w, h, look, gallery int }

// hungFoot is a drawn foot with artefacts.
type hungFoot struct {
	key  footKey
	rows []string
	all  []hung
}

// footWithResults draws the foot of an attempt that left something.
func (p *Sandbox) footWithResults(s *section) *hungFoot {
	key := footKey{w: p.w, h: p.h, look: p.l.Gen}
	if p.gallery != nil {
		key.gallery = p.gallery.gen
	}
	if f := s.hung; f != nil && f.key == key && over(s.step) {
		return f
	}
	rows := p.foot(s)
	results, all := p.results(s.attempt, len(rows))
	s.hung = &hungFoot{key: key, rows: render(append(rows, results...), p.w, p.l), all: all}
	return s.hung
}

// Shown is an artefact in the window of the pane. X and Y are the first cell
// of its picture, which may be above the window; Cols is 0 when it has none.
type Shown struct {
	Artefact         event.Artefact
	X, Y, Cols, Rows int
	// Whole says that all of the picture is in the window.
	Whole bool
}

// Shown are the artefacts that the window shows now.
func (p *Sandbox) Shown() []Shown {
	if p.left == 0 {
		return nil
	}
	var out []Shown
	seen := map[scroll.ID]bool{}
	for y, placed := range p.view.Window(p, p.h) {
		i, row := split(placed.ID)
		if row != footRow || seen[placed.ID] || i >= len(p.sections) || len(p.sections[i].attempt.Artefacts) == 0 || p.sections[i].kind != runs {
			continue
		}
		seen[placed.ID] = true
		out = append(out, p.inWindow(p.footWithResults(p.sections[i]).all, y-placed.Row)...)
	}
	return out
}

// inWindow picks what is in the window of a foot that begins at a row of it.
func (p *Sandbox) inWindow(all []hung, top int) []Shown {
	var out []Shown
	for _, h := range all {
		s := Shown{Artefact: h.artefact, X: previewLeft, Y: top + h.row + 1, Cols: h.cols, Rows: h.rows}
		s.Whole = s.Y >= 0 && s.Y+s.Rows <= p.h
		if s.Y+s.Rows > 0 && s.Y-1 < p.h {
			out = append(out, s)
		}
	}
	return out
}

// HasArtefacts says that something was left.
func (p *Sandbox) HasArtefacts() bool { return p.left > 0 }

// Artefacts are all that was left, the newest first.
func (p *Sandbox) Artefacts() []event.Artefact {
	var out []event.Artefact
	for i := len(p.sections) - 1; i >= 0; i-- {
		if s := p.sections[i]; s.kind == runs {
			out = append(out, s.attempt.Artefacts...)
		}
	}
	return out
}

// ArtefactAt is the artefact whose name or preview is at a row of the window.
func (p *Sandbox) ArtefactAt(y int) (event.Artefact, bool) {
	for _, s := range p.Shown() {
		if y >= s.Y-1 && y < s.Y+max(s.Rows, 0) {
			return s.Artefact, true
		}
	}
	return event.Artefact{}, false
}

// maxOutput is how many lines of an output are searched for a table.
const maxOutput = 200

// OutputTable is the last table that the newest attempt printed, nil when there
// is none.
func (p *Sandbox) OutputTable() *table.Table {
	for i := len(p.sections) - 1; i >= 0; i-- {
		if p.sections[i].kind == runs {
			return table.Last(p.sections[i].out.lines().tail(maxOutput))
		}
	}
	return nil
}

// tail is the text of the last n lines of an output, without colours and
// without the error stream.
func (r *ring) tail(n int) string {
	var b strings.Builder
	for i := max(r.first, r.end()-n); i < r.end(); i++ {
		if ln := r.at(i); !ln.stderr {
			b.WriteString(ansi.Strip(ln.text) + "\n")
		}
	}
	return b.String()
}

// BaseName is the last part of an artefact's path.
func BaseName(a event.Artefact) string { return path.Base(a.Path) }
