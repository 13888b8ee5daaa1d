package install

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// tailBuffer keeps the last max bytes written to it.
type tailBuffer struct {
	max int
	buf []byte
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > t.max {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tailBuffer) String() string {
	if over := len(t.buf) - t.max; over > 0 {
		return string(t.buf[over:])
	}
	return string(t.buf)
}

// lineWriter gives each complete line to emit; a line over 4 KiB is cut.
type lineWriter struct {
	emit func(string)
	part []byte
}

const maxLine = 4 << 10

func (l *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			break
		}
		l.add(p[:i])
		if s := strings.TrimSpace(string(l.part)); s != "" {
			l.emit(s)
		}
		l.part, p = l.part[:0], p[i+1:]
	}
	l.add(p)
	return n, nil
}

func (l *lineWriter) add(p []byte) {
	if room := maxLine - len(l.part); len(p) > room {
		p = p[:max(room, 0)]
	}
	l.part = append(l.part, p...)
}

// lockedWriter lets stdout and stderr share one writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
