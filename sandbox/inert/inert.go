// Package inert makes the output of untrusted programs harmless for a
// terminal and for a log, while colours survive.
//
// Printable text, newline and tab pass. So do SGR sequences (colour, bold,
// underline, …), rebuilt from checked parameters. Whatever else could steer a
// terminal, hide text or reorder it becomes visible text in one of three forms:
//
//   - C0 controls and DEL: their control picture, ESC as ␛, BEL as ␇;
//   - C1 controls, bidi controls, invisible and non-characters: <U+202E>;
//   - bytes that are not UTF-8: U+FFFD, one per byte.
//
// Nothing is swallowed: an escape sequence loses its ESC and the rest of it
// stays readable, so an unterminated one cannot hide what follows. The package
// never interprets cursor movement and never buffers a line.
package inert

import (
	"unicode/utf8"
)

// Option changes what a Filter lets through.
type Option uint8

const (
	// KeepCR passes carriage returns, for views that show a progress bar
	// rewriting its line. Without it "\r\n" becomes "\n" and a lone carriage
	// return becomes the visible ␍, so that no text hides beneath another.
	KeepCR Option = 1 << iota
	// NoColour makes SGR sequences visible text too.
	NoColour
)

// maxSGR bounds the parameter bytes of an SGR sequence; real ones stay below
// 40. A longer one is shown as text.
const maxSGR = 64

// state is what the filter waits for between two bytes.
type state uint8

const (
	ground state = iota
	afterCR
	afterESC
	inCSI
)

// Filter makes one stream harmless. It keeps state across calls (a sequence or
// a rune cut by a chunk border) in constant space; how the stream is cut never
// changes the result. A Filter is not safe for concurrent use.
type Filter struct {
	opts  Option
	state state

	params  [maxSGR]byte // parameter bytes of a sequence in progress
	nparams int

	rune  [utf8.UTFMax]byte // first bytes of a rune in progress
	nrune int

	prev  rune // last visible rune, context of joiners
	marks int  // combining marks on it
	pen   pen  // colours now in force
}

// New returns a filter for one stream.
func New(opts ...Option) *Filter {
	f := &Filter{}
	for _, o := range opts {
		f.opts |= o
	}
	return f
}

// String makes a whole text harmless, as a stream of its own.
func String(s string, opts ...Option) string {
	f := New(opts...)
	out := f.Append(make([]byte, 0, len(s)+8), []byte(s))
	return string(f.appendFlush(out))
}

// Write takes the next chunk and returns its harmless form. What waits for the
// next chunk comes with that one, or with Flush.
func (f *Filter) Write(p []byte) string {
	return string(f.Append(make([]byte, 0, len(p)+8), p))
}

// Append is Write for callers that own a buffer: it appends to dst and returns
// the extended buffer. One byte of input grows dst by at most nine bytes.
func (f *Filter) Append(dst, p []byte) []byte {
	for len(p) > 0 {
		if f.state == ground && f.nrune == 0 {
			n := plain(p)
			if n > 0 {
				dst = append(dst, p[:n]...)
				f.prev, f.marks = rune(p[n-1]), 0
				p = p[n:]
				continue
			}
		}
		dst, p = f.step(dst, p)
	}
	return dst
}

// Flush ends the stream: it returns what still waited and closes open colours.
// The filter is then as new.
func (f *Filter) Flush() string {
	return string(f.appendFlush(nil))
}

func (f *Filter) appendFlush(dst []byte) []byte {
	dst = f.appendTorn(dst)
	dst = f.appendWaiting(dst)
	if f.pen.open() {
		dst = append(dst, "\x1b[0m"...)
	}
	*f = Filter{opts: f.opts}
	return dst
}

// plain counts the leading bytes that pass unchanged.
func plain(p []byte) int {
	for i, b := range p {
		if (b < ' ' && b != '\n' && b != '\t') || b >= 0x7f {
			return i
		}
	}
	return len(p)
}

// step takes at least one byte of p, or leaves a state that cannot go on.
func (f *Filter) step(dst, p []byte) ([]byte, []byte) {
	switch f.state {
	case afterCR:
		return f.stepCR(dst, p)
	case afterESC:
		return f.stepESC(dst, p)
	case inCSI:
		return f.stepCSI(dst, p)
	}
	if f.nrune > 0 || p[0] >= utf8.RuneSelf {
		return f.stepRune(dst, p)
	}
	return f.stepControl(dst, p[0]), p[1:]
}

// stepControl takes a C0 control or DEL.
func (f *Filter) stepControl(dst []byte, b byte) []byte {
	switch {
	case b == 0x1b && f.opts&NoColour == 0:
		f.state = afterESC
		return dst
	case b == '\r' && f.opts&KeepCR != 0:
		f.prev, f.marks = '\r', 0
		return append(dst, b)
	case b == '\r':
		f.state = afterCR
		return dst
	}
	return f.appendPicture(dst, b)
}

func (f *Filter) appendPicture(dst []byte, b byte) []byte {
	f.marks = 0
	f.prev = 0x2400 + rune(b)
	switch b {
	case '\n', '\t':
		f.prev = rune(b)
	case 0x7f:
		f.prev = 0x2421
	}
	return utf8.AppendRune(dst, f.prev)
}

func (f *Filter) stepCR(dst, p []byte) ([]byte, []byte) {
	f.state = ground
	if p[0] == '\n' {
		return dst, p
	}
	return f.appendPicture(dst, '\r'), p
}

func (f *Filter) stepESC(dst, p []byte) ([]byte, []byte) {
	if p[0] == '[' {
		f.state, f.nparams = inCSI, 0
		return dst, p[1:]
	}
	return f.appendWaiting(dst), p
}

func (f *Filter) stepCSI(dst, p []byte) ([]byte, []byte) {
	b := p[0]
	switch {
	case b == 'm':
		f.state = ground
		return f.pen.appendSGR(dst, f.params[:f.nparams]), p[1:]
	case (b >= '0' && b <= ';') && f.nparams < maxSGR:
		f.params[f.nparams] = b
		f.nparams++
		return dst, p[1:]
	}
	return f.appendWaiting(dst), p
}

// appendWaiting gives up on the sequence in progress and shows it as text.
func (f *Filter) appendWaiting(dst []byte) []byte {
	was := f.state
	f.state = ground
	switch was {
	case afterCR:
		return f.appendPicture(dst, '\r')
	case afterESC:
		return f.appendPicture(dst, 0x1b)
	case inCSI:
		dst = append(f.appendPicture(dst, 0x1b), '[')
		dst = append(dst, f.params[:f.nparams]...)
		f.prev = '['
	}
	return dst
}
