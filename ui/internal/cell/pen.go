package cell

import (
	"strconv"
	"strings"
)

// Palette maps the colours that programs use to those of the screen.
type Palette struct {
	// Base is the style of text without colour.
	Base Style
	// ANSI are the parameters of the 16 named colours as foregrounds and as
	// backgrounds.
	ANSI, ANSIBack [16]string
	// Plain drops colours and keeps weights.
	Plain bool
}

// Pen is the state that the colour sequences of a program have built up. The
// zero Pen is the default.
type Pen struct {
	fg, bg string // "", "0".."15" for named ones, or full parameters
	attr   Attr
}

// Parse splits a line of program output, in which only colour sequences have
// been left, into spans, and returns the pen after it.
func Parse(line string, pen Pen, p *Palette) ([]Span, Pen) {
	if strings.IndexByte(line, 0x1b) < 0 {
		return []Span{{pen.style(p), Safe(line)}}, pen
	}
	var out []Span
	column := 0
	for line != "" {
		i := strings.IndexByte(line, 0x1b)
		if i < 0 {
			i = len(line)
		}
		if i > 0 {
			text := safeAt(line[:i], column)
			column += Width(text)
			out = append(out, Span{pen.style(p), text})
			line = line[i:]
			continue
		}
		n := pen.sequence(line)
		line = line[n:]
	}
	return out, pen
}

// safeAt is Safe for text that starts at a column, for tabs.
func safeAt(s string, column int) string {
	if strings.IndexByte(s, '\t') < 0 {
		return Safe(s)
	}
	pad := column % TabWidth
	return Safe(Spaces(pad) + s)[pad:]
}

// Scan is Parse for a line that nobody will see: only the pen matters.
func Scan(line string, pen Pen) Pen {
	for {
		i := strings.IndexByte(line, 0x1b)
		if i < 0 {
			return pen
		}
		line = line[i:]
		line = line[pen.sequence(line):]
	}
}

// sequence takes the control sequence at the start of s and returns its
// length. Anything but a colour is swallowed.
func (pen *Pen) sequence(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s); i++ {
		c := s[i]
		if c >= 0x40 && c <= 0x7e {
			if c == 'm' {
				pen.apply(s[2:i])
			}
			return i + 1
		}
		if c < 0x20 || c > 0x7e {
			return i
		}
	}
	return len(s)
}

func (pen *Pen) apply(params string) {
	fields := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(fields) == 0 {
		*pen = Pen{}
	}
	for i := 0; i < len(fields); i++ {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return
		}
		if n == 38 || n == 48 {
			i += pen.extended(n, fields[i+1:])
			continue
		}
		pen.simple(n)
	}
}

func (pen *Pen) simple(n int) {
	switch {
	case n == 0:
		*pen = Pen{}
	case n == 22:
		pen.attr &^= Bold | Faint
	case n >= 23 && n <= 29:
		pen.attr &^= offs[n-23]
	case n >= 1 && n <= 9:
		pen.attr |= ons[n]
	case n >= 30 && n <= 37:
		pen.fg = strconv.Itoa(n - 30)
	case n >= 40 && n <= 47:
		pen.bg = strconv.Itoa(n - 40)
	case n >= 90 && n <= 97:
		pen.fg = strconv.Itoa(n - 82)
	case n >= 100 && n <= 107:
		pen.bg = strconv.Itoa(n - 92)
	case n == 39:
		pen.fg = ""
	case n == 49:
		pen.bg = ""
	}
}

var (
	ons  = [10]Attr{1: Bold, 2: Faint, 3: Italic, 4: Underline, 7: Reverse, 9: Strike}
	offs = [7]Attr{0: Italic, 1: Underline, 4: Reverse, 6: Strike}
)

// extended reads 38;5;n, 38;2;r;g;b and the same for 48. It returns how many
// fields it took.
func (pen *Pen) extended(which int, rest []string) int {
	take := func(n int) int {
		if len(rest) < n {
			return len(rest)
		}
		value := strings.Join(append([]string{strconv.Itoa(which)}, rest[:n]...), ";")
		if n == 2 {
			value = named(rest[1], value)
		}
		if which == 38 {
			pen.fg = value
		} else {
			pen.bg = value
		}
		return n
	}
	switch {
	case len(rest) > 0 && rest[0] == "5":
		return take(2)
	case len(rest) > 0 && rest[0] == "2":
		return take(4)
	}
	return len(rest)
}

// named gives the first 16 indexes the same treatment as the named colours.
func named(index, otherwise string) string {
	if n, err := strconv.Atoi(index); err == nil && n >= 0 && n < 16 {
		return strconv.Itoa(n)
	}
	return otherwise
}

func (pen Pen) style(p *Palette) Style {
	if pen == (Pen{}) {
		return p.Base
	}
	fg, bg := p.Base.fg, p.Base.bg
	if !p.Plain {
		fg, bg = pick(pen.fg, fg, &p.ANSI), pick(pen.bg, bg, &p.ANSIBack)
	}
	return NewStyle(fg, bg, p.Base.attr|pen.attr)
}

func pick(value, base string, table *[16]string) string {
	if value == "" {
		return base
	}
	if n, err := strconv.Atoi(value); err == nil {
		return table[n&15]
	}
	return value
}
