package cell

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks spans into rows of at most width cells, at any cell, as a
// terminal does.
func Wrap(spans []Span, width int) []Row {
	w := wrapper{width: max(width, 1)}
	for _, s := range spans {
		w.hard(s)
	}
	return w.finish()
}

// WrapWords breaks spans into rows of at most width cells, at blanks where it
// can. Later rows start with indent.
func WrapWords(spans []Span, width int, indent Row) []Row {
	w := wrapper{width: max(width, 1), indent: indent}
	if indent.Width() >= w.width {
		w.indent = nil
	}
	for _, word := range words(spans) {
		w.word(word)
	}
	return w.finish()
}

// codeBreaks are after what code may be broken.
const codeBreaks = " ,.([{=/"

// WrapCode breaks a line of code into rows of at most width cells: after a
// blank or a mark when that leaves the row more than half full, at any cell
// otherwise. Later rows stand a little to the right of the line's own indent.
func WrapCode(line Span, width int) []Row {
	own := len(line.Text) - len(strings.TrimLeft(line.Text, " "))
	w := wrapper{width: max(width, 1), indent: Row{{line.Style, Spaces(min(own+2, width/2))}}}
	for text := line.Text; text != ""; {
		room := w.width - w.used
		head, tail := cut(text, room)
		if head == "" {
			head, tail = firstCluster(text) // it is wider than the pane
		}
		if i := strings.LastIndexAny(head, codeBreaks) + 1; tail != "" && i > 0 && Width(head[:i]) > room/2 {
			head = head[:i]
			tail = strings.TrimLeft(text[i:], " ")
		}
		w.hard(Span{line.Style, head})
		if tail != "" {
			w.newline()
		}
		text = tail
	}
	return w.finish()
}

type wrapper struct {
	width  int
	used   int
	indent Row
	row    Row
	rows   []Row
}

func (w *wrapper) finish() []Row {
	if len(w.row) > 0 || len(w.rows) == 0 {
		w.rows = append(w.rows, w.row)
	}
	return w.rows
}

func (w *wrapper) newline() {
	w.rows = append(w.rows, w.row)
	w.row = append(Row(nil), w.indent...)
	w.used = w.indent.Width()
}

func (w *wrapper) put(s Span, width int) {
	if n := len(w.row); n > 0 && w.row[n-1].Style.seq == s.Style.seq {
		w.row[n-1].Text += s.Text
	} else {
		w.row = append(w.row, s)
	}
	w.used += width
}

// hard fills rows to the last cell.
func (w *wrapper) hard(s Span) {
	for s.Text != "" {
		head, tail := cut(s.Text, w.width-w.used)
		if head == "" && w.used == w.indent.Width() {
			head, tail = firstCluster(s.Text) // it is wider than the pane
		}
		if head != "" {
			w.put(Span{s.Style, head}, Width(head))
		}
		if tail != "" {
			w.newline()
		}
		s.Text = tail
	}
}

func firstCluster(s string) (head, tail string) {
	_, _, n := next(s, 0)
	return s[:n], s[n:]
}

// word puts a word, and the blanks before it unless it starts a row.
func (w *wrapper) word(word word) {
	start := w.used == w.indent.Width() && len(w.rows) > 0
	word.blanks = min(word.blanks, w.width-1)
	if w.used+word.blanks+word.width <= w.width || (w.used == 0 && len(w.rows) == 0) {
		if !start && word.blanks > 0 {
			w.put(Span{word.spans[0].Style, Spaces(word.blanks)}, word.blanks)
		}
	} else if w.used > w.indent.Width() {
		w.newline()
	}
	for _, s := range word.spans {
		if w.used+Width(s.Text) <= w.width {
			w.put(s, Width(s.Text))
			continue
		}
		w.hard(s)
	}
}

// word is a run without blanks, which may change its style inside.
type word struct {
	spans  []Span
	width  int
	blanks int
}

func words(spans []Span) []word {
	var out []word
	cur := word{}
	flush := func() {
		if len(cur.spans) > 0 {
			out = append(out, cur)
			cur = word{}
		}
	}
	for _, s := range spans {
		text := s.Text
		for text != "" {
			if text[0] == ' ' {
				flush()
				n := len(text) - len(strings.TrimLeft(text, " "))
				cur.blanks += n
				text = text[n:]
				continue
			}
			end := strings.IndexByte(text, ' ')
			if end < 0 {
				end = len(text)
			}
			end = breakable(text[:end])
			cur.spans = append(cur.spans, Span{s.Style, text[:end]})
			cur.width += Width(text[:end])
			if text = text[end:]; text != "" && text[0] != ' ' {
				flush()
			}
		}
	}
	flush()
	return out
}

// breakable is where a word may end although no blank follows: after a wide
// ideograph, as East Asian text has no blanks.
func breakable(text string) int {
	if plain(text) {
		return len(text)
	}
	for i, r := range text {
		if r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff {
			return i + utf8.RuneLen(r)
		}
	}
	return len(text)
}
