package md

import (
	"strings"

	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// render draws a block as rows of exactly width cells.
func (b *block) render(width int, l *look.Look, base cell.Style) []string {
	rows := b.rows(width, l, base)
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.Render(width, base)
	}
	return out
}

func (b *block) rows(width int, l *look.Look, base cell.Style) []cell.Row {
	switch b.kind {
	case gap:
		return []cell.Row{nil}
	case rule:
		return []cell.Row{{cell.S(l.Faint, strings.Repeat(l.Glyphs.H, min(width, 24)))}}
	case heading:
		return cell.WrapWords(inline(b.text, l, l.Heading), width, nil)
	case fence:
		return b.fence(l)
	case code:
		return codeRows(b.text, width, l)
	case table:
		return []cell.Row{{cell.S(base, b.text)}}
	case quote:
		return prefixed(cell.Row{cell.S(l.Faint, l.Glyphs.Quote+" ")}, cell.Row{cell.S(l.Faint, l.Glyphs.Quote+" ")},
			inline(b.text, l, l.Muted), width)
	case item:
		return b.item(width, l, base)
	}
	return cell.WrapWords(inline(b.text, l, base), width, nil)
}

func (b *block) fence(l *look.Look) []cell.Row {
	if b.mark == "" {
		return nil
	}
	return []cell.Row{{cell.S(l.Faint, l.Glyphs.V+" "), cell.S(l.Muted, b.mark)}}
}

// codeRows wraps code, behind a bar that shows what is code.
func codeRows(text string, width int, l *look.Look) []cell.Row {
	bar := cell.S(l.Faint, l.Glyphs.V+" ")
	var out []cell.Row
	for _, r := range cell.WrapCode(cell.S(l.Code, text), max(width-2, 1)) {
		out = append(out, append(cell.Row{bar}, r...))
	}
	return out
}

func (b *block) item(width int, l *look.Look, base cell.Style) []cell.Row {
	mark := b.mark
	if mark == "" {
		mark = l.Glyphs.Bullet
	}
	pad := cell.Spaces(min(b.level, 4) * 2)
	first := cell.Row{cell.S(base, pad), cell.S(l.Accent, mark), cell.S(base, " ")}
	rest := cell.Row{cell.S(base, cell.Spaces(first.Width()))}
	return prefixed(first, rest, inline(b.text, l, base), width)
}

// prefixed wraps text behind a first and a following prefix of equal width.
func prefixed(first, rest cell.Row, text []cell.Span, width int) []cell.Row {
	var out []cell.Row
	for i, r := range cell.WrapWords(text, max(width-first.Width(), 1), nil) {
		head := first
		if i > 0 {
			head = rest
		}
		out = append(out, append(append(cell.Row(nil), head...), r...))
	}
	return out
}

// marks are the inline marks, longer ones first.
var marks = [...]struct {
	open string
	attr cell.Attr
}{{"**", cell.Bold}, {"__", cell.Bold}, {"~~", cell.Strike}, {"*", cell.Italic}, {"_", cell.Italic}}

// inline splits text at code spans, emphasis and links.
func inline(text string, l *look.Look, base cell.Style) []cell.Span {
	var out []cell.Span
	start := 0
	flush := func(end int) {
		if end > start {
			out = append(out, cell.S(base, text[start:end]))
		}
	}
	for i := 0; i < len(text); {
		spans, n := special(text[i:], before(text, i), l, base)
		if n == 0 {
			i++
			continue
		}
		flush(i)
		out = append(out, spans...)
		i += n
		start = i
	}
	flush(len(text))
	return out
}

func before(text string, i int) byte {
	if i == 0 {
		return ' '
	}
	return text[i-1]
}

// special reads one marked piece at the start of s: its spans and its length,
// 0 when there is none.
func special(s string, prev byte, l *look.Look, base cell.Style) ([]cell.Span, int) {
	switch s[0] {
	case '\\':
		if len(s) > 1 && strings.IndexByte("\\`*_[]#", s[1]) >= 0 {
			return []cell.Span{cell.S(base, s[1:2])}, 2
		}
	case '`':
		return codeSpan(s, l)
	case '[':
		return link(s, l)
	case '*', '_', '~':
		return emphasis(s, prev, l, base)
	}
	return nil, 0
}

func codeSpan(s string, l *look.Look) ([]cell.Span, int) {
	n := len(s) - len(strings.TrimLeft(s, "`"))
	end := strings.Index(s[n:], s[:n])
	if end < 0 {
		return nil, 0
	}
	return []cell.Span{cell.S(l.Code, strings.TrimSpace(s[n:n+end]))}, end + 2*n
}

// link shows the text of [text](address), and the address when it says more.
func link(s string, l *look.Look) ([]cell.Span, int) {
	mid := strings.Index(s, "](")
	if mid < 0 {
		return nil, 0
	}
	end := strings.IndexByte(s[mid:], ')')
	if end < 0 {
		return nil, 0
	}
	text, address := s[1:mid], s[mid+2:mid+end]
	out := []cell.Span{cell.S(l.Link, text)}
	if address != text && address != "" {
		out = append(out, cell.S(l.Muted, " ("+address+")"))
	}
	return out, mid + end + 1
}

func emphasis(s string, prev byte, l *look.Look, base cell.Style) ([]cell.Span, int) {
	for _, m := range marks {
		if !strings.HasPrefix(s, m.open) {
			continue
		}
		n := len(m.open)
		if m.open != "**" && wordy(prev) || len(s) <= n || s[n] == ' ' {
			return nil, 0
		}
		end := strings.Index(s[n:], m.open)
		if end <= 0 || s[n+end-1] == ' ' || m.open == "_" && len(s) > n+end+1 && wordy(s[n+end+1]) {
			continue
		}
		return inline(s[n:n+end], l, base.With(m.attr)), end + 2*n
	}
	return nil, 0
}

func wordy(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
