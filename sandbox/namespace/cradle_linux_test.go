package namespace

import (
	"encoding/binary"
	"errors"
	"os/exec"
	"testing"

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
	c.status.give()
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
