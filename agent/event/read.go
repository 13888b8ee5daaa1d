package event

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// FileName is the log inside a session's directory.
const FileName = "events.jsonl"

// pollEvery is how often the log of another process is looked at. A look is
// one read at the end of a file: a few microseconds.
const pollEvery = 50 * time.Millisecond

// Path is the log file of a session's directory.
func Path(dir string) string { return filepath.Join(dir, FileName) }

// ReadFile reads a log, from its path or its session's directory. A line that
// cannot be read gives a Note with number 0 in its place; only a file that
// cannot be opened or read at all is an error.
func ReadFile(path string) ([]Event, error) {
	file, err := openLog(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Read(file)
}

// Read is ReadFile for anything that holds a log.
func Read(r io.ReaderAt) ([]Event, error) {
	var events []Event
	sc := newScanner(r, 0)
	for {
		e, ok, err := sc.next()
		if err != nil {
			return events, err
		}
		if !ok {
			break
		}
		events = append(events, e)
	}
	if sc.torn() {
		events = append(events, sc.note("the last line of the log is incomplete (a crash while it was written); it was left out"))
	}
	return events, nil
}

// Follow replays the log in a session's directory from event number from on,
// and goes on with what is appended, also by another process. It ends when
// ctx does, or when the end is reached and no process has the session open.
// An error ends it too and is yielded last.
func Follow(ctx context.Context, dir string, from int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		live := func() bool { return Live(dir) }
		follow(ctx, dir, from, pollWait(live), yield)
	}
}

// pollWait waits for a while; it says no when nobody writes any more.
func pollWait(live func() bool) func(context.Context) bool {
	over := false
	return func(ctx context.Context) bool {
		if over {
			return false
		}
		// What was written before the writer left is read once more.
		over = !live()
		if over {
			return true
		}
		timer := time.NewTimer(pollEvery)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		}
	}
}

// follow yields events and calls wait at the end of the file.
func follow(ctx context.Context, dir string, from int64, wait func(context.Context) bool, yield func(Event, error) bool) {
	file, err := openLog(dir)
	if err != nil {
		yield(Event{}, err)
		return
	}
	defer file.Close()
	sc := newScanner(file, from)
	for ctx.Err() == nil {
		e, ok, err := sc.next()
		switch {
		case err != nil:
			yield(Event{}, err)
			return
		case ok:
			if !yield(e, nil) {
				return
			}
		case !wait(ctx):
			return
		}
	}
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = Path(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("session log: %w", err)
	}
	return file, nil
}

// scanner turns lines into events.
type scanner struct {
	r     io.ReaderAt
	lines *lines
	from  int64
	count int64
	at    time.Time
}

func newScanner(r io.ReaderAt, from int64) *scanner {
	return &scanner{r: r, lines: newLines(r), from: from}
}

// next gives the next event at or after from, or false at the end.
func (s *scanner) next() (Event, bool, error) {
	for {
		line, err := s.lines.next()
		if err != nil {
			return Event{}, false, fmt.Errorf("session log: %w", err)
		}
		if line == nil {
			return Event{}, false, nil
		}
		s.count++
		rec, err := decodeRecord(line)
		if err == nil && rec.N < s.from {
			continue
		}
		e, err := s.event(rec, err)
		if err != nil {
			return s.note(fmt.Sprintf("line %d of the log cannot be read and was passed over", s.count)), true, nil
		}
		return e, true, nil
	}
}

func (s *scanner) event(rec record, err error) (Event, error) {
	if err != nil {
		return Event{}, err
	}
	e, err := rec.event()
	if err == nil {
		s.at = e.At
	}
	return e, err
}

// torn says whether bytes follow the last complete line.
func (s *scanner) torn() bool {
	n, _ := s.r.ReadAt(make([]byte, 1), s.lines.off)
	return n > 0
}

func (s *scanner) note(text string) Event {
	return Event{At: s.at, Body: Note{Level: "warn", Text: text}}
}
