package pane

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/scroll"
)

// hit is a row that was found.
type hit struct {
	id  scroll.ID
	row int
	ok  bool
}

// Find looks for a row with the text, from the last one found on: up towards
// older rows, or down. It shows the row and says whether there is one. Case
// does not matter. An empty text forgets what was found.
func (b *base) Find(text string, up bool) bool {
	if _, some := b.src.First(); text == "" || !some {
		b.hit = hit{}
		return false
	}
	text = strings.ToLower(text)
	for at, ok := b.nextRow(b.from(up), up); ok; at, ok = b.nextRow(at, up) {
		rows := b.src.Rows(at.id)
		if at.row < len(rows) && strings.Contains(strings.ToLower(ansi.Strip(rows[at.row])), text) {
			at.ok = true
			b.hit = at
			b.view.Reveal(b.src, b.h, at.id)
			return true
		}
	}
	return false
}

// Unfind forgets what was found.
func (b *base) Unfind() { b.hit = hit{} }

// from is where a search starts: at what was found, or beyond the end.
func (b *base) from(up bool) hit {
	if b.hit.ok {
		return b.hit
	}
	if up {
		id, _ := b.src.Last()
		return hit{id: id + 1}
	}
	id, _ := b.src.First()
	return hit{id: id, row: -1}
}

// nextRow is the row after or before another.
func (b *base) nextRow(at hit, up bool) (hit, bool) {
	if !up {
		if at.row+1 < len(b.src.Rows(at.id)) {
			return hit{id: at.id, row: at.row + 1}, true
		}
		id, ok := b.src.Next(at.id)
		return hit{id: id}, ok
	}
	for at.row == 0 {
		id, ok := b.src.Prev(at.id)
		if !ok {
			return hit{}, false
		}
		at = hit{id: id, row: len(b.src.Rows(id))}
	}
	at.row--
	return at, true
}

// marked draws a row as the one that was found.
func (b *base) marked(text string) string {
	style := b.l.On(themes.Selection, themes.Heading)
	return cell.Row{cell.S(style, ansi.Strip(text))}.Render(b.w, style)
}

// Spot is a cell of a pane's window.
type Spot struct{ X, Y int }

// Select marks the cells between two spots, as text runs. The window stops
// following, so that what is marked stays.
func (b *base) Select(from, to Spot) {
	b.view.Pause(b.src, b.h)
	b.selFrom, b.selTo, b.selecting = from, to, true
}

// Unselect forgets what was marked.
func (b *base) Unselect() { b.selecting = false }

// Selecting says that something is marked.
func (b *base) Selecting() bool { return b.selecting && b.selFrom != b.selTo }

// ends are the two spots in the order of the text.
func (b *base) ends() (first, last Spot) {
	first, last = b.selFrom, b.selTo
	if last.Y < first.Y || last.Y == first.Y && last.X < first.X {
		first, last = last, first
	}
	return first, last
}

// span is the marked part of row y, from one column up to another.
func (b *base) span(y int) (from, to int, ok bool) {
	first, last := b.ends()
	if !b.Selecting() || y < first.Y || y > last.Y {
		return 0, 0, false
	}
	from, to = 0, b.w
	if y == first.Y {
		from = max(first.X, 0)
	}
	if y == last.Y {
		to = min(last.X+1, b.w)
	}
	return from, to, from < to
}

// Selected is the marked text of drawn rows.
func (b *base) Selected(rows []string) string {
	var out []string
	for y, row := range rows {
		if from, to, ok := b.span(y); ok {
			out = append(out, strings.TrimRight(cell.Part(row, from, to), " "))
		}
	}
	return strings.Join(out, "\n")
}

// mark shows what is marked in drawn rows.
func (b *base) mark(rows []string) []string {
	if !b.Selecting() {
		return rows
	}
	style := b.l.On(themes.Selection, themes.Text)
	for y, row := range rows {
		from, to, ok := b.span(y)
		if !ok {
			continue
		}
		rows[y] = cell.Splice(row, from, to, b.w, style.Seq()+cell.Part(row, from, to))
	}
	return rows
}
