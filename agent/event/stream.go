package event

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"
)

// Defaults of a Stream.
const (
	// FlushAfter and FlushSize say when gathered output becomes an event.
	FlushAfter = 50 * time.Millisecond
	FlushSize  = 8 << 10
	// KeepBytes is how much of a stream the log keeps.
	KeepBytes = 256 << 10
	// SideBytes bounds the side file of a stream.
	SideBytes = 64 << 20
)

// When the first half of what the log keeps is spent, one sample of the latest
// output is kept now and then so that a viewer sees that the program lives.
const (
	sampleAfter = time.Second
	sampleSize  = 1 << 10
)

// Appender takes events; *Log is one.
type Appender interface {
	Append(Body) (Event, error)
}

// StreamOptions say where output belongs and how much of it is kept. Zero
// fields take the defaults.
type StreamOptions struct {
	Step, Attempt int
	Stderr        bool
	Remedy        string // for the output of an installer
	// Clean makes bytes harmless text. It gets whole UTF-8 characters and,
	// as far as 64 bytes reach, whole escape sequences. Nil keeps valid UTF-8.
	Clean func([]byte) string
	// Flush gives what Clean still holds back at the end; it may be nil.
	Flush func() string
	// Side is the path of the side file for raw output; empty: none. It is
	// made when the log has no room for some output, and then holds all of it.
	Side      string
	Keep      int64
	SideMax   int64
	FlushTime time.Duration
	// After calls f once after d, as time.AfterFunc does, and gives its stop.
	After func(d time.Duration, f func()) (stop func() bool)
}

// Stream is a writer that turns a program's output into Output events. It
// never fails and never blocks on anything but the log: a log that cannot be
// written shows in Close.
type Stream struct {
	log Appender
	o   StreamOptions

	mu      sync.Mutex
	buf     []byte      // gathered, not yet in the log
	used    int64       // bytes that the log has
	tail    ring        // the latest bytes once the head is spent
	skipped int64       // bytes since the last event, those in tail included
	stop    func() bool // stops the timer; nil: no timer runs
	samples int
	side    side
	err     error
	closed  bool
}

// NewStream makes a stream that appends to log.
func NewStream(log Appender, o StreamOptions) *Stream {
	if o.Keep <= 0 {
		o.Keep = KeepBytes
	}
	if o.SideMax <= 0 {
		o.SideMax = SideBytes
	}
	if o.FlushTime <= 0 {
		o.FlushTime = FlushAfter
	}
	if o.Clean == nil {
		o.Clean = validText
	}
	if o.Flush == nil {
		o.Flush = func() string { return "" }
	}
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	return &Stream{log: log, o: o, tail: ring{max: int(o.Keep / 4)}, side: side{path: o.Side, max: o.SideMax}}
}

func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// Write takes the next bytes. It always takes all of them.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return len(p), nil
	}
	s.side.keep(p)
	rest := p
	for len(rest) > 0 && s.used+int64(len(s.buf)) < s.o.Keep/2 {
		rest = s.gather(rest)
	}
	if len(rest) > 0 {
		s.flush(true)
		s.skip(rest)
	}
	s.arm()
	return len(p), nil
}

// gather takes bytes into the buffer and flushes it when it is full.
func (s *Stream) gather(p []byte) []byte {
	room := min(int64(FlushSize-len(s.buf)), s.o.Keep/2-s.used-int64(len(s.buf)), int64(len(p)))
	s.buf = append(s.buf, p[:room]...)
	if len(s.buf) >= FlushSize {
		s.flush(false)
	}
	return p[room:]
}

// skip takes bytes that the head has no room for.
func (s *Stream) skip(p []byte) {
	s.side.open()
	s.tail.write(p)
	s.skipped += int64(len(p))
}

// flush puts what is gathered into the log; unless all is set, an unfinished
// character or escape sequence stays.
func (s *Stream) flush(all bool) {
	n := len(s.buf)
	if !all {
		n = whole(s.buf)
	}
	if n == 0 {
		return
	}
	s.emit(s.buf[:n], 0)
	s.used += int64(n)
	s.buf = append(s.buf[:0], s.buf[n:]...)
}

func (s *Stream) emit(p []byte, dropped int64) { s.append(s.o.Clean(p), dropped) }

func (s *Stream) append(text string, dropped int64) {
	if text == "" && dropped == 0 {
		return
	}
	_, err := s.log.Append(Output{
		Step: s.o.Step, Attempt: s.o.Attempt, Stderr: s.o.Stderr, Remedy: s.o.Remedy,
		Text: text, Dropped: dropped,
	})
	if s.err == nil {
		s.err = err
	}
}

// arm starts the timer when something waits for it.
func (s *Stream) arm() {
	if s.stop != nil || s.closed {
		return
	}
	switch {
	case len(s.buf) > 0:
		s.stop = s.o.After(s.o.FlushTime, s.tick)
	case s.skipped > 0 && s.used < 3*s.o.Keep/4:
		// The pause doubles every 16 samples: an endless program costs little.
		s.stop = s.o.After(sampleAfter<<min(s.samples/16, 12), s.tick)
	}
}

func (s *Stream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = nil
	if s.closed {
		return
	}
	if len(s.buf) > 0 {
		s.flush(false)
		if len(s.buf) == 0 {
			s.arm()
		}
		return
	}
	s.sample()
}

// sample puts the latest lines of what was skipped into the log.
func (s *Stream) sample() {
	p := s.tail.last(sampleSize)
	s.emit(p, s.skipped-int64(len(p)))
	s.used += int64(len(p))
	s.samples++
	s.tail.reset()
	s.skipped = 0
}

// Close puts the rest into the log: the end of the stream is always there. It
// returns the first error of the log.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.err
	}
	s.closed = true
	if s.stop != nil {
		s.stop()
	}
	s.flush(true)
	if s.skipped > 0 {
		p := s.tail.last(s.tail.max)
		s.emit(p, s.skipped-int64(len(p)))
	}
	s.append(s.o.Flush(), 0)
	return errors.Join(s.err, s.side.close())
}

// side is the bounded file of raw output. It is made only when it is needed:
// until then the bytes, at most what the log keeps anyway, wait in memory.
type side struct {
	path string
	max  int64
	n    int64
	head []byte
	file *os.File
	err  error
}

func (f *side) keep(p []byte) {
	if f.path == "" || f.err != nil {
		return
	}
	room := min(int64(len(p)), f.max-f.n)
	f.n += room
	if f.file == nil {
		f.head = append(f.head, p[:room]...)
		return
	}
	_, f.err = f.file.Write(p[:room])
}

func (f *side) open() {
	if f.path == "" || f.file != nil || f.err != nil {
		return
	}
	if f.err = os.MkdirAll(filepath.Dir(f.path), 0o700); f.err != nil {
		return
	}
	if f.file, f.err = os.OpenFile(f.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); f.err == nil {
		_, f.err = f.file.Write(f.head)
	}
	f.head = nil
}

// close forgets errors of the side file: what it lacks is counted as dropped
// in the log already.
func (f *side) close() error {
	if f.file == nil {
		return nil
	}
	f.file.Close()
	return nil
}
