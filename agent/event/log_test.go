package event

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWrittenIsRead(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	want := appendAll(t, log, story()...)
	got, err := ReadFile(log.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	events := appendAll(t, log, story()[:6]...)
	whole, err := os.ReadFile(Path(log.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for n := range len(whole) + 1 {
		if err := os.WriteFile(Path(dir), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		checkTorn(t, dir, events, strings.Count(string(whole[:n]), "\n"), n > 0 && whole[n-1] != '\n')
	}
}

// checkTorn reads and reopens a log with keep complete lines.
func checkTorn(t *testing.T, dir string, events []Event, keep int, torn bool) {
	t.Helper()
	read, err := ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := keep
	if torn {
		want++
		if n, ok := read[len(read)-1].Body.(Note); !ok || read[len(read)-1].Seq != 0 || !strings.Contains(n.Text, "incomplete") {
			t.Fatalf("no note about the torn line: %#v", read[len(read)-1])
		}
	}
	if len(read) != want {
		t.Fatalf("read %d events, want %d", len(read), want)
	}
	log, err := OpenAt(dir, clock())
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, log, Task{Text: "after"})
	log.Close()
	again, err := ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(again) != want+1 || cmp.Diff(events[:keep], again[:keep]) != "" {
		t.Fatalf("after reopening with %d lines: %d events", keep, len(again))
	}
	for i, e := range again {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
	}
}

func TestDamagedLineInTheMiddleIsNoted(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	appendAll(t, log, story()[:5]...)
	log.Close()
	data, err := os.ReadFile(Path(log.Dir()))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(string(data), "\n")
	rows[2] = "\x00\x00garbage\n"
	if err := os.WriteFile(Path(log.Dir()), []byte(strings.Join(rows, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(log.Dir())
	if err != nil || len(got) != 5 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	if n, ok := got[2].Body.(Note); !ok || !strings.Contains(n.Text, "line 3") {
		t.Errorf("got %#v", got[2].Body)
	}
}

func TestOverlongLineIsPassedOver(t *testing.T) {
	t.Parallel()
	line, err := Encode(Event{Seq: 1, Body: Task{Text: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("y", 3*MaxLine) + "\n" + string(line)
	got, err := Read(strings.NewReader(text))
	if err != nil || len(got) != 1 || got[0].Body != (Task{Text: "x"}) {
		t.Errorf("got %d events, %v", len(got), err)
	}
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if _, err := log.Append(Output{Step: 1, Attempt: 1, Text: strings.Repeat("z", 300)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := ReadFile(log.Dir())
	if err != nil || len(got) != 1600 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	for i, e := range got {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
	}
}

func TestFollowInTheSameProcess(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	appendAll(t, log, story()[:10]...)
	got := make(chan Event)
	go func() {
		defer close(got)
		for e, err := range log.Follow(t.Context(), 3) {
			if err != nil {
				t.Error(err)
			}
			got <- e
		}
	}()
	for n := int64(3); n <= 10; n++ {
		if e := <-got; e.Seq != n {
			t.Fatalf("got %d, want %d", e.Seq, n)
		}
	}
	for n := int64(11); n < 200; n++ {
		appendAll(t, log, Note{Level: "info"})
		if e := <-got; e.Seq != n {
			t.Fatalf("live: got %d, want %d", e.Seq, n)
		}
	}
	log.Close()
	if e, open := <-got; open {
		t.Errorf("%v after the log was closed", e)
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	appendAll(t, log, Task{Text: "x"})
	n := 0
	for range log.Follow(ctx, 0) {
		n++
		cancel()
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestFollowAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "s")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "EVENT_TEST_WRITER="+dir, "EVENT_TEST_COUNT=500")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the writer says %q, %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n := int64(0)
	for e, err := range Follow(ctx, dir, 0) {
		if n++; err != nil || e.Seq != n {
			t.Fatalf("event %d: %v, %v", n, e, err)
		}
		if n == 500 {
			if !Live(dir) {
				t.Error("the session of a living writer is not live")
			}
			if _, err := Open(dir); !errors.Is(err, ErrLive) {
				t.Errorf("a live session was opened a second time: %v", err)
			}
			stdin.Close()
		}
	}
	if err := cmd.Wait(); err != nil || n != 500 || ctx.Err() != nil {
		t.Errorf("%d events, %v, %v", n, err, ctx.Err())
	}
	if Live(dir) {
		t.Error("the session of a dead writer is live")
	}
}

func TestNotUTF8IsTheSameLiveAndRead(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	want := appendAll(t, log, Task{Text: "a\xff\xfeb"})
	got, err := ReadFile(log.Dir())
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	if _, err := Create(log.Dir(), nil); !errors.Is(err, ErrLive) {
		t.Errorf("created over a live log: %v", err)
	}
	log.Close()
	if _, err := Create(log.Dir(), nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("created over a log: %v", err)
	}
	if _, err := log.Append(Task{}); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opened nothing: %v", err)
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read nothing: %v", err)
	}
}

func TestStepBoundariesAreSynced(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	synced := make(chan struct{}, 10)
	log.flush = func() error { synced <- struct{}{}; return nil }
	appendAll(t, log, Task{}, StepStart{Step: 1}, Reasoning{Step: 1}, Output{Step: 1}, Note{})
	if n := len(synced); n != 0 {
		t.Errorf("synced %d times in the middle of a step", n)
	}
	appendAll(t, log, StepEnd{Step: 1})
	<-synced // begun by itself
	appendAll(t, log, Checkpoint{Step: 2}, End{})
	if err := log.Sync(); err != nil || len(synced) != 2 {
		t.Errorf("synced %d times after a checkpoint and the end, %v", len(synced), err)
	}
	log.flush = func() error { return errors.New("worn out") }
	if _, err := log.Append(Checkpoint{}); err == nil || !strings.Contains(err.Error(), "worn out") {
		t.Errorf("a failed sync says %v", err)
	}
}

func TestRunThatCanBeRepeatedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	log.flush = func() error { t.Error("synced"); return nil }
	appendAll(t, log, Task{}, StepStart{Step: 1}, Call{Step: 1}, Output{Step: 1}, StepEnd{Step: 1}, End{})
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	again, err := Open(log.Dir())
	if err != nil {
		t.Fatal(err)
	}
	synced := 0
	again.flush = func() error { synced++; return nil }
	appendAll(t, again, Answer{}, End{})
	if err := again.Close(); err != nil || synced != 1 {
		t.Errorf("synced %d times after an answer, %v", synced, err)
	}
}
