package namespace

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/listen"
)

// project is a folder with a file, and a spec with the folder as its workspace
// that prints the file.
func project(t *testing.T) (dir string, spec sandbox.Spec) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "project")
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		_ = os.Chmod(at, 0o755) // t.TempDir is closed to others
	}
	write(t, filepath.Join(dir, "file"), "first\n")
	spec = sandbox.Spec{Argv: []string{"cat", "file"}, Dir: dir, Workspace: sandbox.Workspace{Path: dir}}
	return dir, spec
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// makeReady has a box made ready for what is expected and returns its init.
func makeReady(t *testing.T, r *Runtime, next *sandbox.Spec) int {
	t.Helper()
	if err := r.Warm(next); err != nil {
		t.Fatal(err)
	}
	init := nextWarm(r)
	if init == 0 {
		t.Fatal("no box is ready")
	}
	return init
}

// wantBox runs a spec and wants an output, from the box of an init or from
// another one.
func wantBox(t *testing.T, r *Runtime, spec sandbox.Spec, want string, init int, same bool) {
	t.Helper()
	var out strings.Builder
	spec.Stdout = &out
	b := start(t, r, spec)
	result, err := b.Wait()
	if err != nil || result.ExitCode != 0 || out.String() != want {
		t.Fatalf("%+v %v, output %q, want %q", result, err, out.String(), want)
	}
	if got := strings.HasSuffix(b.ID(), fmt.Sprintf("-%d", init)); got != same {
		t.Errorf("box %s, made of process %d: %v, want %v", b.ID(), init, got, same)
	}
}

func TestFittedBoxTakesAnyCommand(t *testing.T) {
	t.Parallel()
	r := warmRuntime(t, 1)
	dir, spec := project(t)
	init := makeReady(t, r, &spec)
	write(t, filepath.Join(dir, "file"), "second\n") // what changes meanwhile is seen
	spec.Argv, spec.Env = []string{"sh", "-c", `cat file; echo "$WORD" | tee new`}, []string{"WORD=" + strings.Repeat("long ", 20_000)}
	wantBox(t, r, spec, "second\n"+strings.Repeat("long ", 20_000)+"\n", init, true)
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("the project was changed")
	}
	if next := makeReady(t, r, &spec); next == init {
		t.Error("a box was made ready twice")
	}
}

func TestFittedBoxIsNotUsedForAnythingElse(t *testing.T) {
	t.Parallel()
	dir, plain := project(t)
	other := t.TempDir()
	for what, change := range map[string]func(s *sandbox.Spec){
		"another directory": func(s *sandbox.Spec) { s.Dir = "/tmp"; s.Argv = []string{"cat", dir + "/file"} },
		"another limit":     func(s *sandbox.Spec) { s.Limits.OpenFiles = 100 },
		"another mount":     func(s *sandbox.Spec) { s.Mounts = []sandbox.Mount{{Source: other, Target: "/other"}} },
		"a listener": func(s *sandbox.Spec) {
			s.Listeners = []sandbox.Listener{{Port: 8901, Serve: listen.Func(func(l net.Listener) { l.Close() })}}
		},
		"the host's network":    func(s *sandbox.Spec) { s.Network = sandbox.NetworkHost },
		"a share of processors": func(s *sandbox.Spec) { s.Limits.CPUs = 1 },
		"a layer":               func(s *sandbox.Spec) { s.Layers = []string{other} },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := warmRuntime(t, 1)
			init := makeReady(t, r, &plain)
			spec := plain
			change(&spec)
			wantBox(t, r, spec, "first\n", init, false)
			wantBox(t, r, plain, "first\n", init, true)
		})
	}
}

// A folder that was exchanged since is seen, not the one that the box was made
// with.
func TestFittedBoxOfAnExchangedProject(t *testing.T) {
	t.Parallel()
	r := warmRuntime(t, 1)
	dir, spec := project(t)
	init := makeReady(t, r, &spec)
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "file"), "another\n")
	wantBox(t, r, spec, "another\n", init, false)

	spec.Dir = filepath.Join(dir, "below")
	write(t, filepath.Join(spec.Dir, "file"), "old\n")
	init = makeReady(t, r, &spec)
	if err := os.RemoveAll(spec.Dir); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(spec.Dir, "file"), "new\n")
	wantBox(t, r, spec, "new\n", init, false)
}

// Two boxes must not have one writable directory at a time.
func TestFittedBoxGivesItsDirectoryUp(t *testing.T) {
	t.Parallel()
	r := warmRuntime(t, 1)
	dir, spec := project(t)
	spec.Workspace.Upper, spec.Workspace.Work = dir+".upper", dir+".work"
	for _, d := range []string{spec.Workspace.Upper, spec.Workspace.Work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	init := makeReady(t, r, &spec)
	other := spec
	other.Limits.OpenFiles = 100
	other.Argv = []string{"sh", "-c", "echo kept >new; cat new"}
	wantBox(t, r, other, "kept\n", init, false)
	if err := unix.Kill(init, 0); err == nil {
		t.Error("the box that was made ready is still there")
	}
	if got, err := os.ReadFile(filepath.Join(spec.Workspace.Upper, "new")); string(got) != "kept\n" {
		t.Errorf("%q %v", got, err)
	}
	init = makeReady(t, r, &spec)
	spec.Argv = []string{"cat", "new"}
	wantBox(t, r, spec, "kept\n", init, true)
	if nextWarm(r) != 0 {
		t.Error("a second box was made ready for one directory")
	}
}

// A waiting process that was killed is found out before the program would run.
func TestDeadFittedBoxIsReplaced(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"init", "program"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			r := warmRuntime(t, 1)
			_, spec := project(t)
			init := makeReady(t, r, &spec)
			pid := init
			if victim == "program" {
				waiting := children(init)
				if len(waiting) != 1 {
					t.Fatalf("%d has the children %v", init, waiting)
				}
				pid = waiting[0]
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, victim+" died", func() bool { return dead(pid) })
			wantBox(t, r, spec, "first\n", init, false)
		})
	}
}

// What is expected may change at any time; what cannot be made is no reason not
// to make anything else.
func TestExpectationsChange(t *testing.T) {
	t.Parallel()
	r := warmRuntime(t, 1)
	_, spec := project(t)
	first := makeReady(t, r, &spec)
	missing := spec
	missing.Workspace.Path = "/nothing/here"
	plain := makeReady(t, r, &missing) // then any program's box is made ready
	refused := spec
	refused.Workspace.Path = "/usr/../"
	if err := r.Warm(&refused); err == nil {
		t.Error("a box was made ready with / as its workspace")
	}
	second := makeReady(t, r, &spec)
	for _, init := range []int{first, plain} {
		if err := unix.Kill(init, 0); err == nil {
			t.Errorf("process %d of a box that nobody expects any more is left", init)
		}
	}
	wantBox(t, r, spec, "first\n", second, true)
}

// A checkpoint's directory is a layer of the next box under another name: the
// kernel complains when that is mounted before the first box is gone.
func TestNextBoxAwaitsTheLast(t *testing.T) {
	t.Parallel()
	for name, warm := range map[string]bool{"new": false, "made ready": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := warmRuntime(t, 1)
			r.options.fault = func(point string, _ sandbox.Box) {
				if point == "apart" {
					time.Sleep(200 * time.Millisecond) // a kernel that is slow to take boxes apart
				}
			}
			dir, spec := project(t)
			draft := func(n int) (upper, work string) {
				upper, work = fmt.Sprintf("%s.upper%d", dir, n), fmt.Sprintf("%s.work%d", dir, n)
				for _, d := range []string{upper, work} {
					if err := os.Mkdir(d, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				return upper, work
			}
			first := spec
			first.Workspace.Upper, first.Workspace.Work = draft(1)
			first.Argv = []string{"sh", "-c", "echo kept >new; cat new"}
			wantBox(t, r, first, "kept\n", 0, false)
			layer := dir + ".layer"
			if err := os.Rename(first.Workspace.Upper, layer); err != nil {
				t.Fatal(err)
			}
			second := spec
			second.Workspace.Upper, second.Workspace.Work = draft(2)
			second.Workspace.Lower = []string{layer}
			second.Argv = []string{"cat", "new"}
			if warm {
				makeReady(t, r, &second)
			}
			wantBox(t, r, second, "kept\n", 0, false)
			if s := r.open.Load(); len(s.apart.room) > 1 {
				t.Errorf("%d boxes are being taken apart, the first one among them", len(s.apart.room))
			}
		})
	}
}
