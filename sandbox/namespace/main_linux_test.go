package namespace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/contract"
)

// The test binary runs itself in other roles: as the tests again under an
// ordinary user, inside boxes as a probe that makes one system call and prints
// what came of it, and as a workbench that is killed.
const (
	probeEnv = "KINTSUGI_TEST_PROBE"
	benchEnv = "KINTSUGI_TEST_WORKBENCH"
	faultEnv = "KINTSUGI_TEST_FAULT"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(probeEnv); name != "" {
		fmt.Println(probes[name]())
		return
	}
	if script := os.Getenv(benchEnv); script != "" {
		workbench(script)
		return
	}
	if fault := os.Getenv(faultEnv); fault != "" {
		faulty(fault)
		return
	}
	contract.Victim(fresh)
	os.Exit(m.Run())
}

// TestAgainAsOrdinaryUser runs every test of the package as a user who is not
// root.
func TestAgainAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("already an ordinary user")
	}
	t.Parallel()
	const uid = 54321
	dir, err := os.MkdirTemp("/tmp", "kintsugi-again-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "namespace.test")
	copyFile(t, os.Args[0], binary)
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, uid, uid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.v", "-test.timeout=5m")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/local/bin:/usr/bin:/bin", "XDG_RUNTIME_DIR=" + home,
		"GORACE=" + os.Getenv("GORACE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("--- PASS: TestIdentity")) {
		t.Fatalf("the tests did not run again:\n%s", out)
	}
}

// copyFile copies by another program, since no file may be open for writing
// here while it is run.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(to, 0o755); err != nil {
		t.Fatal(err)
	}
}

// outcome is what one box did.
type outcome struct {
	sandbox.Result
	out, err string
}

// newRuntime is a runtime with leases of its own.
func newRuntime(t testing.TB) *Runtime {
	t.Helper()
	dir, err := os.MkdirTemp("", "kintsugi-state-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return open(t, Options{StateDir: dir})
}

// open is New, with Close at the end of the test.
func open(t testing.TB, o Options) *Runtime {
	t.Helper()
	r := New(o)
	t.Cleanup(func() { r.Close() })
	return r
}

// eachKind runs a test with boxes made from nothing and with warm ones.
func eachKind(t *testing.T, test func(t *testing.T, r *Runtime)) {
	t.Parallel()
	t.Run("cold", func(t *testing.T) {
		t.Parallel()
		test(t, newRuntime(t))
	})
	t.Run("warm", func(t *testing.T) {
		t.Parallel()
		test(t, warmRuntime(t, 2))
	})
	t.Run("fitted", func(t *testing.T) {
		t.Parallel()
		r := warmRuntime(t, 1)
		expecting.Store(r, true)
		test(t, r)
	})
}

// expecting are the runtimes that are told each spec beforehand.
var expecting sync.Map

// warmRuntime has a full pool.
func warmRuntime(t testing.TB, size int) *Runtime {
	t.Helper()
	o := newRuntime(t).options
	o.Warm = size
	r := open(t, o)
	if err := r.Warm(nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs a box to its end.
func run(t testing.TB, r *Runtime, spec sandbox.Spec) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	if spec.Stdout == nil {
		spec.Stdout = &out
	}
	if spec.Stderr == nil {
		spec.Stderr = &errOut
	}
	b := start(t, r, spec)
	result, err := b.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return outcome{result, out.String(), errOut.String()}
}

func start(t testing.TB, r *Runtime, spec sandbox.Spec) sandbox.Box {
	t.Helper()
	spec.Env = append(sandbox.BaseEnv(os.Environ()), spec.Env...)
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	t.Cleanup(cancel)
	if _, ok := expecting.Load(r); ok {
		if err := r.Warm(&spec); err != nil {
			t.Fatal(err)
		}
	}
	b, err := r.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sh is a box that runs a shell script.
func sh(script string) sandbox.Spec { return sandbox.Spec{Argv: []string{"sh", "-c", script}} }

// shell runs a script and wants it to succeed with an output.
func shell(t *testing.T, r *Runtime, script, want string) {
	t.Helper()
	o := run(t, r, sh(script))
	if o.ExitCode != 0 || o.out != want {
		t.Fatalf("%s: exit %d, output %q, want %q; errors: %s", script, o.ExitCode, o.out, want, o.err)
	}
}

// probe runs one probe in a box and returns what it printed.
func probe(t *testing.T, r *Runtime, name string) string {
	t.Helper()
	binary, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	o := run(t, r, sandbox.Spec{Argv: []string{"/probe"}, Env: []string{probeEnv + "=" + name},
		Mounts: []sandbox.Mount{{Source: binary, Target: "/probe"}}})
	if o.ExitCode != 0 {
		return fmt.Sprintf("%s %d", o.Signal, o.ExitCode)
	}
	return o.out[:len(o.out)-1]
}
