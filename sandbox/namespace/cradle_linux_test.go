package namespace

import (
	"context"
	"encoding/binary"
	"errors"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/namespace/launch"
)

// sent is a report as a box sends it.
func sent(kind, value uint32, rest ...byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	return append(binary.LittleEndian.AppendUint32(b, value), rest...)
}

// scripted is a cradle whose box sends the given reports and is gone.
func scripted(t *testing.T, reports ...[]byte) *cradle {
	t.Helper()
	c := lingering(t, reports...)
	c.status.give()
	return c
}

// lingering is a cradle whose box sends the given reports and stays.
func lingering(t *testing.T, reports ...[]byte) *cradle {
	t.Helper()
	c, err := newCradle(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.discard)
	for _, r := range reports {
		if _, err := unix.Write(c.status.theirs, r); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// stranger is the process id of a child that runs until it is killed. The
// cradle waits for it as for an init.
func stranger(t *testing.T) uint32 {
	t.Helper()
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return uint32(cmd.Process.Pid)
}

func waiting(kind uint32) awaiting {
	return awaiting{kind: kind, born: func() error { return nil }, socket: func(reported) error { return nil }}
}

func TestTheEndMayComeBeforeTheBirth(t *testing.T) {
	t.Parallel()
	c := scripted(t, sent(reportStarted, 0), sent(reportEnded, 7<<8), sent(reportBorn, stranger(t)))
	if err := c.await(t.Context(), waiting(reportStarted)); err != nil {
		t.Fatal(err)
	}
	if m, err := c.receive(); err != nil || m.kind != reportEnded || m.value != 7<<8 {
		t.Fatalf("got %+v, %v", m, err)
	}
	if _, err := c.receive(); err == nil {
		t.Fatal("the box did not end")
	}
}

func TestFailedStepIsNamed(t *testing.T) {
	t.Parallel()
	p := launch.New()
	p.Note("doing nothing")
	p.Call(unix.SYS_GETPID)
	p.Note("opening the moon")
	p.Call(unix.SYS_OPENAT)
	c := scripted(t, sent(reportFailed, uint32(unix.EACCES), binary.LittleEndian.AppendUint32(nil, launch.Base+64+64)...), sent(reportStarted, 0))
	c.program, c.base = p, launch.Base
	err := c.await(t.Context(), waiting(reportStarted))
	if !errors.Is(err, unix.EACCES) || err.Error() != "making a box: opening the moon (openat): permission denied" {
		t.Fatalf("got %v", err)
	}
}

func TestSilentEndIsAnError(t *testing.T) {
	t.Parallel()
	if err := scripted(t).await(t.Context(), waiting(reportStarted)); !errors.Is(err, errGone) {
		t.Fatalf("got %v", err)
	}
}

// Init stays until it is let go, so no end of the channel tells what happened.
func TestInitThatStays(t *testing.T) {
	t.Parallel()
	failed := sent(reportFailed, uint32(unix.EACCES))
	for name, c := range map[string]struct {
		reports [][]byte
		want    error
	}{
		"a step failed":               {[][]byte{failed, sent(reportStarted, 0), sent(reportAlone, 1<<8)}, unix.EACCES},
		"a step failed, others ended": {[][]byte{failed, sent(reportEnded, 1<<8), sent(reportEmpty, 0)}, unix.EACCES},
		"killed before it started":    {[][]byte{sent(reportAlone, 9)}, errGone},
		"a short program":             {[][]byte{sent(reportStarted, 0), sent(reportAlone, 7<<8)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			box := lingering(t, append(c.reports, sent(reportBorn, stranger(t)))...)
			box.program = launch.New()
			if err := box.await(ctx, waiting(reportStarted)); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want != nil {
				return
			}
			if m, err := box.receive(); err != nil || m.kind != reportAlone || m.value != 7<<8 {
				t.Errorf("got %+v, %v", m, err)
			}
		})
	}
}
