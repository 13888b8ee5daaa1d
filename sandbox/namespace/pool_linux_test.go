package namespace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	if len(p.ready) > 0 {
		return p.ready[0].pid
	}
	return 0
}

func TestWarmBoxesAreUsedOnce(t *testing.T) {
	t.Parallel()
	r := warmRuntime(t, 3)
	seen := map[int]bool{}
	for range 6 {
		if err := r.Warm(nil); err != nil {
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
		r.open.Load().apart.settle()
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

func TestDeadMakerIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	shell(t, r, "echo first", "first\n")
	s := r.open.Load()
	s.apart.settle()
	if len(s.free) != 1 {
		t.Fatalf("%d slots are free", len(s.free))
	}
	if err := unix.Kill(s.free[0].maker.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the maker died", func() bool { return dead(s.free[0].maker.pid) })
	shell(t, r, "echo second", "second\n")
}

// TestMakerForgets wants nothing of one box to reach the next: the maker has
// seen the first one's environment and descriptors.
func TestMakerForgets(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	secret := strings.Repeat("s3cret-", 20_000)
	for _, environment := range []string{"SHORT=s3cret", "LONG=" + secret[:100_000]} {
		if o := run(t, r, sandbox.Spec{Argv: []string{"true"}, Env: []string{environment}}); o.ExitCode != 0 {
			t.Fatalf("%+v", o)
		}
		s := r.open.Load()
		s.apart.settle()
		maker := s.free[0].maker.pid
		if os.Geteuid() == 0 { // only root may look into the maker
			if found := memoryHas(t, maker, "s3cret"); found != "" {
				t.Errorf("the maker remembers %.10s in %s", environment, found)
			}
			fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", maker))
			if err != nil || len(fds) != makerImage {
				t.Errorf("the maker has the descriptors %v, %v", fds, err)
			}
		}
	}
}

// memoryHas names the first mapping of a process that contains a word.
func memoryHas(t *testing.T, pid int, word string) string {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[vsyscall]") {
			continue // outside of what can be read
		}
		var from, to int64
		if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
			t.Fatal(err)
		}
		content := make([]byte, to-from)
		n, _ := memory.ReadAt(content, from)
		if strings.Contains(string(content[:n]), word) {
			return strings.TrimSpace(line)
		}
	}
	return ""
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
	defer func() { shell(t, r, "echo again", "again\n") }() // who starts one after that has it all the same
	r.Close()
	if err := unix.Kill(init, 0); err == nil {
		t.Error("a warm box is left")
	}
	if left := groupsOf(t, r); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
}

// A process that ends just after it had a box begun leaves no more than others.
func TestCloseAwaitsWhatIsBegun(t *testing.T) {
	t.Parallel()
	o := newRuntime(t).options
	o.Warm = 1
	r := New(o)
	r.Prepare(nil)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if r.open.Load() == nil {
		t.Fatal("closed before the box was begun")
	}
	if left, _ := filepath.Glob(filepath.Join(o.StateDir, "slot-*")); len(left) > 0 {
		t.Errorf("leases are left: %v", left)
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
	if err := r.Warm(nil); err != nil {
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

// A Start that comes while the pool is being filled takes the box that is made.
func TestStartTakesTheBoxThatIsBeingMade(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	r.options.Warm = 1
	s, err := r.slots()
	if err != nil {
		t.Fatal(err)
	}
	s.pool.prepare(nil)
	run(t, r, sandbox.Spec{Argv: []string{"true"}})
	if made := s.next; made != 1 {
		t.Errorf("%d slots were opened for one box", made)
	}
	if nextWarm(r) != 0 {
		t.Error("a box that was used was replaced without being asked for")
	}
}
