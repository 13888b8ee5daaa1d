package inert

import (
	"unicode"
	"unicode/utf8"
)

// maxMarks bounds the combining marks shown on one character, so that a
// program cannot pile thousands on a single cell. Written languages use fewer.
const maxMarks = 8

// stepRune takes bytes until a rune is complete or cannot become one.
func (f *Filter) stepRune(dst, p []byte) ([]byte, []byte) {
	n := copy(f.rune[f.nrune:], p)
	have := f.rune[:f.nrune+n]
	if !utf8.FullRune(have) {
		f.nrune = len(have)
		return dst, p[n:]
	}
	r, size := utf8.DecodeRune(have)
	if r == utf8.RuneError && size == 1 {
		return f.stepInvalid(dst, p)
	}
	used := size - f.nrune
	f.nrune = 0
	return f.appendRune(dst, r), p[used:]
}

// stepInvalid shows every waiting byte as U+FFFD, or the next one when none
// waits, and looks at the rest anew.
func (f *Filter) stepInvalid(dst, p []byte) ([]byte, []byte) {
	if f.nrune > 0 {
		return f.appendTorn(dst), p
	}
	return f.appendInvalid(dst), p[1:]
}

// appendTorn shows the bytes of a rune that never became complete.
func (f *Filter) appendTorn(dst []byte) []byte {
	for range f.nrune {
		dst = f.appendInvalid(dst)
	}
	f.nrune = 0
	return dst
}

func (f *Filter) appendInvalid(dst []byte) []byte {
	f.prev, f.marks = utf8.RuneError, 0
	return utf8.AppendRune(dst, utf8.RuneError)
}

// appendRune appends a complete non-ASCII rune, or its visible form.
func (f *Filter) appendRune(dst []byte, r rune) []byte {
	mark := isMark(r)
	if !mark {
		f.marks = 0
	}
	if !f.passes(r, mark) {
		f.prev = '>'
		return appendCode(dst, r)
	}
	if mark {
		f.marks++
	}
	f.prev = r
	return utf8.AppendRune(dst, r)
}

// isMark says whether r combines with the rune before it. The ranges without
// marks that most text is in are looked at first.
func isMark(r rune) bool {
	if r < 0x300 || (r >= 0x370 && r < 0x483) || (r >= 0x3400 && r < 0xa000) || (r >= 0xac00 && r < 0xd7b0) {
		return false
	}
	return unicode.In(r, unicode.Mn, unicode.Me)
}

func (f *Filter) passes(r rune, mark bool) bool {
	switch {
	case r == 0x200c || r == 0x200d: // joiners
		return f.joins(r)
	case r == 0xfe0e || r == 0xfe0f: // text or emoji presentation
		return takesPresentation(f.prev)
	case invisible(r):
		return false
	}
	return !mark || f.marks < maxMarks
}

// joins says whether a zero-width joiner has something to join: a letter or
// mark of a script that needs it, or an emoji.
func (f *Filter) joins(r rune) bool {
	if joiningScript(f.prev) {
		return true
	}
	emoji := f.prev == 0xfe0f || (f.prev > 0x2000 && unicode.In(f.prev, unicode.So, unicode.Sk))
	return r == 0x200d && emoji
}

// joiningScript says whether r belongs to a script whose spelling needs
// zero-width joiners.
func joiningScript(r rune) bool {
	return unicode.In(r,
		unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
		unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

// takesPresentation says whether a presentation selector may follow r: a
// symbol, or the base of a keycap.
func takesPresentation(r rune) bool {
	if r == '#' || r == '*' || (r >= '0' && r <= '9') {
		return true
	}
	return r > 0x7f && unicode.In(r, unicode.S, unicode.P, unicode.No)
}

// invisible says whether r steers, reorders or hides text: C1 controls, bidi
// and other format controls, fillers that look like nothing, selectors and
// tags that can carry a hidden message, non-characters.
func invisible(r rune) bool {
	switch {
	case r <= 0x9f, r == 0xad, r == 0x34f, r == 0x61c:
		return true
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true // Hangul fillers
	case r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0d, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb:
		return true
	case r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return r&0xfffe == 0xfffe || (r >= 0xfdd0 && r <= 0xfdef)
}

// appendCode appends r as <U+XXXX>.
func appendCode(dst []byte, r rune) []byte {
	const hex = "0123456789ABCDEF"
	dst = append(dst, "<U+"...)
	for shift := 20; shift >= 0; shift -= 4 {
		if shift > 12 && r>>shift == 0 {
			continue
		}
		dst = append(dst, hex[r>>shift&0xf])
	}
	return append(dst, '>')
}
