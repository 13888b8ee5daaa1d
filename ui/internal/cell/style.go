package cell

import "strings"

// Attr is a weight or decoration of text.
type Attr uint8

// The attributes.
const (
	Bold Attr = 1 << iota
	Faint
	Italic
	Underline
	Reverse
	Strike
)

// Reset ends a row.
const Reset = "\x1b[m"

var codes = [...]struct {
	attr Attr
	code string
}{{Bold, ";1"}, {Faint, ";2"}, {Italic, ";3"}, {Underline, ";4"}, {Reverse, ";7"}, {Strike, ";9"}}

// Style is a complete look of text: it never inherits from what came before.
type Style struct {
	fg, bg string
	attr   Attr
	seq    string
	marked bool
}

// Mark says that the style keeps its background wherever it is put.
func (s Style) Mark() Style {
	s.marked = true
	return s
}

// Marked says whether Mark was used.
func (s Style) Marked() bool { return s.marked }

// NewStyle makes a style from the parameters that select its foreground and
// background ("38;2;1;2;3", "39").
func NewStyle(fg, bg string, attr Attr) Style {
	var b strings.Builder
	b.WriteString("\x1b[0")
	for _, c := range codes {
		if attr&c.attr != 0 {
			b.WriteString(c.code)
		}
	}
	for _, part := range []string{fg, bg} {
		if part != "" && part != "39" && part != "49" {
			b.WriteByte(';')
			b.WriteString(part)
		}
	}
	b.WriteByte('m')
	return Style{fg: fg, bg: bg, attr: attr, seq: b.String()}
}

// With adds attributes.
func (s Style) With(attr Attr) Style { return NewStyle(s.fg, s.bg, s.attr|attr) }

// On changes the background.
func (s Style) On(bg Style) Style { return NewStyle(s.fg, bg.bg, s.attr|bg.attr&Reverse) }

// Seq is the control sequence that switches to the style.
func (s Style) Seq() string { return s.seq }

// Span is text of one style. The text is safe.
type Span struct {
	Style Style
	Text  string
}

// S makes a span of any text.
func S(style Style, text string) Span { return Span{style, Safe(text)} }

// Row is one line of the screen before it is rendered.
type Row []Span

// Width is the number of cells of a row.
func (r Row) Width() int {
	n := 0
	for _, s := range r {
		n += Width(s.Text)
	}
	return n
}

// Render makes a row exactly width cells wide: cut with an ellipsis or filled
// with fill.
func (r Row) Render(width int, fill Style) string {
	var b strings.Builder
	b.Grow(width + 32*len(r) + 16)
	left := width
	for i, s := range r {
		w := Width(s.Text)
		last := i == len(r)-1
		if w > left || (w == left && !last && r[i+1:].Width() > 0) {
			b.WriteString(s.Style.seq)
			b.WriteString(Truncate(s.Text+more(w == left), left))
			left -= Width(Truncate(s.Text+more(w == left), left))
			break
		}
		b.WriteString(s.Style.seq)
		b.WriteString(s.Text)
		left -= w
	}
	if left > 0 {
		b.WriteString(fill.seq)
		b.WriteString(Spaces(left))
	}
	return b.String()
}

// more makes a text that just fits lose its last cell to the ellipsis when
// something follows.
func more(yes bool) string {
	if yes {
		return "  "
	}
	return ""
}

const blank = "                                                                                                                                "

// Spaces is n blanks.
func Spaces(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blank) {
		return blank[:n]
	}
	return strings.Repeat(" ", n)
}

// Between puts left at the start and right at the end of a row of width cells.
// What does not fit is cut from left; right goes first when there is no room
// for four cells of left.
func Between(left, right Row, width int, fill Style) Row {
	rw := right.Width()
	if rw > 0 && width-rw-1 < 4 {
		right, rw = nil, 0
	}
	room := width - rw
	if rw > 0 {
		room--
	}
	out := left.Cut(room)
	gap := width - out.Width() - rw
	if gap > 0 && rw > 0 {
		out = append(out, Span{fill, Spaces(gap)})
	}
	return append(out, right...)
}

// Cut shortens a row to at most width cells, with an ellipsis.
func (r Row) Cut(width int) Row {
	if r.Width() <= width {
		return append(Row(nil), r...)
	}
	var out Row
	for i, s := range r {
		w := Width(s.Text)
		if w >= width && (w > width || i < len(r)-1) {
			return append(out, Span{s.Style, Truncate(s.Text+more(w == width), width)})
		}
		out = append(out, s)
		width -= w
	}
	return out
}
