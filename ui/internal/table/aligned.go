package table

import (
	"strings"

	"kintsugi/ui/internal/cell"
)

// maxAligned is how many lines of aligned text are looked at.
const maxAligned = 200

// Aligned reads text whose columns stand below each other, as programs print
// data frames. Nil: it is no table.
func Aligned(text string) *Table {
	text, clipped := clip(text, true)
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	clipped = clipped || len(lines) > maxAligned
	lines = lines[:min(len(lines), maxAligned)]
	if len(lines) < 3 {
		return nil
	}
	grid := make([][]rune, len(lines))
	wide := 0
	for i, l := range lines {
		l = strings.TrimRight(l, " \r")
		if l == "" || cell.Safe(l) != l || cell.Width(l) != len([]rune(l)) {
			return nil
		}
		grid[i] = []rune(l)
		wide = max(wide, len(grid[i]))
	}
	t := build(fields(grid, rivers(grid, wide)))
	if t == nil || len(t.Head) < 2 || !dense(t) {
		return nil
	}
	t.Cut = t.Cut || clipped
	return t
}

// rivers marks the columns of characters that are blank in every line.
func rivers(grid [][]rune, wide int) []bool {
	blank := make([]bool, wide)
	for x := range blank {
		blank[x] = true
		for _, row := range grid {
			if x < len(row) && row[x] != ' ' {
				blank[x] = false
				break
			}
		}
	}
	return blank
}

// fields cuts the lines at the rivers.
func fields(grid [][]rune, blank []bool) [][]string {
	out := make([][]string, len(grid))
	for x := 0; x < len(blank); {
		if blank[x] {
			x++
			continue
		}
		end := x
		for end < len(blank) && !blank[end] {
			end++
		}
		for i, row := range grid {
			text := ""
			if x < len(row) {
				text = string(row[x:min(end, len(row))])
			}
			out[i] = append(out[i], short(text))
		}
		x = end
	}
	return out
}

// dense says that a table has a cell nearly everywhere, and a column of
// numbers: prose that happens to line up has neither.
func dense(t *Table) bool {
	empty, numbers := 0, false
	for c := range t.Head {
		numbers = numbers || t.Numeric(c)
		for _, r := range t.Rows {
			if r[c] == "" {
				empty++
			}
		}
	}
	return numbers && empty*5 <= len(t.Rows)*len(t.Head)
}
