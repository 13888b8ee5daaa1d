package agent

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReplayGivesEveryAttemptTheSameInput(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("line of input\n", 10_000)
	r := newReplay(strings.NewReader(want))
	defer r.Close()
	first := r.reader()
	part := make([]byte, 100)
	if _, err := io.ReadFull(first, part); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	for attempt := range 2 {
		got, err := io.ReadAll(r.reader())
		if err != nil || string(got) != want {
			t.Fatalf("attempt %d read %d bytes, %v; want %d", attempt, len(got), err, len(want))
		}
	}
}

func TestReplayReadsNoFurtherThanAsked(t *testing.T) {
	t.Parallel()
	src := bytes.NewReader(make([]byte, 1<<20))
	r := newReplay(src)
	defer r.Close()
	if _, err := r.reader().Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if taken := 1<<20 - src.Len(); taken > 64<<10 {
		t.Fatalf("took %d bytes from the source for a read of 10", taken)
	}
}

func TestReplayCloseEndsAWaitingRead(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	defer out.Close()
	r := newReplay(in)
	rd := r.reader()
	done := make(chan error, 1)
	go func() { _, err := rd.Read(make([]byte, 1)); done <- err }()
	_ = rd.Close()
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Fatalf("read ended with %v, want EOF", err)
	}
}
