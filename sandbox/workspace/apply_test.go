package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (s *session) file(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.project, name))
	if errors.Is(err, os.ErrNotExist) {
		return "(absent)"
	}
	must(s.t, err)
	return string(b)
}

func (s *session) user(files map[string]string) {
	s.t.Helper()
	write(s.t, s.project, files)
}

// paths are the paths of a list.
func paths(l List) []string {
	var out []string
	for _, c := range l.First {
		out = append(out, c.Path)
	}
	return out
}

func TestUserChangesAreConflicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		box  func(*Editor) error
		user func(s *session) error
		want string
		goes map[string]bool // what is applied around the conflict
	}{
		"edited both": {
			func(e *Editor) error { return e.Write("a", strings.NewReader("box"), 0o644) },
			func(s *session) error { return os.WriteFile(s.path("a"), []byte("user"), 0o644) },
			"M a (3 B)  [conflict: you changed it meanwhile]", nil,
		},
		"same size, same time": {
			func(e *Editor) error { return e.Write("a", strings.NewReader("box"), 0o644) },
			func(s *session) error { return rewriteQuietly(s.path("a"), "b") },
			"M a (3 B)  [conflict: you changed it meanwhile]", nil,
		},
		"created by both": {
			func(e *Editor) error { return e.Write("new", strings.NewReader("box"), 0o644) },
			func(s *session) error { return os.WriteFile(s.path("new"), []byte("user"), 0o644) },
			"M new (3 B)  [conflict: you created it meanwhile]", nil,
		},
		"deleted by the user": {
			func(e *Editor) error { return e.Write("a", strings.NewReader("box"), 0o644) },
			func(s *session) error { return os.Remove(s.path("a")) },
			"A a (3 B)  [conflict: you deleted it meanwhile]", nil,
		},
		"deleted by the box": {
			func(e *Editor) error { return e.Remove("a") },
			func(s *session) error { return os.WriteFile(s.path("a"), []byte("user"), 0o644) },
			"D a  [conflict: you changed it meanwhile]", nil,
		},
		"directory deleted by the box": {
			func(e *Editor) error { return e.Remove("d") },
			func(s *session) error { return os.WriteFile(s.path("d/mine"), []byte("user"), 0o644) },
			"D d/mine  [conflict: you created it meanwhile]", map[string]bool{"d/x": true},
		},
		"file became a link": {
			func(e *Editor) error { return e.Write("a", strings.NewReader("box"), 0o644) },
			func(s *session) error {
				return errors.Join(os.Remove(s.path("a")), os.Symlink("/etc/passwd", s.path("a")))
			},
			"T a (file, was symbolic link)  [conflict: you replaced it by a symbolic link meanwhile]", nil,
		},
		"directory became a link": {
			func(e *Editor) error { return e.Write("d/x", strings.NewReader("box"), 0o644) },
			func(s *session) error { return errors.Join(os.RemoveAll(s.path("d")), os.Symlink("/tmp", s.path("d"))) },
			"T d/ (directory, was symbolic link)  [conflict: you created it meanwhile]", nil,
		},
		"directory swapped": {
			func(e *Editor) error { return e.Write("d/x", strings.NewReader("box"), 0o644) },
			func(s *session) error {
				s.user(map[string]string{"d2/x": "other"})
				return errors.Join(os.Rename(s.path("d"), s.path("d1")), os.Rename(s.path("d2"), s.path("d")))
			},
			"M d/x (3 B)  [conflict: you changed it meanwhile]", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, map[string]string{"a": "a", "d/x": "x"})
			s.edit(func(e *Editor) { must(t, c.box(e)) })
			must(t, c.user(s))
			before := listing(t, s.project)
			if got := s.changes(); !slices.Contains(got, c.want) {
				t.Errorf("changes %q, want %q among them", got, c.want)
			}
			rep, err := s.Apply(context.Background(), s.Head(), Selection{}, ApplyOptions{})
			if !errors.Is(err, ErrConflicts) || rep.Applied.Total != 0 {
				t.Errorf("apply: %v, %d applied", err, rep.Applied.Total)
			}
			if diff := cmp.Diff(before, listing(t, s.project)); diff != "" {
				t.Errorf("the project changed:\n%s", diff)
			}
			rep, err = s.Apply(context.Background(), s.Head(), Selection{}, ApplyOptions{SkipConflicts: true})
			if err != nil || rep.Conflicts.Total == 0 {
				t.Errorf("apply around the conflict: %v, %+v", err, rep)
			}
			for p := range c.goes {
				delete(before, p)
			}
			if diff := cmp.Diff(before, listing(t, s.project)); diff != "" {
				t.Errorf("the project changed:\n%s", diff)
			}
		})
	}
}

func (s *session) path(name string) string { return filepath.Join(s.project, name) }

// rewriteQuietly changes a file in place and puts its time back.
func rewriteQuietly(path, content string) error {
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, []byte(content), 0o644), os.Chtimes(path, fi.ModTime(), fi.ModTime()))
}

func TestChangeWhileTheBoxRan(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "a", "b": "b"})
	d := s.begin2()
	e, err := s.Edit(d)
	must(t, err)
	must(t, e.Write("a", strings.NewReader("box"), 0o644))
	e.Close()
	must(t, os.WriteFile(s.path("a"), []byte("user"), 0o644))
	s.commit(d)
	s.wantChanges("M a (3 B)  [conflict: you changed it while the box ran]")
}

func TestNoConflict(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "a\n", "b": "b\n", "c": "c\n"})
	s.step(`echo box > a; : >> b; touch c`)
	must(t, rewriteQuietly(s.path("a"), "other"))
	must(t, os.Rename(s.path("a"), s.path("a.bak")))
	s.user(map[string]string{"a": "a\n"})                               // away and back, as git stash does
	must(t, os.WriteFile(s.path("b"), []byte("user's alone\n"), 0o644)) // the box never changed it
	s.wantChanges("M a (4 B)")
	s.apply(Selection{}, ApplyOptions{})
	if s.file("a") != "box\n" || s.file("b") != "user's alone\n" {
		t.Errorf("a = %q, b = %q", s.file("a"), s.file("b"))
	}
}

func TestApplyAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "0", "gone": "x"})
	s.edit(func(e *Editor) {
		must(t, e.Write("a", strings.NewReader("1"), 0o644))
		must(t, e.Write("new", strings.NewReader("1"), 0o644))
		must(t, e.Remove("gone"))
	})
	s.apply(Selection{}, ApplyOptions{})
	s.wantChanges()
	s.put(map[string]string{"a": "2", "new": "2"})
	s.wantChanges("M a (1 B)", "M new (1 B)")
	s.apply(Selection{}, ApplyOptions{})
	must(t, os.WriteFile(s.path("a"), []byte("user goes on"), 0o644))
	must(t, os.Remove(s.path("new")))
	s.user(map[string]string{"gone": "made again"})
	s.wantChanges()
	s.put(map[string]string{"a": "3"})
	s.wantChanges("M a (1 B)  [conflict: you changed it meanwhile]")
	must(t, s.Rewind(Root))
	s.put(map[string]string{"a": "on top of the user's"})
	s.apply(Selection{}, ApplyOptions{})
	if got := s.file("a"); got != "on top of the user's" {
		t.Errorf("a = %q", got)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"old/x": "x", "old/y": "y"})
	s.edit(func(e *Editor) {
		for _, p := range []string{"top", "new/a/one", "new/a/two", "new/b/three"} {
			must(t, e.Write(p, strings.NewReader("n"), 0o644))
		}
		must(t, e.Remove("old"))
	})
	rep := s.apply(Selection{Paths: []string{"new/a/one", "old/x"}}, ApplyOptions{DryRun: true})
	want := []string{"new", "new/a", "new/a/one", "old/x"}
	if diff := cmp.Diff(want, paths(rep.Applied)); diff != "" || s.file("old/x") != "x" {
		t.Errorf("dry run: %s; old/x %q", diff, s.file("old/x"))
	}
	rep = s.apply(Selection{Paths: []string{"new/a/one", "old/x"}}, ApplyOptions{})
	if diff := cmp.Diff(want, paths(rep.Applied)); diff != "" {
		t.Error(diff)
	}
	s.wantChanges("A new/a/two (1 B)", "A new/b/", "A new/b/three (1 B)", "D old/y", "D old/", "A top (1 B)")
	s.apply(Selection{Paths: []string{"./old/"}}, ApplyOptions{})
	s.wantChanges("A new/a/two (1 B)", "A new/b/", "A new/b/three (1 B)", "A top (1 B)")
}

func TestHunkSelection(t *testing.T) {
	t.Parallel()
	lines := func(mark ...string) string {
		var b strings.Builder
		for i := range 40 {
			b.WriteString("line " + strings.Repeat("x", i) + mark[min(i/10, len(mark)-1)] + "\n")
		}
		return b.String()
	}
	s := newSession(t, map[string]string{"f": lines("", "", "", "")})
	var text []string
	for i, l := range strings.SplitAfter(lines(""), "\n") {
		switch i {
		case 2, 20, 38:
			l = "changed " + l
		}
		text = append(text, l)
	}
	s.put(map[string]string{"f": strings.Join(text, "")})
	d := s.diffs()["f"]
	if len(d.Hunks) != 3 {
		t.Fatalf("%d hunks, want 3", len(d.Hunks))
	}
	_, err := s.Apply(context.Background(), s.Head(), Selection{Hunks: map[string][]string{"f": {"nothing"}}}, ApplyOptions{})
	if err == nil || !strings.Contains(err.Error(), "no hunk nothing any more") {
		t.Errorf("unknown hunk: %v", err)
	}
	s.apply(Selection{Hunks: map[string][]string{"f": {d.Hunks[1].ID, d.Hunks[1].ID}}}, ApplyOptions{})
	if got := strings.Count(s.file("f"), "changed"); got != 1 || !strings.Contains(s.file("f"), "changed line "+strings.Repeat("x", 20)+"\n") {
		t.Errorf("%d changed lines in:\n%s", got, s.file("f"))
	}
	d = s.diffs()["f"]
	if len(d.Hunks) != 2 || d.Conflict != "" {
		t.Fatalf("%d hunks left, conflict %q", len(d.Hunks), d.Conflict)
	}
	s.apply(Selection{Hunks: map[string][]string{"f": {d.Hunks[0].ID, d.Hunks[1].ID}}}, ApplyOptions{})
	if s.file("f") != strings.Join(text, "") {
		t.Errorf("not all was applied:\n%s", s.file("f"))
	}
	s.wantChanges()
}

// diffs are the diffs of the head by path.
func (s *session) diffs() map[string]FileDiff {
	s.t.Helper()
	c, err := s.Compare(s.Head())
	must(s.t, err)
	defer c.Close()
	out := map[string]FileDiff{}
	for ch, err := range c.Changes() {
		must(s.t, err)
		out[ch.Path], err = c.Diff(ch)
		must(s.t, err)
	}
	return out
}

func TestHostileLeftovers(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "a\n", "dir/f": "f\n"})
	s.step(`
		ln -s /etc/passwd out; ln -s ../../../etc up; ln -s dir/../../x climb; ln -s dir/f in; ln -s C:/x win
		cp /bin/true suid; chmod 6755 suid; chmod 4755 a
		mkdir sticky; chmod 1777 sticky; echo w > world; chmod 666 world
		setfattr -n user.evil -v x a 2>/dev/null || true
	`)
	rep := s.apply(Selection{}, ApplyOptions{})
	if diff := cmp.Diff([]string{"climb", "out", "up", "win"}, paths(rep.Held)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	for name, want := range map[string]os.FileMode{"suid": 0o755, "a": 0o755, "sticky": os.ModeDir | 0o775, "world": 0o664} {
		fi, err := os.Lstat(s.path(name))
		if err != nil || fi.Mode() != want {
			t.Errorf("%s: mode %v (%v), want %v", name, fi.Mode(), err, want)
		}
	}
	if target, err := os.Readlink(s.path("in")); err != nil || target != "dir/f" {
		t.Errorf("in -> %q (%v)", target, err)
	}
	s.apply(Selection{}, ApplyOptions{Confirm: []string{"out"}})
	if target, err := os.Readlink(s.path("out")); err != nil || target != "/etc/passwd" {
		t.Errorf("confirmed link: %q (%v)", target, err)
	}
}

func TestHeldFiles(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"src/a": "a", ".git/config": "[core]\n", ".vscode": "-> elsewhere", "elsewhere/x": "1"})
	s.edit(func(e *Editor) {
		for _, p := range []string{".git/hooks/pre-commit", ".envrc", "src/.GIT/config", "src/.gi\u200ct/config", "deep/er/.mcp.json", "src/ok.py", "Makefile", ".cargo/config.toml", "src/conftest.py", ".claude/settings.json", "bare/Head", "bare/head/x"} {
			must(t, e.Write(p, strings.NewReader("x"), 0o755))
		}
		must(t, e.Remove(".vscode"))
		must(t, e.Write(".vscode/tasks.json", strings.NewReader("x"), 0o644))
		must(t, e.Remove(".git/config"))
	})
	rep := s.apply(Selection{}, ApplyOptions{})
	wantHeld := []string{".cargo", ".cargo/config.toml", ".claude", ".claude/settings.json", ".envrc", ".git/config", ".git/hooks", ".git/hooks/pre-commit", ".vscode", ".vscode/tasks.json", "bare/Head", "deep/er/.mcp.json", "src/.GIT", "src/.GIT/config", "src/.gi\u200ct", "src/.gi\u200ct/config", "src/conftest.py"}
	if diff := cmp.Diff(wantHeld, paths(rep.Held)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Makefile", "bare", "bare/head", "bare/head/x", "deep", "deep/er", "src/ok.py"}, paths(rep.Applied)); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	if rep.Applied.First[0].Flag != "make" {
		t.Errorf("Makefile is flagged %q", rep.Applied.First[0].Flag)
	}
	rep = s.apply(Selection{}, ApplyOptions{Confirm: []string{".git/hooks/pre-commit", ".vscode"}})
	if diff := cmp.Diff([]string{".git/hooks", ".git/hooks/pre-commit", ".vscode", ".vscode/tasks.json"}, paths(rep.Applied)); diff != "" {
		t.Errorf("confirmed (-want +got):\n%s", diff)
	}
	if s.file(".git/config") != "[core]\n" || s.file("elsewhere/tasks.json") != "(absent)" {
		t.Error("something held was applied, or a link was followed")
	}
}

func TestDeletionsOfHeldFilesKeepTheirDirectory(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"sub/.git/config": "c", "sub/x": "x", "sub2/.envrc": "e"})
	s.edit(func(e *Editor) {
		must(t, e.Remove("sub"))
		must(t, e.Remove("sub2"))
		must(t, e.Write("sub2", strings.NewReader("now a file"), 0o644))
	})
	_, err := s.Apply(context.Background(), s.Head(), Selection{}, ApplyOptions{})
	if !errors.Is(err, ErrConflicts) {
		t.Errorf("a directory with a held file in the way: %v", err)
	}
	rep := s.apply(Selection{Paths: []string{"sub"}}, ApplyOptions{})
	if diff := cmp.Diff([]string{"sub/x"}, paths(rep.Applied)); diff != "" || s.file("sub/.git/config") != "c" {
		t.Errorf("applied: %s", diff)
	}
	s.apply(Selection{}, ApplyOptions{Confirm: []string{"."}})
	if s.file("sub2") != "now a file" || s.file("sub/.git/config") != "(absent)" {
		t.Errorf("confirmed: %v", listing(t, s.project))
	}
}

func TestHardLinksAreBroken(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "host"})
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.Link(s.path("a"), outside))
	s.put(map[string]string{"a": "box"})
	s.apply(Selection{}, ApplyOptions{})
	if b, _ := os.ReadFile(outside); string(b) != "host" || s.file("a") != "box" {
		t.Errorf("outside %q, a %q", b, s.file("a"))
	}
}

func TestOwnerIsKept(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	s := newSession(t, map[string]string{"d/a": "a"})
	for _, p := range []string{"d", "d/a"} {
		must(t, os.Lchown(s.path(p), 1234, 1235))
	}
	s.put(map[string]string{"d/a": "box", "d/new/b": "b"})
	s.apply(Selection{}, ApplyOptions{})
	for _, p := range []string{"d/a", "d/new", "d/new/b"} {
		if uid, gid := owner(t, s.path(p)); uid != 1234 || gid != 1235 {
			t.Errorf("%s belongs to %d:%d", p, uid, gid)
		}
	}
}

func TestTwoAppliesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSession(t, nil)
	s.put(map[string]string{"a": "1"})
	lock, err := s.lockProject()
	must(t, err)
	defer lock.Close()
	if _, err := s.Apply(context.Background(), s.Head(), Selection{}, ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "by another process") {
		t.Errorf("apply beside another: %v", err)
	}
}
