package event

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// timer is an After whose time the test moves.
type timer struct {
	fire func()
	wait time.Duration
}

func (tm *timer) after(d time.Duration, f func()) func() bool {
	tm.fire, tm.wait = f, d
	return func() bool { tm.fire = nil; return true }
}

func (tm *timer) now(t *testing.T) {
	t.Helper()
	f := tm.fire
	if f == nil {
		t.Fatal("no timer runs")
	}
	tm.fire = nil
	f()
}

// memory keeps events.
type memory struct {
	events []Event
	err    error
}

func (m *memory) Append(b Body) (Event, error) {
	if m.err != nil {
		return Event{}, m.err
	}
	e := Event{Seq: int64(len(m.events) + 1), Body: b}
	m.events = append(m.events, e)
	return e, nil
}

func (m *memory) texts() (out []string) {
	for _, e := range m.events {
		out = append(out, e.Body.(Output).Text)
	}
	return out
}

func (m *memory) dropped() (n int64) {
	for _, e := range m.events {
		n += e.Body.(Output).Dropped
	}
	return n
}

func TestStreamGathers(t *testing.T) {
	t.Parallel()
	mem, tm := &memory{}, &timer{}
	s := NewStream(mem, StreamOptions{Step: 2, Attempt: 3, Stderr: true, After: tm.after})
	for _, p := range []string{"a", "b", "c\n"} {
		if n, err := s.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(mem.events) != 0 || tm.wait != FlushAfter {
		t.Fatalf("too early: %v", mem.texts())
	}
	tm.now(t)
	want := Output{Step: 2, Attempt: 3, Stderr: true, Text: "abc\n"}
	if len(mem.events) != 1 || mem.events[0].Body != want {
		t.Fatalf("got %+v", mem.events)
	}
	s.Write([]byte(strings.Repeat("x", FlushSize+1)))
	if len(mem.events) != 2 || len(mem.texts()[1]) != FlushSize {
		t.Errorf("a full buffer did not flush")
	}
	if err := s.Close(); err != nil || mem.texts()[2] != "x" {
		t.Errorf("close: %v %q", err, mem.texts())
	}
}

func TestStreamKeepsCharactersAndSequencesWhole(t *testing.T) {
	t.Parallel()
	for _, cut := range []struct{ first, rest string }{
		{"gr", "\xc3\xbcn"}, {"", "\xf0\x9f\x8f\xba"}, {"red ", "\x1b[31mX"}, {"title ", "\x1b]0;name\a"}, {"x", "\x1b(B"},
	} {
		for n := 1; n < len(strings.TrimRight(cut.rest, "nX")); n++ {
			mem, tm := &memory{}, &timer{}
			s := NewStream(mem, StreamOptions{After: tm.after})
			s.Write([]byte(cut.first + cut.rest[:n]))
			tm.now(t)
			if got := strings.Join(mem.texts(), ""); got != cut.first {
				t.Errorf("%q at %d: flushed %q", cut.first+cut.rest, n, got)
			}
			s.Write([]byte(cut.rest[n:]))
			s.Close()
			if got := strings.Join(mem.texts(), ""); got != cut.first+cut.rest {
				t.Errorf("%q at %d: ends as %q", cut.first+cut.rest, n, got)
			}
		}
	}
}

func TestStreamIsBounded(t *testing.T) {
	t.Parallel()
	mem, tm := &memory{}, &timer{}
	side := t.TempDir() + "/output/1-1.out"
	const total, keep, sideMax = 3 << 20, 64 << 10, 1 << 20
	s := NewStream(mem, StreamOptions{After: tm.after, Keep: keep, Side: side, SideMax: sideMax})
	line := strings.Repeat("0123456789abcde\n", 64)
	for range total / len(line) {
		s.Write([]byte(line))
	}
	tm.now(t) // a sample of the middle
	for range total / len(line) {
		s.Write([]byte(line))
	}
	s.Write([]byte("the very end\n"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept := len(strings.Join(mem.texts(), ""))
	if kept > keep || kept < keep/2 {
		t.Errorf("kept %d bytes of a bound of %d", kept, keep)
	}
	if got := int64(kept) + mem.dropped(); got != 2*total+13 {
		t.Errorf("kept and dropped are %d bytes, want %d", got, 2*total+13)
	}
	if last := mem.texts()[len(mem.events)-1]; !strings.HasSuffix(last, "the very end\n") {
		t.Errorf("the end is lost: %q", last)
	}
	if info, err := os.Stat(side); err != nil || info.Size() != sideMax {
		t.Errorf("side file: %v, %v", info, err)
	}
}

func TestStreamWithoutExcessMakesNoSideFile(t *testing.T) {
	t.Parallel()
	side := t.TempDir() + "/output/1-1.out"
	s := NewStream(&memory{}, StreamOptions{Side: side})
	s.Write([]byte("small"))
	s.Close()
	if _, err := os.Stat(side); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a side file for five bytes: %v", err)
	}
}

func TestStreamSurvivesABrokenLog(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	s := NewStream(&memory{err: broken}, StreamOptions{})
	if n, err := s.Write([]byte(strings.Repeat("x", 3*FlushSize))); n != 3*FlushSize || err != nil {
		t.Errorf("the program would see %d, %v", n, err)
	}
	if err := s.Close(); !errors.Is(err, broken) {
		t.Errorf("close: %v", err)
	}
}

func TestStreamCleans(t *testing.T) {
	t.Parallel()
	mem := &memory{}
	s := NewStream(mem, StreamOptions{Clean: func(b []byte) string { return strings.ToUpper(string(b)) }})
	s.Write([]byte("loud"))
	s.Close()
	held := NewStream(mem, StreamOptions{
		Clean: func([]byte) string { return "" }, Flush: func() string { return "|held" },
	})
	held.Write([]byte("x"))
	held.Close()
	plain := NewStream(mem, StreamOptions{})
	plain.Write([]byte("a\xffb"))
	plain.Close()
	if got := strings.Join(mem.texts(), "|"); got != "LOUD||held|a\ufffdb" {
		t.Errorf("got %q", got)
	}
}
