package event

import (
	"bytes"
	"unicode/utf8"
)

// ring keeps the last max bytes written to it.
type ring struct {
	max int
	buf []byte
}

func (r *ring) write(p []byte) {
	if len(p) >= r.max {
		r.buf = append(r.buf[:0], p[len(p)-r.max:]...)
		return
	}
	r.buf = append(r.buf, p...)
	// Twice the room, so that bytes move once for every max written.
	if len(r.buf) > 2*r.max {
		r.buf = append(r.buf[:0], r.buf[len(r.buf)-r.max:]...)
	}
}

// last gives at most n of the last bytes, from the start of a line when there
// is one, else from the start of a character.
func (r *ring) last(n int) []byte {
	p := r.buf
	if len(p) <= min(n, r.max) {
		return p
	}
	p = p[len(p)-min(n, r.max):]
	if i := bytes.IndexByte(p, '\n'); i >= 0 && i < len(p)-1 {
		return p[i+1:]
	}
	for i := range min(utf8.UTFMax, len(p)) {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}

func (r *ring) reset() { r.buf = r.buf[:0] }

// maxHeld bounds how much of an unfinished escape sequence waits for its end.
const maxHeld = 64

// whole is the length of the longest start of p that ends neither inside a
// UTF-8 character nor inside an escape sequence.
func whole(p []byte) int {
	n := len(p)
	for i := 1; i <= min(utf8.UTFMax-1, n); i++ {
		if c := p[n-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[n-i:]) {
				n -= i
			}
			break
		}
	}
	from := max(0, n-maxHeld)
	if i := bytes.LastIndexByte(p[from:n], 0x1b); i >= 0 && unfinished(p[from+i:n]) {
		n = from + i
	}
	return n
}

// unfinished says whether seq, which starts with ESC, still waits for its last
// byte.
func unfinished(seq []byte) bool {
	if len(seq) == 1 {
		return true
	}
	switch seq[1] {
	case '[':
		for _, c := range seq[2:] {
			if c < 0x20 || c >= 0x40 {
				return false
			}
		}
		return true
	case ']', 'P', '_', '^', 'X':
		return bytes.IndexByte(seq, 0x07) < 0
	}
	return seq[1] >= 0x20 && seq[1] < 0x30 && len(seq) == 2
}
