package still

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/themes"
)

// style is how a cell looks.
type style struct {
	fg, bg                         string
	bold, faint, italic, underline bool
}

// glyph is one cell. The second cell of a wide character has no text.
type glyph struct {
	style
	text string
}

func (g glyph) sameShape(o glyph) bool { return g.text == o.text && g.style == o.style }

// attributes are the weights as SVG writes them.
func (s style) attributes() string {
	var b strings.Builder
	if s.bold {
		b.WriteString(` font-weight="bold"`)
	}
	if s.italic {
		b.WriteString(` font-style="italic"`)
	}
	if s.underline {
		b.WriteString(` text-decoration="underline"`)
	}
	if s.faint {
		b.WriteString(` opacity="0.6"`)
	}
	return b.String()
}

// parse turns the text of a frame into cells.
func parse(frame string, t themes.Theme) [][]glyph {
	rows := strings.Split(frame, "\n")
	grid := make([][]glyph, len(rows))
	for y, row := range rows {
		grid[y] = parseRow(row, t)
	}
	return grid
}

func parseRow(row string, t themes.Theme) []glyph {
	var out []glyph
	pen := plainStyle(t)
	state := byte(0)
	for row != "" {
		seq, width, n, next := ansi.DecodeSequence(row, state, nil)
		state, row = next, row[n:]
		switch {
		case width > 0:
			out = append(out, glyph{pen, seq})
			for range width - 1 {
				out = append(out, glyph{style: pen})
			}
		case strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m"):
			pen = pen.apply(seq[2:len(seq)-1], t)
		}
	}
	return out
}

func plainStyle(t themes.Theme) style {
	return style{fg: solid(t, themes.Text), bg: solid(t, themes.Background)}
}

// apply reads the parameters of a colour sequence.
func (s style) apply(params string, t themes.Theme) style {
	fields := strings.Split(params, ";")
	reverse := false
	for i := 0; i < len(fields); i++ {
		n, _ := strconv.Atoi(fields[i]) // a missing number is 0
		switch {
		case n == 0:
			s = plainStyle(t)
		case n == 7:
			reverse = true
		case n == 39:
			s.fg = solid(t, themes.Text)
		case n == 49:
			s.bg = solid(t, themes.Background)
		case n < 30:
			s.weigh(n)
		case n == 38 || n == 48:
			colour, used := extended(fields[i+1:])
			i += used
			if n == 38 {
				s.fg = colour
			} else {
				s.bg = colour
			}
		case n >= 30 && n <= 37 || n >= 90 && n <= 97:
			s.fg = named(n%10 + 8*(n/90))
		case n >= 40 && n <= 47 || n >= 100 && n <= 107:
			s.bg = named(n%10 + 8*(n/100))
		}
	}
	if reverse {
		s.fg, s.bg = s.bg, s.fg
	}
	return s
}

// weigh reads a parameter that sets or ends a weight.
func (s *style) weigh(n int) {
	switch n {
	case 1:
		s.bold = true
	case 2:
		s.faint = true
	case 3:
		s.italic = true
	case 4:
		s.underline = true
	case 22:
		s.bold, s.faint = false, false
	case 23:
		s.italic = false
	case 24:
		s.underline = false
	}
}

// extended reads "2;r;g;b" or "5;n".
func extended(fields []string) (colour string, used int) {
	number := func(i int) int {
		if i >= len(fields) {
			return 0
		}
		n, _ := strconv.Atoi(fields[i])
		return n
	}
	if number(0) == 2 {
		return hex(number(1), number(2), number(3)), 4
	}
	return indexed(number(1)), 2
}

func hex(r, g, b int) string {
	return themes.RGB(uint8(r), uint8(g), uint8(b)).String()
}

// indexed is a colour of the 256-colour palette, as xterm defines it.
func indexed(n int) string {
	switch {
	case n < 16:
		return named(n)
	case n < 232:
		step := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + v*40
		}
		n -= 16
		return hex(step(n/36), step(n/6%6), step(n%6))
	}
	v := 8 + (n-232)*10
	return hex(v, v, v)
}

// named is one of the 16 colours as a common terminal shows it.
func named(n int) string {
	return [16]string{
		"#1c1c1c", "#cc4444", "#3a9a4a", "#b08020", "#4070c0", "#9a50b0", "#2f98a8", "#c8c8c8",
		"#707070", "#ff6b6b", "#5fd06f", "#f0c040", "#6f9fff", "#d080e8", "#5fd0e0", "#ffffff",
	}[n&15]
}
