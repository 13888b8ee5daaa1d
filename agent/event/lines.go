package event

import (
	"bytes"
	"errors"
	"io"
)

// lines cuts complete lines out of a file that may still grow. A line that is
// not complete yet is read again later from its start, since a crash and a
// later Open may replace it.
type lines struct {
	r    io.ReaderAt
	off  int64  // of the first byte not returned yet
	buf  []byte // scratch
	have []byte // what buf holds from off on
	skip bool   // inside a line longer than MaxLine
}

func newLines(r io.ReaderAt) *lines { return &lines{r: r, buf: make([]byte, 64<<10)} }

// next returns the next complete line without its line feed, or nil when the
// file has no more now. The slice is good until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		if line, ok := l.cut(); ok {
			if line == nil {
				continue
			}
			return line, nil
		}
		more, err := l.fill()
		if err != nil || !more {
			return nil, err
		}
	}
}

// cut takes a line out of what is at hand; a nil line was too long.
func (l *lines) cut() ([]byte, bool) {
	i := bytes.IndexByte(l.have, '\n')
	if i < 0 {
		return nil, false
	}
	line := l.have[:i:i]
	l.have = l.have[i+1:]
	l.off += int64(i) + 1
	if l.skip {
		l.skip = false
		return nil, true
	}
	return line, true
}

// fill reads from off and reports whether a line feed may have come.
func (l *lines) fill() (bool, error) {
	n, err := l.r.ReadAt(l.buf, l.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	l.have = l.buf[:n]
	if bytes.IndexByte(l.have, '\n') >= 0 {
		return true, nil
	}
	if n < len(l.buf) {
		l.have = nil
		return false, nil
	}
	l.grow()
	return true, nil
}

// grow makes room for a longer line, or gives up on it.
func (l *lines) grow() {
	if len(l.buf) >= MaxLine {
		l.off += int64(len(l.have))
		l.skip = true
	} else {
		l.buf = make([]byte, 2*len(l.buf))
	}
	l.have = nil
}
