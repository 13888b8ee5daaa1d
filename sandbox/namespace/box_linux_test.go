package namespace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/listen"
)

func TestExit(t *testing.T) { eachKind(t, testExit) }

func testExit(t *testing.T, r *Runtime) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("echo no header: $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		argv   []string
		code   int
		signal string
		errOut string
	}{
		{[]string{"true"}, 0, "", ""},
		{[]string{"sh", "-c", "exit 7"}, 7, "", ""},
		{[]string{"sh", "-c", "kill -9 $$"}, 137, "SIGKILL", ""},
		{[]string{"sh", "-c", "kill -11 $$"}, 139, "SIGSEGV", ""},
		{[]string{"nonesuch"}, 127, "", "kintsugi: nonesuch: command not found\n"},
		{[]string{"/etc/passwd"}, 126, "", "kintsugi: /etc/passwd: permission denied\n"},
		{[]string{"/script", "arg"}, 0, "", ""},
	} {
		o := run(t, r, sandbox.Spec{Argv: c.argv, Mounts: []sandbox.Mount{{Source: script, Target: "/script"}}})
		if o.ExitCode != c.code || o.Signal != c.signal || o.err != c.errOut || o.Limit != sandbox.LimitNone {
			t.Errorf("%v: got %+v %q", c.argv, o.Result, o.err)
		}
	}
}

func TestStreams(t *testing.T) { eachKind(t, testStreams) }

func testStreams(t *testing.T, r *Runtime) {
	spec := sh("cat; echo error >&2")
	spec.Stdin = strings.NewReader(strings.Repeat("line\n", 100_000))
	o := run(t, r, spec)
	if len(o.out) != 500_000 || o.err != "error\n" {
		t.Fatalf("%d bytes out, errors %q", len(o.out), o.err)
	}
	spec = sh("head -c 3")
	spec.Stdin = endless{}
	if o := run(t, r, spec); o.out != "aaa" {
		t.Fatalf("got %q", o.out)
	}
	if o := run(t, r, sh("cat")); o.out != "" || o.ExitCode != 0 {
		t.Fatalf("empty input gave %+v", o)
	}
}

// endless never runs dry.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestEnvironmentIsExact(t *testing.T) { eachKind(t, testEnvironmentIsExact) }

func testEnvironmentIsExact(t *testing.T, r *Runtime) {
	b, err := r.Start(context.Background(), sandbox.Spec{Argv: []string{"/usr/bin/env"}, Env: []string{"A=1", "B=two words"}, Stdout: nil})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Wait(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	b, err = r.Start(context.Background(), sandbox.Spec{Argv: []string{"/usr/bin/env"}, Env: []string{"A=1", "B=two words"}, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Wait(); err != nil || out.String() != "A=1\nB=two words\n" {
		t.Fatalf("%v %q", err, out.String())
	}
}

// files makes files below a new directory.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWorkspace(t *testing.T) { eachKind(t, testWorkspace) }

func testWorkspace(t *testing.T, r *Runtime) {
	project := files(t, map[string]string{"a": "A", "gone": "", "sub/b": "B"})
	first := files(t, map[string]string{"a": "newer A"})
	upper := t.TempDir()
	work := filepath.Join(filepath.Dir(upper), "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	spec := sh("cat a sub/b; echo C >c; rm gone; echo more >>sub/b; ls")
	spec.Dir = project
	spec.Workspace = sandbox.Workspace{Path: project, Lower: []string{first}, Upper: upper, Work: work}
	if o := run(t, r, spec); o.out != "newer ABa\nc\nsub\n" {
		t.Fatalf("saw %q %q", o.out, o.err)
	}
	if text, err := os.ReadFile(filepath.Join(upper, "sub/b")); err != nil || string(text) != "Bmore\n" {
		t.Fatalf("the upper directory has %q, %v", text, err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(upper, "c"), &st); err != nil || int(st.Uid) != os.Geteuid() {
		t.Fatalf("the new file belongs to %d: %v", st.Uid, err)
	}
	if err := unix.Lstat(filepath.Join(upper, "gone"), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		t.Fatalf("no whiteout: %v %o", err, st.Mode)
	}
	if text, err := os.ReadFile(filepath.Join(project, "sub/b")); err != nil || string(text) != "B" {
		t.Fatalf("the project changed: %q, %v", text, err)
	}
}

func TestWorkspaceWithoutUpperIsDropped(t *testing.T) {
	eachKind(t, testWorkspaceWithoutUpperIsDropped)
}

func testWorkspaceWithoutUpperIsDropped(t *testing.T, r *Runtime) {
	project := files(t, map[string]string{"a,b:c\\d/a": "A"})
	odd := filepath.Join(project, "a,b:c\\d")
	for range 2 {
		spec := sh("cat a; echo B >>a; ls -A / | grep -c scratch; ls -A")
		spec.Dir, spec.Workspace = odd, sandbox.Workspace{Path: odd}
		if o := run(t, r, spec); o.out != "A0\na\n" {
			t.Fatalf("saw %q %q", o.out, o.err)
		}
	}
}

func TestWorkspaceSource(t *testing.T) { eachKind(t, testWorkspaceSource) }

func testWorkspaceSource(t *testing.T, r *Runtime) {
	source := files(t, map[string]string{"a": "A"})
	spec := sh("pwd; cat a")
	spec.Dir, spec.Workspace = "/projects/mine", sandbox.Workspace{Path: "/projects/mine", Source: source}
	if o := run(t, r, spec); o.out != "/projects/mine\nA" {
		t.Fatalf("saw %q %q", o.out, o.err)
	}
}

func TestLayers(t *testing.T) { eachKind(t, testLayers) }

func testLayers(t *testing.T, r *Runtime) {
	newest := files(t, map[string]string{"usr/bin/kin-hello": "#!/bin/sh\necho newest\n", "node_modules/m": "M", "var/lib/kin/x": "X"})
	older := files(t, map[string]string{"usr/bin/kin-hello": "#!/bin/sh\necho older\n", "usr/share/kin/y": "Y", "node_modules/n": "N"})
	spec := sh("kin-hello; cat /usr/share/kin/y /node_modules/m /node_modules/n /var/lib/kin/x; ls /usr/bin/env; ls -d /var/lib/dpkg 2>/dev/null; echo x >/var/tmp/x; echo x 2>/dev/null >/node_modules/x || echo no")
	hosts := ""
	if isDir("/var/lib/dpkg") {
		hosts = "/var/lib/dpkg\n"
	}
	spec.Layers = []string{newest, older}
	if o := run(t, r, spec); o.out != "newest\nYMNX/usr/bin/env\n"+hosts+"no\n" {
		t.Fatalf("saw %q %q", o.out, o.err)
	}
}

func TestCapture(t *testing.T) { eachKind(t, testCapture) }

func testCapture(t *testing.T, r *Runtime) {
	layer := files(t, map[string]string{"opt/kin/old": "old"})
	parent := t.TempDir()
	capture := filepath.Join(parent, "layer")
	for _, d := range []string{"usr/share/kin", "opt/kin", "var/lib/kin", "kintsugi"} {
		if err := os.MkdirAll(filepath.Join(capture, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spec := sh("cat /opt/kin/old; for d in /usr/share/kin /opt/kin /var/lib/kin /kintsugi; do echo new >$d/new || exit 1; done; ls /usr/bin/env")
	spec.Layers, spec.Capture = []string{layer}, capture
	if o := run(t, r, spec); o.out != "old/usr/bin/env\n" || o.ExitCode != 0 {
		t.Fatalf("saw %q %q", o.out, o.err)
	}
	for _, f := range []string{"usr/share/kin/new", "opt/kin/new", "var/lib/kin/new", "kintsugi/new"} {
		if text, err := os.ReadFile(filepath.Join(capture, f)); err != nil || string(text) != "new\n" {
			t.Errorf("%s was not captured: %v", f, err)
		}
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 1 {
		t.Errorf("beside the layer lie %v, %v", left, err)
	}
	spec = sh("cat /usr/share/kin/new /kintsugi/new")
	spec.Layers = []string{capture}
	if o := run(t, r, spec); o.out != "new\nnew\n" {
		t.Fatalf("the captured layer shows %q %q", o.out, o.err)
	}
}

func TestMounts(t *testing.T) { eachKind(t, testMounts) }

func testMounts(t *testing.T, r *Runtime) {
	dir := files(t, map[string]string{"f": "F"})
	if err := os.Chmod(filepath.Join(dir, "f"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := sh("cat /in/f /one; echo x >/in/new; echo x >/ro/new")
	spec.Mounts = []sandbox.Mount{{Source: dir, Target: "/in", Writable: true}, {Source: dir, Target: "/ro"}, {Source: filepath.Join(dir, "f"), Target: "/one"}}
	if o := run(t, r, spec); o.out != "FF" || o.ExitCode == 0 {
		t.Fatalf("saw %q %q", o.out, o.err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "new")); err != nil || string(text) != "x\n" {
		t.Fatalf("%q %v", text, err)
	}
}

func TestListeners(t *testing.T) { eachKind(t, testListeners) }

func testListeners(t *testing.T, r *Runtime) {
	served := make(chan error, 1)
	spec := sandbox.Spec{Argv: []string{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8901; echo hello >&3; cat <&3"},
		Listeners: []sandbox.Listener{{Port: 8901, Serve: listen.Func(func(l net.Listener) {
			c, err := l.Accept()
			if err == nil {
				buffer := make([]byte, 6)
				io.ReadFull(c, buffer)
				fmt.Fprintf(c, "got %s", buffer)
				c.Close()
			}
			_, err = l.Accept()
			served <- err
		})}}}
	if o := run(t, r, spec); o.out != "got hello\n" {
		t.Fatalf("got %q %q", o.out, o.err)
	}
	select {
	case err := <-served:
		if !errors.Is(err, net.ErrClosed) {
			t.Fatalf("serving ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the server was not told that the box ended")
	}
}

func TestNetworkHost(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	abstract, err := net.Listen("unix", fmt.Sprintf("@kintsugi-test-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, "hello")
			c.Close()
		}
	}()
	script := fmt.Sprintf("cat </dev/tcp/127.0.0.1/%d; ls /etc/ssl/certs | wc -l; cat /etc/resolv.conf", l.Addr().(*net.TCPAddr).Port)
	resolver, _ := os.ReadFile("/etc/resolv.conf")
	certificates, _ := os.ReadDir("/etc/ssl/certs")
	spec := sandbox.Spec{Argv: []string{"bash", "-c", script}, Network: sandbox.NetworkHost}
	if o := run(t, r, spec); o.out != fmt.Sprintf("hello\n%d\n%s", len(certificates), resolver) {
		t.Fatalf("with the host's network: %q %q", o.out, o.err)
	}
	spec.Network = sandbox.NetworkNone
	if o := run(t, r, spec); strings.Contains(o.out, "hello") {
		t.Fatalf("without a network: %q", o.out)
	}
	if landlockABI() >= 6 {
		binary, _ := filepath.Abs(os.Args[0])
		spec = sandbox.Spec{Argv: []string{"/probe"}, Env: []string{probeEnv + "=abstract socket", "TARGET=" + abstract.Addr().String()}, Network: sandbox.NetworkHost,
			Mounts: []sandbox.Mount{{Source: binary, Target: "/probe"}}}
		if o := run(t, r, spec); !strings.Contains(o.out, "operation not permitted") {
			t.Fatalf("an abstract socket of the host: %q", o.out)
		}
	}
}

func TestCancelWhileStarting(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for i := range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Duration(i)*300*time.Microsecond, cancel)
		b, err := r.Start(ctx, sandbox.Spec{Argv: []string{"/bin/sleep", "100"}})
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("after %d: %v", i, err)
			}
			continue
		}
		if result, err := b.Wait(); err != nil || result.Limit != sandbox.LimitCancelled {
			t.Fatalf("after %d: %+v %v", i, result, err)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			var out bytes.Buffer
			b, err := r.Start(context.Background(), sandbox.Spec{Argv: []string{"/bin/echo", fmt.Sprint(i)}, Stdout: &out})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := b.Wait(); err != nil || out.String() != fmt.Sprintln(i) {
				t.Errorf("box %d: %v %q", i, err, out.String())
			}
		})
	}
	group.Wait()
}
