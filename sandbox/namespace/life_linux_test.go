package namespace

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kintsugi/sandbox"
)

// workbench starts boxes that run a script, one after another, and prints a
// line for each that runs. The directory for leases and captured layers is in
// the environment.
func workbench(script string) {
	state := os.Getenv("STATE")
	r := New(Options{StateDir: state})
	for i := 0; ; i++ {
		capture := filepath.Join(state, fmt.Sprintf("layer-%d", i))
		if err := os.MkdirAll(filepath.Join(capture, "opt/x"), 0o755); err != nil {
			panic(err)
		}
		spec := sandbox.Spec{Argv: []string{"sh", "-c", script}, Env: sandbox.BaseEnv(os.Environ()), Capture: capture}
		spec.Limits.Wall, _ = time.ParseDuration(os.Getenv("WALL"))
		if _, err := r.Start(context.Background(), spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("started")
	}
}

// startWorkbench runs this binary as a workbench whose boxes are marked.
func startWorkbench(t *testing.T, state, script string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, benchEnv+"="+script, "STATE="+state)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		io.Copy(io.Discard, out)
		cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

// marked lists the processes whose arguments contain a word.
func marked(mark string) []string {
	var out []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(text), mark) {
			out = append(out, f)
		}
	}
	return out
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// groupsOf lists the control groups of a runtime's boxes.
func groupsOf(t *testing.T, r *Runtime) []string {
	t.Helper()
	h, err := r.host()
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.groups()
	if err != nil {
		t.Fatal(err)
	}
	return c.named(h.groupsPrefix())
}

// TestKilledWorkbench kills workbenches at random moments and wants nothing
// of theirs to be left.
func TestKilledWorkbench(t *testing.T) {
	t.Parallel()
	state := newRuntime(t).options.StateDir
	mark := fmt.Sprintf("77%d", os.Getpid())
	boxes := 0
	for range 12 {
		cmd, lines := startWorkbench(t, state, "sleep "+mark+" & sleep "+mark)
		for range 1 + rand.IntN(4) {
			if !lines.Scan() {
				t.Fatal("the workbench ended by itself")
			}
			boxes++
		}
		time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond) // any moment of the next start
		cmd.Process.Kill()
		cmd.Wait()
	}
	eventually(t, "all processes gone", func() bool { return len(marked(mark)) == 0 })

	r := open(t, Options{StateDir: state})
	got, err := r.Reconcile(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got.Boxes == 0 || got.Directories == 0 {
		t.Errorf("after %d boxes: %+v", boxes, got)
	}
	if left := groupsOf(t, r); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
	for _, pattern := range []string{"slot-*", "*.work"} {
		if left, _ := filepath.Glob(filepath.Join(state, pattern)); len(left) > 0 {
			t.Errorf("files are left: %v", left)
		}
	}
}

// TestStoppedWorkbench wants the wall clock to be kept while we are stopped.
func TestStoppedWorkbench(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprintf("78%d", os.Getpid())
	cmd, lines := startWorkbench(t, newRuntime(t).options.StateDir, "sleep "+mark, "WALL=500ms")
	if !lines.Scan() {
		t.Fatal("the workbench ended by itself")
	}
	eventually(t, "the box runs", func() bool { return len(marked(mark)) > 0 })
	cmd.Process.Signal(syscall.SIGSTOP)
	defer cmd.Process.Signal(syscall.SIGCONT)
	eventually(t, "the box ended", func() bool { return len(marked(mark)) == 0 })
}

func TestGroupWithoutLeaseIsReclaimed(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	s, err := r.slots()
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.groups.open(s.host.groupPrefix(7) + "box")
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Reconcile(t.Context())
	if err != nil || got.Groups != len(s.groups.bases) && s.groups.version == 1 || g != nil && got.Groups == 0 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if left := groupsOf(t, r); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
}

func TestReconcileSparesTheLiving(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	ready := &signalWriter{seen: make(chan struct{}, 1)}
	spec := sh("echo; sleep 0.3; exit 5")
	spec.Stdout = ready
	b := start(t, r, spec)
	<-ready.seen
	got, err := open(t, r.options).Reconcile(context.Background())
	if err != nil || got != (sandbox.Reclaimed{}) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if result, err := b.Wait(); err != nil || result.ExitCode != 5 {
		t.Fatalf("got %+v, %v", result, err)
	}
}

// TestSoak starts many boxes at once, kills some, and wants descriptors,
// processes and control groups to be as before.
func TestSoak(t *testing.T) {
	r := newRuntime(t)
	before := openFiles(t)
	mark := fmt.Sprintf("79%d", os.Getpid())
	done := make(chan error)
	const workers, each = 8, 6
	for range workers {
		go func() {
			for range each {
				b, err := r.Start(context.Background(), sandbox.Spec{Argv: []string{"/bin/sleep", mark}, Limits: sandbox.Limits{Wall: time.Duration(1+rand.IntN(40)) * time.Millisecond}})
				if err != nil {
					done <- err
					return
				}
				if rand.IntN(2) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(20))*time.Millisecond, b.Kill)
				}
				if _, err := b.Wait(); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range workers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if left := marked(mark); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	s, err := r.slots()
	if err != nil {
		t.Fatal(err)
	}
	s.apart.settle()
	// Each slot keeps its lease, its maker and its group's files; /dev/null and
	// the life line stay.
	if now := openFiles(t); now > before+9*len(s.free)+3+3 {
		t.Errorf("%d descriptors before, %d after, %d slots", before, now, len(s.free))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if left := groupsOf(t, r); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(r.options.StateDir, "slot-*")); len(left) > 0 {
		t.Errorf("leases are left: %v", left)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
