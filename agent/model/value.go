package model

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds the nesting of values that models write.
const maxDepth = 40

// reader reads values as models write them: JSON, and what they take for it.
// It accepts single, triple and back quotes, raw line breaks in strings,
// unquoted keys, trailing commas, comments of no kind, and Python's True,
// False and None. A value that is not complete is no value.
type reader struct {
	s string
	i int
}

func (r *reader) space() {
	for r.i < len(r.s) && strings.IndexByte(" \t\r\n", r.s[r.i]) >= 0 {
		r.i++
	}
}

// eat takes c, after white space, when it comes next.
func (r *reader) eat(c byte) bool {
	r.space()
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

// value reads any value.
func (r *reader) value(depth int) (any, bool) {
	r.space()
	if r.i >= len(r.s) || depth > maxDepth {
		return nil, false
	}
	switch c := r.s[r.i]; c {
	case '{':
		return r.object(depth)
	case '[':
		return r.list(depth)
	case '"', '\'', '`':
		return r.text()
	default:
		return r.word()
	}
}

func (r *reader) object(depth int) (any, bool) {
	r.i++
	out := map[string]any{}
	for {
		if r.eat('}') {
			return out, true
		}
		key, ok := r.key()
		if !ok || !r.eat(':') {
			return nil, false
		}
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		out[key] = v
		if !r.eat(',') {
			if r.eat('}') {
				return out, true
			}
			return nil, false
		}
	}
}

func (r *reader) list(depth int) (any, bool) {
	r.i++
	out := []any{}
	for {
		if r.eat(']') {
			return out, true
		}
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if !r.eat(',') {
			if r.eat(']') {
				return out, true
			}
			return nil, false
		}
	}
}

// key is a string or a bare name.
func (r *reader) key() (string, bool) {
	r.space()
	if r.i >= len(r.s) {
		return "", false
	}
	if strings.IndexByte("\"'`", r.s[r.i]) >= 0 {
		return r.text()
	}
	name := r.name()
	return name, name != ""
}

// name reads letters, digits, _, . and -.
func (r *reader) name() string {
	from := r.i
	for r.i < len(r.s) && nameByte(r.s[r.i]) {
		r.i++
	}
	return r.s[from:r.i]
}

func nameByte(c byte) bool {
	return c == '_' || c == '.' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// word is a number or one of the few names that are values.
func (r *reader) word() (any, bool) {
	w := strings.TrimPrefix(r.wordText(), "+")
	switch strings.ToLower(w) {
	case "true":
		return true, true
	case "false":
		return false, true
	case "null", "none", "undefined":
		return nil, true
	}
	f, err := strconv.ParseFloat(w, 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

func (r *reader) wordText() string {
	from := r.i
	for r.i < len(r.s) && (nameByte(r.s[r.i]) || r.s[r.i] == '+') {
		r.i++
	}
	return r.s[from:r.i]
}

// text reads a quoted string.
func (r *reader) text() (string, bool) {
	q := r.s[r.i : r.i+1]
	if triple := q + q + q; strings.HasPrefix(r.s[r.i:], triple) {
		q = triple
	}
	r.i += len(q)
	var b strings.Builder
	for r.i < len(r.s) {
		if strings.HasPrefix(r.s[r.i:], q) {
			r.i += len(q)
			return b.String(), true
		}
		if r.s[r.i] == '\\' && r.i+1 < len(r.s) {
			r.escape(&b)
			continue
		}
		b.WriteByte(r.s[r.i])
		r.i++
	}
	return "", false
}

// escape reads what a backslash begins. One that means nothing stays.
func (r *reader) escape(b *strings.Builder) {
	c := r.s[r.i+1]
	r.i += 2
	if i := strings.IndexByte(`nrtbf0`, c); i >= 0 {
		b.WriteByte("\n\r\t\b\f\x00"[i])
		return
	}
	switch c {
	case '"', '\'', '`', '\\', '/':
		b.WriteByte(c)
	case '\n':
	case 'u':
		b.WriteRune(r.hex())
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
}

// hex reads the four digits after \u, and the second half of a pair.
func (r *reader) hex() rune {
	hi, ok := r.digits()
	if !ok {
		return utf8.RuneError
	}
	if hi < 0xd800 || hi > 0xdfff {
		return hi
	}
	back := r.i
	if strings.HasPrefix(r.s[r.i:], `\u`) {
		r.i += 2
		if lo, ok := r.digits(); ok && hi < 0xdc00 && lo >= 0xdc00 && lo <= 0xdfff {
			return 0x10000 + (hi-0xd800)<<10 + lo - 0xdc00
		}
	}
	r.i = back
	return utf8.RuneError
}

func (r *reader) digits() (rune, bool) {
	if r.i+4 > len(r.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(r.s[r.i:r.i+4], 16, 32)
	if err != nil {
		return 0, false
	}
	r.i += 4
	return rune(n), true
}
