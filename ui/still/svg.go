// Package still draws the text of a screen, with its colours, as a picture. It
// needs no terminal and reads nothing.
package still

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"kintsugi/themes"
)

// The geometry of the picture, in its own units. A cell has the proportions of
// the common monospace fonts, whose advance is 0.602 of their size.
const (
	fontSize = 15.0
	cellW    = fontSize * 0.602
	cellH    = 19.0
	margin   = 14.0
	barH     = 34.0
)

// fonts are tried in this order; all have the same advance or nearly so, and
// the picture places every word itself.
const fonts = "'DejaVu Sans Mono','SFMono-Regular',Menlo,Consolas,'Liberation Mono',monospace"

// SVG is a picture of a frame in a window, with title in its bar. Lines and
// blocks are drawn as shapes, so that they meet whatever font the viewer has.
func SVG(frame string, t themes.Theme, title string) []byte {
	p := picture{theme: t, grid: parse(frame, t)}
	w, h := p.size()
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(title))
	p.window(&b, w, h, title)
	fmt.Fprintf(&b, `<g font-family="%s" font-size="%g" xml:space="preserve">`+"\n", fonts, fontSize)
	for y, row := range p.grid {
		p.backgrounds(&b, y, row)
	}
	for y, row := range p.grid {
		p.row(&b, y, row)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// picture is a grid of cells to be drawn.
type picture struct {
	theme themes.Theme
	grid  [][]glyph
}

func (p picture) size() (w, h float64) {
	columns := 0
	for _, row := range p.grid {
		columns = max(columns, len(row))
	}
	return float64(columns)*cellW + 2*margin, float64(len(p.grid))*cellH + barH + margin
}

// window draws the frame around the screen.
func (p picture) window(b *bytes.Buffer, w, h float64, title string) {
	bg, bar := solid(p.theme, themes.Background), solid(p.theme, themes.Surface)
	edge, text := solid(p.theme, themes.Border), solid(p.theme, themes.Muted)
	fmt.Fprintf(b, `<rect x="0.5" y="0.5" width="%.0f" height="%.0f" rx="10" fill="%s" stroke="%s"/>`+"\n", w-1, h-1, bg, edge)
	fmt.Fprintf(b, `<path d="M1 %g V10.5 A9.5 9.5 0 0 1 10.5 1 H%.1f A9.5 9.5 0 0 1 %.1f 10.5 V%g Z" fill="%s"/>`+"\n", barH-8, w-10.5, w-1, barH-8, bar)
	for i, k := range []themes.Token{themes.Error, themes.Gold, themes.OK} {
		fmt.Fprintf(b, `<circle cx="%d" cy="13.5" r="5" fill="%s"/>`+"\n", 20+i*18, solid(p.theme, k))
	}
	fmt.Fprintf(b, `<text x="%.1f" y="18" text-anchor="middle" font-family="%s" font-size="12.5" fill="%s">%s</text>`+"\n", w/2, fonts, text, escape(title))
}

func left(x int) float64 { return margin + float64(x)*cellW }
func top(y int) float64  { return barH + float64(y)*cellH }

// backgrounds draws the runs of cells that are not on the plain ground.
func (p picture) backgrounds(b *bytes.Buffer, y int, row []glyph) {
	ground := solid(p.theme, themes.Background)
	for x := 0; x < len(row); {
		end := x + 1
		for end < len(row) && row[end].bg == row[x].bg {
			end++
		}
		if row[x].bg != ground {
			fmt.Fprintf(b, `<rect x="%.2f" y="%.1f" width="%.2f" height="%.1f" fill="%s" shape-rendering="crispEdges"/>`+"\n", left(x), top(y), float64(end-x)*cellW, cellH, row[x].bg)
		}
		x = end
	}
}

// row draws the glyphs of a row: shapes one by one, text word by word.
func (p picture) row(b *bytes.Buffer, y int, row []glyph) {
	for x := 0; x < len(row); {
		g := row[x]
		switch {
		case g.text == "" || g.text == " ":
			x++
		case isShape(g.text):
			n := 1
			for x+n < len(row) && row[x+n].sameShape(g) {
				n++
			}
			shape(b, x, y, n, g)
			x += n
		default:
			x = p.word(b, x, y, row)
		}
	}
}

// word draws the text from x up to a blank, a shape or another style.
func (p picture) word(b *bytes.Buffer, x, y int, row []glyph) int {
	g := row[x]
	var text strings.Builder
	end := x
	for end < len(row) && row[end].style == g.style && row[end].text != " " && !isShape(row[end].text) {
		text.WriteString(row[end].text)
		end++
	}
	fmt.Fprintf(b, `<text x="%.2f" y="%.1f" textLength="%.2f" fill="%s"%s>%s</text>`+"\n",
		left(x), top(y)+cellH*0.74, float64(end-x)*cellW, g.fg, g.attributes(), escape(text.String()))
	return end
}

// solid is a token as a colour that a picture can have; where the theme leaves
// it to the terminal, that of a common terminal.
func solid(t themes.Theme, k themes.Token) string {
	c := t.Color(k)
	if _, _, _, ok := c.RGB(); ok {
		return c.String()
	}
	if n, err := strconv.Atoi(c.String()); err == nil {
		return indexed(n)
	}
	base := themes.Dark
	if !t.Dark {
		base = themes.Light
	}
	if fallback, err := themes.Load(base, nil); err == nil {
		return fallback.Color(k).String()
	}
	return "#808080"
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}
