// Package cell measures, cuts and joins styled text on a grid of terminal
// cells.
//
// Everything on the screen is built from Spans: plain text with a Style. Text
// is made safe on the way in, so that a row is exactly as wide as it was
// measured, in every terminal: control characters and bidirectional overrides
// lose their power, and grapheme clusters about whose width terminals disagree
// are reduced to something they agree on.
//
// The package knows nothing of themes, events or panes.
package cell

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// TabWidth is the distance of tab stops in program output.
const TabWidth = 8

// plain says that every byte of s is one printable cell.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// simple counts the cells of text in which every rune is one cell and none
// joins another: ASCII, Latin letters, dashes and dots, box drawing. It is the
// fast way through nearly all text.
func simple(s string) (cells int, ok bool) {
	for _, r := range s {
		switch {
		case r >= 0x20 && r <= 0x7e:
		case r >= 0xc0 && r <= 0x24f:
		case r == 0xb7 || r == 0x2022 || r == 0x2026:
		case r >= 0x2500 && r <= 0x259f:
		default:
			return 0, false
		}
		cells++
	}
	return cells, true
}

// Width is the number of cells of safe text.
func Width(s string) int {
	if n, ok := simple(s); ok {
		return n
	}
	return ansi.StringWidthWc(s)
}

// Safe makes text harmless to the grid. Tabs become spaces up to the next
// stop, line breaks become spaces.
func Safe(s string) string {
	if _, ok := simple(s); ok {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	column := 0
	for len(s) > 0 {
		text, width, n := next(s, column)
		b.WriteString(text)
		column += width
		s = s[n:]
	}
	if out := b.String(); ansi.StringWidthWc(out) != ansi.StringWidth(out) {
		return strict(out)
	}
	return b.String()
}

// strict is for text whose parts joined again after something between them was
// left out: only runes that never join stay.
func strict(s string) string {
	var b strings.Builder
	for _, r := range s {
		one := string(r)
		switch w := widthOf(one); {
		case unicode.In(r, unicode.M, unicode.Cf) || w == 0:
		case w != ansi.StringWidth(one) || r >= 0x1f1e6 && r <= 0x1f1ff || unicode.Is(unicode.Hangul, r) && (r < 0xac00 || r > 0xd7a3):
			b.WriteString("·")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// next takes the first cluster of s: what to show for it, its cells, and how
// many bytes it took.
func next(s string, column int) (text string, width, n int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		text, width = ascii(s[0], column)
		return text, width, 1
	}
	cluster, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if cluster == "" {
		return "", 0, 1
	}
	if len(cluster) == 1 {
		text, width = ascii(cluster[0], column)
		return text, width, 1
	}
	return agreed(cluster, width), widthOf(agreed(cluster, width)), len(cluster)
}

func widthOf(s string) int { return ansi.StringWidthWc(s) }

// ascii shows one byte; controls appear as their picture.
func ascii(c byte, column int) (string, int) {
	switch {
	case c == '\t':
		n := TabWidth - column%TabWidth
		return "        "[:n], n
	case c == '\n' || c == '\r':
		return " ", 1
	case c < 0x20:
		return string(rune(0x2400 + int(c))), 1
	case c == 0x7f:
		return "␡", 1
	case c >= utf8.RuneSelf:
		return "�", 1
	}
	return asciiTable[c : c+1], 1
}

// asciiTable avoids an allocation for each byte.
const asciiTable = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f" +
	"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f" +
	" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// agreed reduces a cluster to something of the same width for terminals that
// know grapheme clusters and for those that count code points.
func agreed(cluster string, width int) string {
	r, size := utf8.DecodeRuneInString(cluster)
	if r == utf8.RuneError && size <= 1 {
		return "�"
	}
	if unicode.IsControl(r) || unicode.In(r, unicode.M, unicode.Cf) || width == 0 {
		return ""
	}
	if width == widthOf(cluster) && !hasFormat(cluster) {
		return cluster
	}
	first := cluster[:size]
	if w := widthOf(first); w == ansi.StringWidth(first) && w > 0 {
		return first
	}
	return "·"
}

// hasFormat finds joiners, overrides and selectors inside a cluster.
func hasFormat(cluster string) bool {
	for _, r := range cluster {
		if unicode.Is(unicode.Cf, r) || (r >= 0xfe00 && r <= 0xfe0f) {
			return true
		}
	}
	return false
}

// Truncate cuts safe text to width cells, with an ellipsis when something is
// lost.
func Truncate(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width <= 0 {
		return ""
	}
	head, _ := cut(s, width-1)
	return head + "…"
}

// Head is the start of safe text, at most width cells of it.
func Head(s string, width int) string {
	head, _ := cut(s, width)
	return head
}

// cut splits safe text so that head has at most width cells.
func cut(s string, width int) (head, tail string) {
	if plain(s) {
		width = min(max(width, 0), len(s))
		return s[:width], s[width:]
	}
	used, i := 0, 0
	for i < len(s) {
		_, w, n := next(s[i:], 0)
		if used+w > width {
			break
		}
		used += w
		i += n
	}
	return s[:i], s[i:]
}

// Middle cuts safe text to width cells by leaving out its middle, for paths.
func Middle(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width < 8 {
		return Truncate(s, width)
	}
	head, _ := cut(s, (width-1)/2)
	rest := width - 1 - Width(head)
	skip := Width(s) - rest
	_, tail := cut(s, skip)
	for Width(tail) > rest {
		_, tail = cut(tail, 1)
	}
	return head + "…" + tail
}
