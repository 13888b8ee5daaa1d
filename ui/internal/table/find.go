package table

import "strings"

// Last finds the last table that a program has printed: lines without a blank
// one between them whose columns stand below each other. A title above and
// remarks below it are left out. Nil: there is none.
func Last(text string) *Table {
	blocks := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n\n")
	for i := len(blocks) - 1; i >= 0; i-- {
		if t := framed(strings.Split(strings.Trim(blocks[i], "\n"), "\n")); t != nil {
			return t
		}
	}
	return nil
}

// maxFrame is how many lines around a table can be no part of it.
const maxFrame = 3

// framed looks for a table among lines, with fewer and fewer of them.
func framed(lines []string) *Table {
	for out := 0; out <= 2*maxFrame; out++ {
		for above := 0; above <= min(out, maxFrame); above++ {
			if below := out - above; below <= maxFrame && above+below < len(lines) {
				if t := Aligned(strings.Join(lines[above:len(lines)-below], "\n")); t != nil {
					return t
				}
			}
		}
	}
	return nil
}
