package picture

import (
	"image/color"
	"strings"

	"kintsugi/ui/internal/cell"
)

// Ground is the background that shows through a transparent picture.
type Ground struct{ R, G, B uint8 }

// Over is a colour on the ground.
func (g Ground) over(c color.NRGBA) color.NRGBA {
	mix := func(top, ground uint8) uint8 {
		return uint8((int(top)*int(c.A) + int(ground)*(255-int(c.A)) + 127) / 255)
	}
	return color.NRGBA{mix(c.R, g.R), mix(c.G, g.G), mix(c.B, g.B), 255}
}

// Half is which half of its cell a block fills. Both look the same; a terminal
// that draws only what changed draws one over the other.
type Half bool

// The halves.
const (
	Upper Half = false
	Lower Half = true
)

// Blocks draws a picture in cols x rows cells, two pixels in each.
func (p *Picture) Blocks(cols, rows int, g Ground, half Half) []cell.Row {
	img := stretched(p, cols, 2*rows)
	out := make([]cell.Row, rows)
	for y := range out {
		row := make(cell.Row, 0, cols)
		for x := range cols {
			top, low := g.over(img.NRGBAAt(x, 2*y)), g.over(img.NRGBAAt(x, 2*y+1))
			row = appendCell(row, top, low, half)
		}
		out[y] = row
	}
	return out
}

// appendCell adds a cell to a row; cells of one look share a span.
func appendCell(row cell.Row, top, low color.NRGBA, half Half) cell.Row {
	text, fg, bg := "▀", top, low
	if half == Lower {
		text, fg, bg = "▄", low, top
	}
	style := cell.NewStyle("38;2;"+rgb(fg), "48;2;"+rgb(bg), 0).Mark()
	if n := len(row); n > 0 && row[n-1].Style == style {
		row[n-1].Text += text
		return row
	}
	return append(row, cell.Span{Style: style, Text: text})
}

func rgb(c color.NRGBA) string {
	const digits = "0123456789"
	var b strings.Builder
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		if i > 0 {
			b.WriteByte(';')
		}
		if v >= 100 {
			b.WriteByte(digits[v/100])
		}
		if v >= 10 {
			b.WriteByte(digits[v/10%10])
		}
		b.WriteByte(digits[v%10])
	}
	return b.String()
}

// Shades draws a picture without colours, by how dark it is: for themes that
// have none. The steps go from the ground to the text's colour; ascii leaves
// out what a plain console lacks.
func (p *Picture) Shades(cols, rows int, g Ground, style cell.Style, ascii bool) []cell.Row {
	steps := []rune(" ░▒▓█")
	if ascii {
		steps = []rune(" .:-=+*#%@")
	}
	img := stretched(p, cols, rows)
	dark := luma(color.NRGBA{g.R, g.G, g.B, 255}) < 128
	out := make([]cell.Row, rows)
	for y := range out {
		var b strings.Builder
		for x := range cols {
			v := luma(g.over(img.NRGBAAt(x, y)))
			if !dark {
				v = 255 - v
			}
			b.WriteRune(steps[v*len(steps)/256])
		}
		out[y] = cell.Row{{Style: style.Mark(), Text: b.String()}}
	}
	return out
}

// luma is how bright a colour is, from 0 to 255, by the weights of ITU-R
// BT.601.
func luma(c color.NRGBA) int { return (299*int(c.R) + 587*int(c.G) + 114*int(c.B)) / 1000 }
