package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// run links p, runs its image as a process and returns what it wrote and its
// exit code.
func run(t *testing.T, p *Program) (string, int) {
	t.Helper()
	block, err := p.Link(Base)
	if err != nil {
		t.Fatal(err)
	}
	head, err := Image(block)
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, DataOffset+len(block.Bytes))
	copy(file, head)
	copy(file[DataOffset:], block.Bytes)
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, file, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestCallsJumpsAndCells(t *testing.T) {
	t.Parallel()
	p := New()
	wrong := p.Label()
	pid := p.Call(unix.SYS_GETPID)
	same := p.Call(unix.SYS_GETPID)
	equal := p.Label()
	p.JumpIfSame(pid, same, equal)
	p.Jump(wrong)
	p.Bind(equal)
	n := p.Call(unix.SYS_WRITE, 1, "hello\n", 6)
	p.JumpIf(n, -1, 5, wrong)
	masked := p.Label()
	p.JumpIf(n, 2, 2, masked)
	p.Jump(wrong)
	p.Bind(masked)
	p.Set(n, 7)
	p.Call(unix.SYS_EXIT_GROUP, n)
	p.Bind(wrong)
	p.Bind(Failed)
	p.Call(unix.SYS_EXIT_GROUP, 99)
	out, code := run(t, p)
	if out != "hello\n" || code != 7 {
		t.Fatalf("got %q, exit %d; want hello, exit 7", out, code)
	}
}

func TestFailureIsReported(t *testing.T) {
	t.Parallel()
	p := New()
	p.Try(unix.SYS_CLOSE, 9999)
	ignored := p.Word(0)
	p.Set(ignored, LastErrno())
	p.Note("opening nothing")
	p.Call(unix.SYS_OPENAT, unix.AT_FDCWD, "/does/not/exist", 0, 0)
	p.Call(unix.SYS_EXIT_GROUP, 0)
	p.Bind(Failed)
	p.OnFail(Next)
	p.Call(unix.SYS_WRITE, 1, LastErrno().Addr(), 8)
	p.Call(unix.SYS_WRITE, 1, ignored.Addr(), 4)
	p.Call(unix.SYS_EXIT_GROUP, 3)
	out, code := run(t, p)
	if code != 3 || len(out) != 12 {
		t.Fatalf("got %d bytes, exit %d", len(out), code)
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32([]byte(out)[i:]) }
	i, ok := OpIndex(Base, word(4), p.Len())
	if unix.Errno(word(0)) != unix.ENOENT || !ok || unix.Errno(word(8)) != unix.EBADF {
		t.Fatalf("errno %v, operation %d (%v), earlier errno %v", unix.Errno(word(0)), i, ok, unix.Errno(word(8)))
	}
	if got := p.Explain(i); got != "opening nothing (openat)" {
		t.Fatalf("explained as %q", got)
	}
}

func TestPointersAndExec(t *testing.T) {
	t.Parallel()
	p := New()
	argv := p.Strings([]string{"sh", "-c", "echo $WORD"})
	env := p.Strings([]string{"WORD=gold"})
	p.Call(unix.SYS_EXECVE, "/bin/sh", argv, env)
	p.Bind(Failed)
	p.Call(unix.SYS_EXIT_GROUP, 1)
	if out, code := run(t, p); out != "gold\n" || code != 0 {
		t.Fatalf("got %q, exit %d", out, code)
	}
}

func TestLinkRefusesUnboundLabels(t *testing.T) {
	t.Parallel()
	p := New()
	p.Bind(Failed)
	p.Jump(p.Label())
	if _, err := p.Link(Base); !errors.Is(err, errUnbound) {
		t.Fatalf("got %v", err)
	}
	q := New()
	q.Bind(Failed)
	q.Call(unix.SYS_CLOSE, 1.5)
	if _, err := q.Link(Base); err == nil {
		t.Fatal("a float was taken as an argument")
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	p := New()
	p.Note("a place to write")
	p.Call(unix.SYS_MKDIRAT, unix.AT_FDCWD, "/tmp/x", 0o755)
	p.Bind(Failed)
	want := "  0 mkdirat("
	if got := p.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, `"/tmp/x", 0x1ed) else 1  # a place to write`) {
		t.Fatalf("got %s", got)
	}
}

func TestInterpreterHasNoForeignBytes(t *testing.T) {
	t.Parallel()
	text, err := interpreter()
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 512 || bytes.Contains(text, []byte("KINTSUGI")) {
		t.Fatalf("the interpreter has %d bytes", len(text))
	}
}
