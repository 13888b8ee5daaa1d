package inert

import "bytes"

// reader walks the parameters of an SGR sequence: numbers separated by ';',
// each with optional ':' sub-parameters.
type reader struct {
	rest  []byte
	value int
	subs  []byte // sub-parameter bytes of the current parameter, with the ':'
	ended bool
}

// next moves to the next parameter. An empty sequence has one: 0.
func (r *reader) next() bool {
	if r.ended {
		return false
	}
	field := r.rest
	if i := bytes.IndexByte(r.rest, ';'); i >= 0 {
		field, r.rest = r.rest[:i], r.rest[i+1:]
	} else {
		r.rest, r.ended = nil, true
	}
	r.value, r.subs = number(field)
	return true
}

func (r *reader) hasSub() bool { return len(r.subs) > 0 }

// sub takes the next sub-parameter; an absent or empty one is 0.
func (r *reader) sub() int {
	if len(r.subs) == 0 {
		return 0
	}
	n, rest := number(r.subs[1:])
	r.subs = rest
	return n
}

// colour reads the arguments of 38, 48 or 58, in the ';' or the ':' form. mode
// is 5 (index in v[0]), 2 (RGB), or 0 when malformed; the rest of a malformed
// sequence is skipped, since nobody can tell how to read it.
func (r *reader) colour() (mode int, v [3]int) {
	take := r.argument
	colons := r.hasSub()
	if colons {
		take = r.sub
	}
	mode = take()
	switch mode {
	case 5:
		v[0] = take()
	case 2:
		if colons && bytes.Count(r.subs, []byte{':'}) > 3 {
			take() // colour space
		}
		v = [3]int{take(), take(), take()}
	default:
		return r.malformed()
	}
	if v[0] > 255 || v[1] > 255 || v[2] > 255 {
		return r.malformed()
	}
	return mode, v
}

func (r *reader) malformed() (int, [3]int) {
	r.ended = true
	return 0, [3]int{}
}

// argument takes the next ';' parameter as a number; 256, which no colour
// accepts, when there is none.
func (r *reader) argument() int {
	if !r.next() {
		return 256
	}
	return r.value
}

// number reads leading digits, at most 9999, and returns what follows.
func number(b []byte) (int, []byte) {
	n, i := 0, 0
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		n = min(n*10+int(b[i]-'0'), 9999)
	}
	return n, b[i:]
}
