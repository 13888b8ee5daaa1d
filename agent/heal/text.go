package heal

import (
	"strings"
	"unicode/utf8"

	"kintsugi/sandbox/lazyregexp"
)

// Bounds of the reading, so that a diagnosis takes milliseconds whatever the
// program printed.
const (
	maxText   = 1 << 20 // bytes of output that are read, counted from the end
	maxLine   = 1000    // bytes of one line that a pattern sees
	maxAround = 8 << 10 // bytes looked at before and after a match
)

// clean takes the last megabyte of raw output and makes it plain text: no
// terminal escapes, no carriage returns. A carriage return that an error
// message quotes, as in "env: 'python3\r'", becomes the two characters \r.
func clean(raw string) string {
	raw = tail(raw, maxText)
	if strings.IndexByte(raw, 0x1b) < 0 && strings.IndexByte(raw, '\r') < 0 {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); {
		n := strings.IndexAny(raw[i:], "\x1b\r")
		if n < 0 {
			b.WriteString(raw[i:])
			break
		}
		b.WriteString(raw[i : i+n])
		i += n
		if raw[i] == '\r' {
			b.WriteString(plainReturn(raw[i+1:]))
			i++
			continue
		}
		i += escapeLen(raw[i:])
	}
	return b.String()
}

// logPrefix is what build tools and loggers put before each line.
var logPrefix = lazyregexp.New(`^(?:#\d+ \d+\.\d+ |\d{4}-\d\d-\d\d[T ][\d:.,]+Z? +|\[[\d:. -]+\] +|[\w.-]+ +\| )+`)

// tail keeps the last n bytes of s, from a whole rune on.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

// plainReturn says what a carriage return becomes, given what follows it.
func plainReturn(rest string) string {
	for _, quote := range []string{"'", "’", "\":", ":", "”"} {
		if strings.HasPrefix(rest, quote) {
			return `\r`
		}
	}
	if strings.HasPrefix(rest, "\n") || rest == "" {
		return ""
	}
	return "\n"
}

// escapeLen is the length of the terminal escape sequence that s begins with.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s) && i < 64; i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return 2
	case ']', 'P', '_', '^', 'X':
		return stringEscapeLen(s)
	case '(', ')':
		return min(3, len(s))
	}
	return 2
}

// stringEscapeLen measures an escape that carries a string, such as a title
// or a hyperlink; it ends with BEL or ESC \.
func stringEscapeLen(s string) int {
	limit := min(len(s), 4096)
	for i := 2; i < limit; i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b:
			return min(i+2, len(s))
		case s[i] == '\n':
			return i
		}
	}
	return 2
}

// lineAt returns the line around byte pos, at most maxLine bytes of it, and
// where that begins.
func lineAt(text string, pos int) (line string, start int) {
	lo := max(0, pos-maxLine/2)
	start = lo
	if i := strings.LastIndexByte(text[lo:pos], '\n'); i >= 0 {
		start = lo + i + 1
	}
	end := min(len(text), start+maxLine)
	if i := strings.IndexByte(text[pos:end], '\n'); i >= 0 {
		end = pos + i
	}
	return text[start:end], start
}

// around returns the text from before bytes above pos to after bytes below.
func around(text string, pos int) string {
	return text[max(0, pos-maxAround):min(len(text), pos+maxAround)]
}

// below returns up to n lines that follow the line at pos.
func below(text string, pos, n int) []string {
	end := min(len(text), pos+maxAround)
	i := strings.IndexByte(text[pos:end], '\n')
	if i < 0 {
		return nil
	}
	lines := strings.SplitN(text[pos+i+1:end], "\n", n+1)
	if len(lines) > n {
		lines = lines[:n]
	}
	for i, l := range lines {
		lines[i] = clip(l, maxLine)
	}
	return lines
}

// clip cuts s to at most n bytes, at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
