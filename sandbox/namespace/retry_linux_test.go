package namespace

import (
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// TestMakerDiesUnnoticed: a maker that is killed just before its order makes
// room for another one, which makes the box, also one with a workspace whose
// changes are kept.
func TestMakerDiesUnnoticed(t *testing.T) {
	t.Parallel()
	project, step := t.TempDir(), t.TempDir()
	upper, work := filepath.Join(step, "upper"), filepath.Join(step, "work")
	for _, dir := range []string{upper, work} {
		if err := unix.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var once sync.Once
	r := open(t, Options{StateDir: newRuntime(t).options.StateDir, fault: func(point string, b sandbox.Box) {
		if point == "lease" {
			once.Do(func() { reapKilled(b.(*box).slot.maker.pid) })
		}
	}})
	spec := sh("echo kept > file; cat file")
	spec.Workspace = sandbox.Workspace{Path: project, Upper: upper, Work: work}
	spec.Dir = project
	if o := run(t, r, spec); o.ExitCode != 0 || o.out != "kept\n" {
		t.Fatalf("%+v %q %q", o.Result, o.out, o.err)
	}
}

// reapKilled kills a process and returns when it is gone, without taking its
// exit status.
func reapKilled(pid int) {
	_ = unix.Kill(pid, unix.SIGKILL)
	_ = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
}
