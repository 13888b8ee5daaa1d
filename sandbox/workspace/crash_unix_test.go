//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets the test binary play a Kintsugi that is killed in the middle.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WORKSPACE_TEST_KILL_DIR"); dir != "" {
		os.Exit(victim(dir))
	}
	os.Exit(m.Run())
}

// victim applies, or recovers, and kills itself before the n-th step.
func victim(dir string) int {
	n, _ := strconv.Atoi(os.Getenv("WORKSPACE_TEST_KILL_AT"))
	o := Options{noSwap: os.Getenv("WORKSPACE_TEST_NO_SWAP") != "", onStep: func(string) error {
		if n--; n == 0 {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}}
	s, err := OpenShared(filepath.Join(dir, "session"), filepath.Join(dir, "project"), o)
	if err == nil && os.Getenv("WORKSPACE_TEST_RECOVER") != "" {
		_, err = s.Recover()
	} else if err == nil {
		_, err = s.Apply(context.Background(), s.Head(), Selection{}, ApplyOptions{Confirm: []string{"."}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runVictim says whether the victim was killed before it was done.
func runVictim(t *testing.T, dir string, at int, env ...string) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "WORKSPACE_TEST_KILL_DIR="+dir, "WORKSPACE_TEST_KILL_AT="+strconv.Itoa(at)), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("step %d: %v\n%s", at, err, out)
	}
	return false
}

// everyKind is a project and a change of every kind to it.
func everyKind(t *testing.T, o Options) *session {
	t.Helper()
	s := newSessionIn(t, memoryDir(t), map[string]string{
		"edit": "old\n", "gone": "g\n", "mode": "m\n", "dir/a": "a\n", "tofile/in/x": "x\n", "todir": "f\n",
		"relink": "-> edit", "tolink": "p\n", "rm/a/b": "b\n", "rm/c": "c\n", "stay": "s\n", ".envrc": "e\n",
	}, o)
	must(t, os.Chmod(s.path("mode"), 0o600))
	s.edit(func(e *Editor) {
		for _, p := range []string{"gone", "tofile", "todir", "rm", "tolink", "relink"} {
			must(t, e.Remove(p))
		}
		for _, p := range []string{"edit", "tofile", "todir/in", "fresh/er/x", "fresh/y", "dir/b", ".envrc"} {
			must(t, e.Write(p, strings.NewReader("box "+p), 0o644))
		}
		must(t, e.Symlink("dir/b", "tolink"))
		must(t, e.Symlink("stay", "relink"))
		must(t, e.Chmod("mode", 0o755))
		must(t, e.Mkdir("locked/in"))
		must(t, e.Chmod("locked", 0o555))
	})
	return s
}

func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, noSwap := range []string{"", "1"} {
		t.Run("no exchange "+noSwap, func(t *testing.T) {
			t.Parallel()
			s := crashSession(t)
			base := filepath.Dir(s.project)
			before := listing(t, s.project)
			saved := filepath.Join(base, "saved")
			copyTree(t, s.project, saved)
			after := appliedTree(t, s)
			undone, finished := 0, 0
			for at := 1; ; at++ {
				restore(t, saved, s)
				if !runVictim(t, base, at, "WORKSPACE_TEST_NO_SWAP="+noSwap) {
					break
				}
				for again := at % 5; again > 1; again-- {
					runVictim(t, base, again, "WORKSPACE_TEST_RECOVER=1")
				}
				if runVictim(t, base, 0, "WORKSPACE_TEST_RECOVER=1") {
					t.Fatalf("step %d: recovery was killed", at)
				}
				got := listing(t, s.project)
				switch {
				case cmp.Equal(got, before):
					undone++
				case cmp.Equal(got, after):
					finished++
				default:
					t.Fatalf("killed before step %d: neither old nor new (-old +got):\n%s", at, cmp.Diff(before, got))
				}
				if left, _ := filepath.Glob(filepath.Join(s.dir, "apply-*")); left != nil {
					t.Fatalf("step %d: journals left: %q", at, left)
				}
			}
			if undone < 30 || finished < 3 {
				t.Errorf("undone %d times, finished %d times: fewer steps than expected", undone, finished)
			}
			if diff := cmp.Diff(after, listing(t, s.project)); diff != "" {
				t.Errorf("not killed (-want +got):\n%s", diff)
			}
		})
	}
}

// crashSession is everyKind without the lock, as after a kill.
func crashSession(t *testing.T) *session {
	s := everyKind(t, Options{})
	must(t, s.Close())
	return s
}

// restore puts the project back; its files are new ones with the old content.
func restore(t *testing.T, saved string, s *session) {
	t.Helper()
	must(t, os.RemoveAll(s.project))
	copyTree(t, saved, s.project)
	_ = os.Remove(filepath.Join(s.dir, "applied.jsonl"))
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
}

// appliedTree is what the project looks like once everything is applied.
func appliedTree(t *testing.T, s *session) map[string]string {
	t.Helper()
	v, err := OpenShared(s.dir, s.project, Options{})
	must(t, err)
	_, err = v.Apply(context.Background(), v.Head(), Selection{}, ApplyOptions{Confirm: []string{"."}})
	must(t, err)
	return listing(t, s.project)
}

func TestFailureAtEveryStepUndoes(t *testing.T) {
	t.Parallel()
	var fail int
	var step string
	broken := errors.New("disk on fire")
	s := everyKind(t, Options{onStep: func(name string) error {
		if strings.HasPrefix(name, "undo") {
			return nil
		}
		if fail--; fail == 0 {
			step = name
			return broken
		}
		return nil
	}})
	before := listing(t, s.project)
	for at := 1; at < 500; at++ {
		fail = at
		_, err := s.Apply(context.Background(), s.Head(), Selection{}, ApplyOptions{Confirm: []string{"."}})
		if err == nil {
			if at < 30 {
				t.Errorf("only %d steps", at)
			}
			return
		}
		if !errors.Is(err, broken) {
			t.Fatalf("%s: %v", step, err)
		}
		if step == "record" || step == "clean" || step == "forget" {
			continue // past the point of no return
		}
		if diff := cmp.Diff(before, listing(t, s.project)); diff != "" {
			t.Fatalf("failure at %q is not undone (-before +after):\n%s", step, diff)
		}
	}
}

func TestLateConflict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ step, file string }{
		{"swap edit", "edit"}, {"take gone", "gone"}, {"put fresh/y", "fresh/y"}, {"put dir/b", "dir/b"},
	} {
		for _, skip := range []bool{false, true} {
			t.Run(fmt.Sprint(c.step, " skip ", skip), func(t *testing.T) {
				t.Parallel()
				var s *session
				o := Options{onStep: func(name string) error {
					if name != c.step {
						return nil
					}
					return os.WriteFile(s.path(c.file), []byte("user was faster"), 0o644)
				}}
				s = everyKind(t, o)
				before := listing(t, s.project)
				rep, err := s.Apply(context.Background(), s.Head(), Selection{}, ApplyOptions{Confirm: []string{"."}, SkipConflicts: skip})
				if got := s.file(c.file); got != "user was faster" && (skip || c.step != "put fresh/y") {
					t.Errorf("the user's file holds %q", got)
				}
				if rep.Conflicts.Total != 1 || errors.Is(err, ErrConflicts) == skip {
					t.Errorf("apply: %v, %d conflicts", err, rep.Conflicts.Total)
				}
				if skip {
					if s.file("tofile") != "box tofile" {
						t.Error("the rest was not applied")
					}
					return
				}
				after := listing(t, s.project)
				for _, l := range []map[string]string{before, after} {
					delete(l, c.file)
				}
				if diff := cmp.Diff(before, after); diff != "" && c.step != "put fresh/y" {
					t.Errorf("the rest is not undone (-before +after):\n%s", diff)
				}
			})
		}
	}
}

func TestLinkSwappedInDuringApply(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	var s *session
	s = everyKind(t, Options{onStep: func(name string) error {
		if name != "put dir/b" {
			return nil
		}
		return errors.Join(os.Rename(s.path("dir"), s.path("dir.moved")), os.Symlink(outside, s.path("dir")))
	}})
	_, err := s.Apply(context.Background(), s.Head(), Selection{}, ApplyOptions{Confirm: []string{"."}})
	if !errors.Is(err, ErrConflicts) {
		t.Errorf("apply through a link: %v", err)
	}
	if left := listing(t, outside); len(left) != 0 {
		t.Errorf("written outside: %v", left)
	}
}

func TestUserEditsAfterTheCrash(t *testing.T) {
	t.Parallel()
	s := crashSession(t)
	base := filepath.Dir(s.project)
	for at := 1; s.file("edit") != "box edit"; at++ {
		if !runVictim(t, base, at) {
			t.Fatal("it was never killed after the edit")
		}
		if s.file("edit") != "box edit" {
			runVictim(t, base, 0, "WORKSPACE_TEST_RECOVER=1")
		}
	}
	must(t, os.WriteFile(s.path("edit"), []byte("the user goes on"), 0o644))
	v, err := OpenShared(s.dir, s.project, Options{})
	must(t, err)
	lines, err := v.Recover()
	must(t, err)
	if len(lines) != 2 || !strings.Contains(lines[1], "edit was changed since; its version from before is in .kintsugi-apply-") {
		t.Fatalf("recovered: %q", lines)
	}
	_, kept, _ := strings.Cut(lines[1], " is in ")
	if s.file("edit") != "the user goes on" || s.file(kept) != "old\n" {
		t.Errorf("edit = %q, kept = %q", s.file("edit"), s.file(kept))
	}
	if s.file("gone") != "g\n" {
		t.Error("the rest was not undone")
	}
}
