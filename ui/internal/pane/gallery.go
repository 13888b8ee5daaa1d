package pane

import (
	"slices"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/picture"
	"kintsugi/ui/internal/table"
)

// maxShots is how many artefacts are kept as they are shown; the ones that
// were looked at longest ago go first.
const maxShots = 10

// Gallery holds what artefacts look like. All panes share one. It reads no
// file: what it lacks it is given.
type Gallery struct {
	// By is how the terminal takes pictures, CellW and CellH the size of a
	// cell in pixels.
	By           picture.Protocol
	CellW, CellH int
	// Off says that nothing can be read here: artefacts are only listed.
	Off bool
	// Painted are the pictures that the terminal has drawn over their cells.
	Painted map[Ref]bool

	shots map[Ref]*Shot
	order []Ref // the oldest first
	gen   int   // changes with everything that rows depend on
	ids   int
	freed []int // identifiers whose pictures the terminal may forget
}

// Ref names an artefact.
type Ref struct{ Checkpoint, Path string }

// RefOf names an artefact.
func RefOf(a event.Artefact) Ref { return Ref{a.Checkpoint, a.Path} }

// Shot is an artefact as it is shown: a picture, a table, or why it is none.
type Shot struct {
	Picture *picture.Picture
	Table   *table.Table
	Error   string

	// ID is its name in a Kitty terminal, Sent the size in cells for which the
	// terminal has it.
	ID   int
	Sent [2]int

	rows []cell.Row
	key  shotKey
}

// shotKey is what drawn rows depend on.
type shotKey struct {
	cols, rows, gen, id int
	by                  picture.Protocol
	painted             bool
}

// NewGallery makes an empty gallery for a terminal that shows half blocks.
func NewGallery(off bool) *Gallery {
	return &Gallery{CellW: 8, CellH: 16, Off: off, Painted: map[Ref]bool{}, shots: map[Ref]*Shot{}}
}

// Showable says that an artefact may turn out to be a picture or a table.
func Showable(a event.Artefact) bool {
	switch a.Media {
	case "text/csv", "text/tab-separated-values":
		return true
	case "text/plain":
		return a.Size <= table.MaxBytes
	}
	return picture.Shows(a.Media) && a.Size <= picture.MaxBytes
}

// Develop makes a shot of the bytes of an artefact, or of the first of them.
// It may take a while.
func Develop(a event.Artefact, data []byte) *Shot {
	whole := int64(len(data)) >= a.Size
	switch a.Media {
	case "text/csv":
		return &Shot{Table: table.Separated(string(data), ',', whole)}
	case "text/tab-separated-values":
		return &Shot{Table: table.Separated(string(data), '\t', whole)}
	case "text/plain":
		return &Shot{Table: table.Aligned(string(data))}
	}
	p, err := picture.Decode(data)
	if err != nil {
		return &Shot{Error: err.Error()}
	}
	return &Shot{Picture: p}
}

// Shot is what an artefact looks like, nil when that is not known.
func (g *Gallery) Shot(a event.Artefact) *Shot { return g.shots[RefOf(a)] }

// At is the picture of an artefact, nil when there is none.
func (g *Gallery) At(ref Ref) *picture.Picture {
	if s := g.shots[ref]; s != nil {
		return s.Picture
	}
	return nil
}

// Wants says that the bytes of an artefact are needed.
func (g *Gallery) Wants(a event.Artefact) bool {
	return !g.Off && Showable(a) && g.shots[RefOf(a)] == nil
}

// Put takes a shot in.
func (g *Gallery) Put(ref Ref, s *Shot) {
	if len(g.order) >= maxShots {
		if old := g.shots[g.order[0]]; old != nil && old.ID > 0 {
			g.freed = append(g.freed, old.ID)
		}
		delete(g.shots, g.order[0])
		g.order = g.order[1:]
	}
	g.order = append(g.order, ref)
	g.shots[ref] = s
	g.Changed()
}

// Changed makes everything be drawn anew.
func (g *Gallery) Changed() { g.gen++ }

// Seen keeps an artefact from being the one that goes first.
func (g *Gallery) Seen(a event.Artefact) {
	ref := RefOf(a)
	if i := slices.Index(g.order, ref); i >= 0 && i < len(g.order)-1 {
		g.order = append(slices.Delete(g.order, i, i+1), ref)
	}
}

// Name gives a shot its identifier in a Kitty terminal.
func (g *Gallery) Name(s *Shot) int {
	if s.ID == 0 {
		s.ID = picture.FirstID + g.ids%(picture.LastID-picture.FirstID+1)
		g.ids++
		g.Changed()
	}
	return s.ID
}

// Freed are the identifiers of pictures that are not shown any more; it
// forgets them.
func (g *Gallery) Freed() []int {
	out := g.freed
	g.freed = nil
	return out
}

// Known are all identifiers that the terminal was given.
func (g *Gallery) Known() []int {
	out := slices.Clone(g.freed)
	for _, s := range g.shots {
		if s.Sent != [2]int{} {
			out = append(out, s.ID)
		}
	}
	return out
}

// Size is how many cells the picture of a shot takes in a room of w x h.
func (g *Gallery) Size(s *Shot, w, h int) (cols, rows int) {
	maxW, maxH := picture.Room(g.By, g.CellW, g.CellH)
	return s.Picture.Fit(min(w, maxW), min(h, maxH), g.CellW, g.CellH)
}

// Ground is the background of the screen.
func Ground(l *look.Look) picture.Ground {
	if r, g, b, ok := l.Theme.Color(themes.Background).RGB(); ok {
		return picture.Ground{R: r, G: g, B: b}
	}
	if l.Theme.Dark {
		return picture.Ground{}
	}
	return picture.Ground{R: 255, G: 255, B: 255}
}

// Draw makes the cells of a picture.
func (g *Gallery) Draw(l *look.Look, ref Ref, cols, rows int) []cell.Row {
	s := g.shots[ref]
	key := shotKey{cols, rows, l.Gen, s.ID, g.By, g.Painted[ref]}
	if s.rows != nil && s.key == key {
		return s.rows
	}
	s.key = key
	switch {
	case g.By == picture.Kitty && s.ID > 0:
		s.rows = picture.KittyCells(s.ID, cols, rows)
	case l.Palette.Plain:
		s.rows = s.Picture.Shades(cols, rows, Ground(l), l.Text, l.Glyphs.Artefact == "=")
	default:
		s.rows = s.Picture.Blocks(cols, rows, Ground(l), picture.Half(g.Painted[ref]))
	}
	return s.rows
}

// Len is how many shots are kept.
func (g *Gallery) Len() int { return len(g.shots) }
