package table

import (
	"strings"

	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// gap is the distance between two columns, in cells.
const gap = 2

// narrow is the least width of a column that was cut.
const narrow = 4

// Draw makes the rows of a table: its head, a rule, and n of its rows from a
// first one on, at most w cells wide. Columns that do not fit are left out and
// counted.
func (t *Table) Draw(l *look.Look, w, first, n int) []cell.Row {
	widths, left := t.widths(w)
	head, rule := cell.Row{}, 0
	for c, width := range widths {
		head = t.put(head, l.Bold, c, t.Head[c], width)
		rule += width
	}
	rule += gap * max(len(widths)-1, 0)
	if left > 0 {
		head = append(head, cell.S(l.Muted, "  +"+look.Count(left)))
	}
	rows := []cell.Row{head, {cell.S(l.Border, strings.Repeat(l.Glyphs.H, rule))}}
	for i := max(first, 0); i < min(first+n, len(t.Rows)); i++ {
		var row cell.Row
		for c, width := range widths {
			row = t.put(row, l.Text, c, t.Rows[i][c], width)
		}
		rows = append(rows, row)
	}
	return rows
}

// put adds a cell: numbers stand at the right of their column, the rest at the
// left.
func (t *Table) put(row cell.Row, style cell.Style, column int, text string, width int) cell.Row {
	text = cell.Truncate(cell.Safe(text), width)
	pad := cell.Spaces(width - cell.Width(text))
	if t.Numeric(column) {
		text = pad + text
	} else {
		text += pad
	}
	if column > 0 {
		text = cell.Spaces(gap) + text
	}
	return append(row, cell.Span{Style: style, Text: text})
}

// widths gives each column the room that it needs, as far as there is any, and
// says how many columns have none.
func (t *Table) widths(w int) (widths []int, left int) {
	used := 0
	for c := range t.Head {
		need := cell.Width(cell.Safe(t.Head[c]))
		for _, r := range t.Rows[:min(len(t.Rows), 50)] {
			need = max(need, cell.Width(cell.Safe(r[c])))
		}
		need = clamp(need, 1, max(w/2, 8))
		if c > 0 {
			used += gap
		}
		room := w - used
		if c < len(t.Head)-1 {
			room -= 5 // for the number of columns that are left out
		}
		if need > room && room < narrow {
			return widths, len(t.Head) - c
		}
		widths = append(widths, min(need, room))
		used += min(need, room)
	}
	return widths, 0
}

func clamp(n, low, high int) int { return max(low, min(n, high)) }
