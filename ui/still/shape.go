package still

import (
	"bytes"
	"fmt"
	"strings"
)

// arms says which way a line goes from the middle of its cell: left, right,
// up, down.
func arms(text string) string {
	switch text {
	case "─", "━":
		return "lr"
	case "╸":
		return "l"
	case "╺":
		return "r"
	case "│":
		return "ud"
	case "┬":
		return "lrd"
	case "┴":
		return "lru"
	case "├":
		return "udr"
	case "└":
		return "ur"
	}
	return ""
}

// corners are the rounded ones.
const corners = "╭╮╰╯"

// block is a filled part of a cell: its place and size as parts of the cell,
// and how dense it is.
type block struct{ x, y, w, h, ink float64 }

func blockOf(text string) (block, bool) {
	switch text {
	case "▏":
		return block{0, 0, 1.0 / 8, 1, 1}, true
	case "▍":
		return block{0, 0, 3.0 / 8, 1, 1}, true
	case "▌":
		return block{0, 0, 1.0 / 2, 1, 1}, true
	case "▐":
		return block{0.5, 0, 1.0 / 2, 1, 1}, true
	case "▀":
		return block{0, 0, 1, 1.0 / 2, 1}, true
	case "▄":
		return block{0, 0.5, 1, 1.0 / 2, 1}, true
	case "█":
		return block{0, 0, 1, 1, 1}, true
	case "░":
		return block{0, 0, 1, 1, 0.3}, true
	case "▒":
		return block{0, 0, 1, 1, 0.55}, true
	case "▓":
		return block{0, 0, 1, 1, 0.8}, true
	}
	return block{}, false
}

func isShape(text string) bool {
	_, filled := blockOf(text)
	return filled || arms(text) != "" || text != "" && strings.Contains(corners, text)
}

// overlap closes the hair between two pieces of a line.
const overlap = 0.4

// heavy says that a line is a thick one.
func heavy(text string) bool { return text == "━" || text == "╸" || text == "╺" }

// shape draws n equal cells from x on.
func shape(b *bytes.Buffer, x, y, n int, g glyph) {
	filled, ok := blockOf(g.text)
	switch {
	case ok && filled.w == 1:
		fill(b, filled, x, y, n, g)
	case ok:
		for i := range n {
			fill(b, filled, x+i, y, 1, g)
		}
	case strings.Contains(corners, g.text):
		for i := range n {
			corner(b, x+i, y, g)
		}
	case arms(g.text) == "lr":
		stroke(b, fmt.Sprintf("M%.2f %.2fH%.2f", left(x), middle(y), left(x+n)+overlap), g)
	default:
		for i := range n {
			lines(b, x+i, y, g)
		}
	}
}

// fill draws a block over n cells.
func fill(b *bytes.Buffer, f block, x, y, n int, g glyph) {
	opacity := ""
	if f.ink < 1 {
		opacity = fmt.Sprintf(` opacity="%g"`, f.ink)
	}
	fmt.Fprintf(b, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s"%s shape-rendering="crispEdges"/>`+"\n",
		left(x)+f.x*cellW, top(y)+f.y*cellH, cellW*(f.w*float64(n)), cellH*f.h, g.fg, opacity)
}

func centre(x int) float64 { return left(x) + cellW/2 }
func middle(y int) float64 { return top(y) + cellH/2 }

func lines(b *bytes.Buffer, x, y int, g glyph) {
	var d strings.Builder
	for _, arm := range arms(g.text) {
		fmt.Fprintf(&d, "M%.2f %.2f", centre(x), middle(y))
		switch arm {
		case 'l':
			fmt.Fprintf(&d, "H%.2f", left(x))
		case 'r':
			fmt.Fprintf(&d, "H%.2f", left(x+1))
		case 'u':
			fmt.Fprintf(&d, "V%.2f", top(y))
		case 'd':
			fmt.Fprintf(&d, "V%.2f", top(y+1))
		}
	}
	stroke(b, d.String(), g)
}

func corner(b *bytes.Buffer, x, y int, g glyph) {
	sideX, sideY := left(x+1), top(y+1)
	if g.text == "╮" || g.text == "╯" {
		sideX = left(x)
	}
	if g.text == "╰" || g.text == "╯" {
		sideY = top(y)
	}
	stroke(b, fmt.Sprintf("M%.2f %.2fQ%.2f %.2f %.2f %.2f", sideX, middle(y), centre(x), middle(y), centre(x), sideY), g)
}

func stroke(b *bytes.Buffer, d string, g glyph) {
	width := 1.2
	if heavy(g.text) {
		width = 3
	}
	opacity := ""
	if g.faint {
		opacity = ` opacity="0.6"`
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="%g"%s/>`+"\n", d, g.fg, width, opacity)
}
