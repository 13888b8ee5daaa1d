package namespace

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// nextWarm is the init of the warm box that the next Start takes, or 0.
func nextWarm(r *Runtime) int {
	p := r.open.Load().pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.ready); n > 0 {
		return p.ready[n-1].pid
	}
	return 0
}

func TestWarmBoxesAreUsedOnce(t *testing.T) {
	t.Parallel()
	r := warmRuntime(t, 3)
	seen := map[int]bool{}
	for range 6 {
		if err := r.Warm(); err != nil {
			t.Fatal(err)
		}
		init := nextWarm(r)
		if init == 0 || seen[init] {
			t.Fatalf("process %d is to be used, after %v", init, seen)
		}
		seen[init] = true
		b := start(t, r, sh("echo x >/tmp/x; ls -A /tmp"))
		if !strings.HasSuffix(b.ID(), fmt.Sprintf("-%d", init)) {
			t.Errorf("box %s was not made of process %d", b.ID(), init)
		}
		if result, err := b.Wait(); err != nil || result.ExitCode != 0 {
			t.Fatalf("%+v %v", result, err)
		}
		if err := unix.Kill(init, 0); err == nil {
			t.Errorf("process %d outlived its box", init)
		}
	}
}

func TestDeadWarmBoxIsReplaced(t *testing.T) {
	t.Parallel()
	r := warmRuntime(t, 1)
	if err := unix.Kill(nextWarm(r), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the warm box died", func() bool { return dead(nextWarm(r)) })
	shell(t, r, "echo fine", "fine\n")
}

// dead says whether a process is a zombie.
func dead(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func TestCloseEndsWarmBoxes(t *testing.T) {
	t.Parallel()
	r := warmRuntime(t, 2)
	init := nextWarm(r)
	r.Close()
	if err := unix.Kill(init, 0); err == nil {
		t.Error("a warm box is left")
	}
	if left := groupsOf(t, r); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
}

func TestWhatNoWarmBoxCanBecome(t *testing.T) {
	t.Parallel()
	r := warmRuntime(t, 1)
	spec := sandbox.Spec{Argv: []string{"sh", "-c", "echo ${#BIG}"}, Env: append(sandbox.BaseEnv(os.Environ()), "BIG="+strings.Repeat("x", 100_000), "MORE="+strings.Repeat("y", 120_000))}
	out := run(t, r, spec)
	if out.out != "100000\n" {
		t.Fatalf("got %+v", out)
	}
	if err := r.Warm(); err != nil {
		t.Fatal(err)
	}
	init := nextWarm(r)
	spec = sandbox.Spec{Argv: []string{"true"}, Network: sandbox.NetworkHost}
	b, err := r.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Wait(); err != nil {
		t.Fatal(err)
	}
	if nextWarm(r) != init {
		t.Error("a box with the host's network took a warm one")
	}
}
