package cell

import "github.com/charmbracelet/x/ansi"

// Splice puts middle, which is to-from cells wide, in place of the cells from
// one column up to another of a drawn row that is width cells wide. A wide
// character that is cut in two becomes blanks.
func Splice(row string, from, to, width int, middle string) string {
	left := ansi.Truncate(row, from, "")
	right := ansi.TruncateLeft(row, to, "")
	for skip := to + 1; ansi.StringWidth(right) > width-to && skip <= width; skip++ {
		right = ansi.TruncateLeft(row, skip, "")
	}
	left += Spaces(from - ansi.StringWidth(left))
	return left + middle + Reset + Spaces(width-to-ansi.StringWidth(right)) + right
}

// Part is the text of the cells from one column up to another of a drawn row,
// without its colours and exactly as wide.
func Part(row string, from, to int) string {
	text := ansi.Strip(ansi.Cut(row, from, to))
	for ansi.StringWidth(text) > to-from {
		text = ansi.Truncate(text, to-from, "")
	}
	return text + Spaces(to-from-ansi.StringWidth(text))
}
