package namespace

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// backEnds runs a test with the control groups that this machine has and
// without any.
func backEnds(t *testing.T, test func(t *testing.T, r *Runtime)) {
	for _, without := range []bool{false, true} {
		t.Run(fmt.Sprintf("without groups %v", without), func(t *testing.T) {
			t.Parallel()
			o := newRuntime(t).options
			o.withoutGroups = without
			test(t, open(t, o))
		})
	}
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	backEnds(t, func(t *testing.T, r *Runtime) {
		// Many small processes: a limit per process would not do.
		spec := sandbox.Spec{Argv: []string{"bash", "-c", `for i in 1 2 3 4 5 6; do bash -c 'x=$(head -c 20000000 /dev/zero | tr "\0" x); sleep 2' & all="$all $!"; done; for p in $all; do wait $p || exit; done`}}
		spec.Limits = sandbox.Limits{Memory: 64 << 20, Wall: 60 * time.Second}
		o := run(t, r, spec)
		if o.Limit != sandbox.LimitMemory || o.Mechanism == "" || o.Usage.Memory < 32<<20 {
			t.Fatalf("got %+v %q %q", o.Result, o.out, o.err)
		}
		shell(t, r, "echo the next box is fine", "the next box is fine\n")
	})
}

func TestProcessLimit(t *testing.T) {
	t.Parallel()
	backEnds(t, func(t *testing.T, r *Runtime) {
		spec := sandbox.Spec{Argv: []string{"bash", "-c", "for i in $(seq 100); do sleep 1 & done; wait; exit 1"}}
		spec.Limits = sandbox.Limits{Processes: 20, Wall: 60 * time.Second}
		o := run(t, r, spec)
		if o.Limit != sandbox.LimitProcesses || o.Mechanism == "" || !strings.Contains(o.err, "fork") {
			t.Fatalf("got %+v %q", o.Result, o.err)
		}
	})
}

func TestForkBomb(t *testing.T) {
	t.Parallel()
	backEnds(t, func(t *testing.T, r *Runtime) {
		spec := sandbox.Spec{Argv: []string{"bash", "-c", "bomb() { bomb | bomb & sleep 0.5; }; bomb; exit 1"}}
		spec.Limits = sandbox.Limits{Processes: 50, Wall: 60 * time.Second}
		o := run(t, r, spec)
		c, err := r.groups()
		if err != nil {
			t.Fatal(err)
		}
		// Without a group only a look at the right moment tells which limit it was.
		if o.ExitCode == 0 || c.has("pids") && o.Limit != sandbox.LimitProcesses {
			t.Fatalf("got %+v", o.Result)
		}
	})
}

func TestWallLimit(t *testing.T) { eachKind(t, testWallLimit) }

func testWallLimit(t *testing.T, r *Runtime) {
	spec := sh("trap '' TERM INT HUP; (setsid sleep 100 &); sleep 100")
	spec.Limits.Wall = 200 * time.Millisecond
	o := run(t, r, spec)
	if o.Limit != sandbox.LimitWall || o.ExitCode != 137 || o.Duration < 100*time.Millisecond || o.Duration > 3*time.Second {
		t.Fatalf("got %+v", o.Result)
	}
}

func TestCPULimit(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	spec := sh("while :; do :; done")
	spec.Limits.CPU = time.Second
	if o := run(t, r, spec); o.Limit != sandbox.LimitCPU || o.Usage.CPU < 700*time.Millisecond {
		t.Fatalf("got %+v", o.Result)
	}
}

func TestFileSizeLimit(t *testing.T) { eachKind(t, testFileSizeLimit) }

func testFileSizeLimit(t *testing.T, r *Runtime) {
	spec := sandbox.Spec{Argv: []string{"dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=100"}}
	spec.Limits.FileSize = 1 << 20
	if o := run(t, r, spec); o.Limit != sandbox.LimitFileSize {
		t.Fatalf("got %+v", o.Result)
	}
}

func TestDiskAndInodeLimits(t *testing.T) { eachKind(t, testDiskAndInodeLimits) }

func testDiskAndInodeLimits(t *testing.T, r *Runtime) {
	spec := sh("head -c 100M /dev/zero >/tmp/x; rm /tmp/x; cd /tmp; seq 1000 | xargs touch")
	spec.Limits = sandbox.Limits{Disk: 8 << 20, Inodes: 500}
	o := run(t, r, spec)
	if o.ExitCode == 0 || strings.Count(o.err, "No space left") < 2 {
		t.Fatalf("got %+v %q", o.Result, o.err)
	}
}

func TestOpenFilesLimit(t *testing.T) { eachKind(t, testOpenFilesLimit) }

func testOpenFilesLimit(t *testing.T, r *Runtime) {
	spec := sh("ulimit -n; ulimit -Hn; ulimit -c")
	spec.Limits.OpenFiles = 50
	if o := run(t, r, spec); o.out != "50\n50\n0\n" {
		t.Fatalf("got %q", o.out)
	}
}

func TestOutputLimit(t *testing.T) { eachKind(t, testOutputLimit) }

func testOutputLimit(t *testing.T, r *Runtime) {
	spec := sh("(setsid sleep 100 &) ; yes")
	spec.Limits.Output = 100_000
	o := run(t, r, spec)
	if o.Limit != sandbox.LimitOutput || len(o.out) != 100_000 || o.OutputDropped == 0 || o.Duration > 5*time.Second {
		t.Fatalf("got %+v, %d bytes", o.Result, len(o.out))
	}
}

// TestOurMemoryIsFlat sends and receives far more than fits into memory.
func TestOurMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	r := newRuntime(t)
	before := heap()
	spec := sh("head -c 1G /dev/zero; sleep 0.1")
	spec.Stdin = endless{}
	spec.Stdout = &counter{}
	spec.Limits.Output = -1
	o := run(t, r, spec)
	if n := spec.Stdout.(*counter).n; n != 1<<30 || o.ExitCode != 0 {
		t.Fatalf("%d bytes arrived: %+v", n, o.Result)
	}
	if grown := int64(heap()) - int64(before); grown > 16<<20 {
		t.Fatalf("our memory grew by %d bytes", grown)
	}
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

func TestKillAndCancel(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	ready := &signalWriter{seen: make(chan struct{}, 1)}
	spec := sh("(setsid sh -c 'sleep 100 | sleep 100' &); echo ready; sleep 100")
	spec.Stdout = ready
	b := start(t, r, spec)
	<-ready.seen
	b.Kill()
	b.Kill()
	if result, err := b.Wait(); err != nil || result.Limit != sandbox.LimitCancelled || result.ExitCode != 137 {
		t.Fatalf("got %+v, %v", result, err)
	}
	b.Kill()

	ctx, cancel := context.WithCancel(context.Background())
	spec.Env = sandbox.BaseEnv(os.Environ())
	b, err := r.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	<-ready.seen
	cancel()
	if result, err := b.Wait(); err != nil || result.Limit != sandbox.LimitCancelled {
		t.Fatalf("got %+v, %v", result, err)
	}
	if _, err := r.Start(ctx, spec); err == nil {
		t.Fatal("a cancelled context starts a box")
	}
}

// signalWriter tells of each write.
type signalWriter struct{ seen chan struct{} }

func (s *signalWriter) Write(p []byte) (int, error) {
	s.seen <- struct{}{}
	return len(p), nil
}

func TestDaemonsDieWithTheProgram(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	before := time.Now()
	o := run(t, r, sh("(setsid sleep 100 &); (nohup sleep 100 &); echo done"))
	if o.out != "done\n" || o.ExitCode != 0 || time.Since(before) > 5*time.Second {
		t.Fatalf("got %+v %q after %v", o.Result, o.out, time.Since(before))
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	backEnds(t, func(t *testing.T, r *Runtime) {
		ready := &signalWriter{seen: make(chan struct{}, 1)}
		spec := sandbox.Spec{Argv: []string{"bash", "-c", `x=$(head -c 20000000 /dev/zero | tr "\0" x); sleep 100 & sleep 100 & echo; wait`}, Stdout: ready}
		b := start(t, r, spec)
		<-ready.seen
		u := b.Usage()
		b.Kill()
		if _, err := b.Wait(); err != nil {
			t.Fatal(err)
		}
		if u.Processes != 3 || u.Memory < 20_000_000 || u.CPU == 0 {
			t.Fatalf("got %+v", u)
		}
	})
}

func TestCPUShare(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	a := r.Probe(t.Context())
	spec := sh("while :; do :; done")
	spec.Limits = sandbox.Limits{CPUs: 0.2, Wall: time.Second}
	if a.Report.Find(sandbox.PromiseCPU).Strength != sandbox.KernelEnforced {
		spec.Env, spec.Require = sandbox.BaseEnv(os.Environ()), []sandbox.Promise{sandbox.PromiseCPU}
		if _, err := r.Start(t.Context(), spec); err == nil {
			t.Fatal("a share that nobody keeps was promised")
		}
		return
	}
	if o := run(t, r, spec); o.Usage.CPU > 400*time.Millisecond || o.Usage.CPU < 50*time.Millisecond {
		t.Fatalf("got %+v", o.Result)
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	o := newRuntime(t).options
	o.withoutGroups = true
	r := open(t, o)
	spec := sandbox.Spec{Argv: []string{"true"}, Require: []sandbox.Promise{sandbox.PromiseMemory}}
	if _, err := r.Start(context.Background(), spec); err == nil || !strings.Contains(err.Error(), "--best-effort") {
		t.Fatalf("got %v", err)
	}
	spec.BestEffort = true
	if o := run(t, r, spec); o.ExitCode != 0 {
		t.Fatalf("got %+v", o)
	}
	spec.BestEffort, spec.Require = false, []sandbox.Promise{sandbox.PromiseNoNetwork, sandbox.PromiseProcesses}
	if o := run(t, r, spec); o.ExitCode != 0 {
		t.Fatalf("got %+v", o)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	a := newRuntime(t).Probe(context.Background())
	if !a.OK || len(a.Report) != 14 {
		t.Fatalf("got %+v", a)
	}
	if os.Geteuid() == 0 && a.Report.Find(sandbox.PromiseMemory).Strength != sandbox.KernelEnforced {
		t.Fatalf("memory: %+v", a.Report.Find(sandbox.PromiseMemory))
	}
}

// An ordinary user's box has fewer open files by default, so that the user's
// programs keep some of what the kernel counts for both.
func TestOpenFilesByUser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		privileged  bool
		asked, want int
	}{{false, 0, userFiles}, {false, 3000, 3000}, {true, 0, sandbox.DefaultLimits.OpenFiles}} {
		h := &host{privileged: c.privileged}
		if got := h.bounds(sandbox.Limits{OpenFiles: c.asked}).OpenFiles; got != c.want {
			t.Errorf("%+v: %d open files", c, got)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	step := func(errno unix.Errno) error { return &stepError{what: "making the name spaces (clone)", errno: errno} }
	for _, c := range []struct {
		err            error
		signs          signs
		reason, remedy string
	}{
		{step(unix.EPERM), signs{apparmor: true, executable: "/opt/k"}, "AppArmor", `profile kintsugi "/opt/k"`},
		{step(unix.EACCES), signs{apparmor: true, root: true, container: "Docker"}, "inside Docker", "seccomp=unconfined"},
		{step(unix.EPERM), signs{container: "Kubernetes"}, "Kubernetes", "hostUsers"},
		{step(unix.EPERM), signs{cloneOff: true}, "ordinary users", "unprivileged_userns_clone=1"},
		{step(unix.ENOSPC), signs{noneAllowed: true}, "max_user_namespaces is 0", "max_user_namespaces=15000"},
		{step(unix.ENOSPC), signs{}, "limit of user name spaces", "max_user_namespaces"},
		{step(unix.ENOSYS), signs{wsl1: true}, "WSL 1", "wsl --set-version"},
		{step(unix.ENOSYS), signs{oldKernel: true, kernel: "5.4.0"}, "5.4.0", "update the kernel"},
		{step(unix.EAGAIN), signs{}, "too many processes", "ulimit -u"},
		{step(unix.EIO), signs{}, "making the name spaces (clone): input/output error", "--runtime docker"},
	} {
		a := classify(c.err, c.signs)
		if a.OK || !strings.Contains(a.Reason, c.reason) || !strings.Contains(a.Remedy, c.remedy) || strings.Contains(a.Reason+a.Remedy, "\n") {
			t.Errorf("%v %+v: got %+v", c.err, c.signs, a)
		}
	}
}
