package event

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ErrClosed is the error of an Append after Close.
var ErrClosed = errors.New("the session log is closed")

// ErrLive is the error of Open when another process has the session open.
var ErrLive = errors.New("the session is open in another Kintsugi")

// Log is a session's log, open for appending. Its methods may be called from
// any goroutine.
type Log struct {
	dir  string
	now  func() time.Time
	lock *os.File

	mu     sync.Mutex
	file   *os.File
	seq    int64
	size   int64
	unique bool // something was appended that no other run would bring again
	torn   bool // the file ends inside a line
	closed bool
	flush  func() error  // syncs the file
	wake   chan struct{} // closed when there is more to read; nil: nobody waits

	disk   sync.Mutex // held while the file is synced
	saved  int64      // the last event that is on the disk
	unsaid error      // of a sync in the background, for the next that waits
}

// Create makes a log in dir, which may exist but may not hold a log. A nil now
// means time.Now. The session stays locked until Close or the process's death.
func Create(dir string, now func() time.Time) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("session directory: %w", err)
	}
	return open(dir, now, os.O_CREATE|os.O_EXCL)
}

// Open opens the log in dir for appending. A last line that a crash cut off is
// dropped, and a Note in the log says so.
func Open(dir string) (*Log, error) { return OpenAt(dir, nil) }

// OpenAt is Open with a clock.
func OpenAt(dir string, now func() time.Time) (*Log, error) {
	l, err := open(dir, now, 0)
	if err != nil {
		return nil, err
	}
	if err := l.recover(); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func open(dir string, now func() time.Time, flags int) (*Log, error) {
	if now == nil {
		now = time.Now
	}
	if flags == 0 {
		// A directory without a log is no session: leave no lock file in it.
		if _, err := os.Stat(Path(dir)); err != nil {
			return nil, fmt.Errorf("session log: %w", err)
		}
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(Path(dir), os.O_RDWR|os.O_APPEND|flags, 0o600)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("session log: %w", err)
	}
	return &Log{dir: dir, now: now, lock: lock, file: file, flush: file.Sync}, nil
}

// recover finds the last event and truncates what follows it.
func (l *Log) recover() error {
	sc := newScanner(l.file, 0)
	for {
		e, ok, err := sc.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		l.seq = max(l.seq, e.Seq)
		l.unique = l.unique || isUnique(e.Body)
	}
	info, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("session log: %w", err)
	}
	l.size = sc.lines.off
	lost := info.Size() - l.size
	if lost <= 0 {
		return nil
	}
	if err := l.file.Truncate(l.size); err != nil {
		return fmt.Errorf("session log: %w", err)
	}
	_, err = l.Append(Note{Level: "warn", Text: fmt.Sprintf("the log ended inside a line, as after a crash; %d bytes were dropped", lost)})
	return err
}

// Dir is the session's directory.
func (l *Log) Dir() string { return l.dir }

// Seq is the number of the last event.
func (l *Log) Seq() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq
}

// Append writes one event in one write, after it is numbered and timed. The
// events that make a checkpoint or end the session are also synced to the
// disk; a sync begins when a step ends, and what goes wrong with it is told by
// the next one. A log of nothing but what a command printed is not waited for:
// to lose it to a power cut means to run the command again. On an error the log
// is as before.
//
// body is one of the types of this package, by value.
func (l *Log) Append(body Body) (Event, error) {
	e, err := l.append(body)
	if err != nil {
		return Event{}, err
	}
	switch e.Body.(type) {
	case StepEnd:
		if l.lasting() {
			go l.save()
		}
	case Checkpoint, End:
		if l.lasting() {
			err = l.Sync()
		}
	}
	return e, err
}

// lasting says whether the log has to outlast a power cut.
func (l *Log) lasting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unique
}

// isUnique says whether an event tells of something that another run of the
// same command would not bring again.
func isUnique(body Body) bool {
	switch body.(type) {
	case Reasoning, Answer, Checkpoint, Seam:
		return true
	}
	return false
}

func (l *Log) append(body Body) (Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return Event{}, ErrClosed
	}
	e := Event{Seq: l.seq + 1, At: l.now().UTC().Truncate(time.Millisecond), Body: body}
	line, err := Encode(e)
	if err != nil {
		return Event{}, err
	}
	if err := l.write(line); err != nil {
		return Event{}, err
	}
	l.seq = e.Seq
	l.unique = l.unique || isUnique(e.Body)
	l.signal()
	return settle(e, line)
}

// write appends a line whole or not at all.
func (l *Log) write(line []byte) error {
	if l.torn {
		line = append([]byte("\n"), line...)
	}
	n, err := l.file.Write(line)
	if err == nil {
		l.size, l.torn = l.size+int64(n), false
		return nil
	}
	if n > 0 && l.file.Truncate(l.size) != nil {
		l.torn, l.size = true, l.size+int64(n)
	}
	return fmt.Errorf("the session log cannot be written (%w); free some space or choose another state directory", cause(err))
}

// cause strips the path and the operation from an error of the os package.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// settle makes e what a reader will see: text that is not UTF-8 was replaced
// on its way into the file.
func settle(e Event, line []byte) (Event, error) {
	if !bytes.Contains(line, []byte(`\ufffd`)) {
		return e, nil
	}
	return Decode(line)
}

// signal wakes the followers.
func (l *Log) signal() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// Sync makes sure that all events appended so far survive a power cut.
func (l *Log) Sync() error {
	l.save()
	l.disk.Lock()
	defer l.disk.Unlock()
	err := l.unsaid
	l.unsaid = nil
	return err
}

// save syncs the file unless it was since the last event.
func (l *Log) save() {
	l.disk.Lock()
	defer l.disk.Unlock()
	seq := l.Seq()
	if seq == l.saved {
		return
	}
	if err := l.flush(); err != nil {
		l.unsaid = fmt.Errorf("the session log cannot be saved (%w)", cause(err))
		return
	}
	l.saved = seq
}

// Close ends the log. Followers get what is left and end.
func (l *Log) Close() error {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	var err error
	if l.lasting() {
		err = l.Sync()
	}
	err = errors.Join(err, l.file.Close())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signal()
	return errors.Join(err, l.lock.Close())
}

// Follow replays the log from event number from on and goes on live, until ctx
// ends or the log is closed.
func (l *Log) Follow(ctx context.Context, from int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var seen int64
		// The size is looked at before each read, so that an append between
		// the read and the wait is not missed.
		wait := func(ctx context.Context) bool { return l.wait(ctx, &seen) }
		follow(ctx, l.dir, from, wait, yield)
	}
}

// wait blocks until the log is longer than *seen; it says no at its end.
func (l *Log) wait(ctx context.Context, seen *int64) bool {
	l.mu.Lock()
	if l.size > *seen {
		*seen = l.size
		l.mu.Unlock()
		return true
	}
	if l.closed {
		l.mu.Unlock()
		return false
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	wake := l.wake
	l.mu.Unlock()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
		return true
	}
}

// SidePath is the file for the raw output of an attempt that the log has no
// room for.
func (l *Log) SidePath(step, attempt int, stderr bool) string {
	ext := "out"
	if stderr {
		ext = "err"
	}
	return filepath.Join(l.dir, "output", fmt.Sprintf("%d-%d.%s", step, attempt, ext))
}

var _ io.Closer = (*Log)(nil)
