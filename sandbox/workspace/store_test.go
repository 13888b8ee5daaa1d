package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kintsugi/sandbox/workspace/beneath"
)

func (s *session) read(id, path string) string {
	s.t.Helper()
	v, err := s.View(id)
	if err != nil {
		s.t.Fatal(err)
	}
	defer v.Close()
	f, _, err := v.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "(absent)"
	}
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	must(s.t, err)
	return string(b)
}

func TestCheckpointsRewindFork(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s := newSessionWith(t, map[string]string{"a": "0"}, Options{Now: func() time.Time { return now }})
	c1 := s.put(map[string]string{"a": "1"})
	c2 := s.put(map[string]string{"a": "2", "b": "2"})
	want := []Checkpoint{{ID: "c2", Time: now}, {ID: "c4", Parent: "c2", Time: now}}
	if diff := cmp.Diff(want, s.Checkpoints()); diff != "" {
		t.Errorf("checkpoints (-want +got):\n%s", diff)
	}
	must(t, s.Rewind(c1.ID))
	if got := s.read(s.Head(), "a"); got != "1" {
		t.Errorf("after rewind a = %q", got)
	}
	c3 := s.put(map[string]string{"a": "3"})
	if c3.Parent != c1.ID || s.read(c2.ID, "a") != "2" || s.read(c3.ID, "b") != "(absent)" {
		t.Errorf("the branch is wrong: parent %q, old a %q, b %q", c3.Parent, s.read(c2.ID, "a"), s.read(c3.ID, "b"))
	}
	must(t, s.Rewind(Root))
	if got := s.read(s.Head(), "a"); got != "0" || s.changes() != nil {
		t.Errorf("root: a = %q, changes %q", got, s.changes())
	}
	if err := s.Rewind("c99"); err == nil || s.Head() != Root {
		t.Errorf("rewind to nowhere: %v, head %q", err, s.Head())
	}
}

func TestForksAreIndependent(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "0"})
	base := s.put(map[string]string{"a": "base"})
	var ids []string
	var drafts []*Draft
	for range 2 {
		f, err := s.Fork(base.ID)
		must(t, err)
		d, err := f.Begin()
		must(t, err)
		drafts = append(drafts, d)
	}
	for i, d := range drafts {
		e, err := s.Edit(d)
		must(t, err)
		must(t, e.Write("a", strings.NewReader(fmt.Sprint("fork ", i)), 0o644))
		e.Close()
		ids = append(ids, s.commit(d).ID)
		if d.line.Head() != ids[i] {
			t.Errorf("fork %d: head %q, want %q", i, d.line.Head(), ids[i])
		}
	}
	if s.Head() != base.ID {
		t.Errorf("a fork moved the head to %q", s.Head())
	}
	for i, id := range ids {
		if got := s.read(id, "a"); got != fmt.Sprint("fork ", i) {
			t.Errorf("%s: a = %q", id, got)
		}
	}
}

func TestCommitOfNothing(t *testing.T) {
	t.Parallel()
	s := newSession(t, nil)
	if c := s.commit(s.begin2()); c.ID != Root || len(s.Checkpoints()) != 0 {
		t.Errorf("an empty first draft gave %+v", c)
	}
	c1 := s.put(map[string]string{"a": "1"})
	if c := s.commit(s.begin2()); c.ID != c1.ID {
		t.Errorf("an empty draft gave %q, want %q", c.ID, c1.ID)
	}
}

func TestCommitAfterRewindStandsBeside(t *testing.T) {
	t.Parallel()
	s := newSession(t, nil)
	c1 := s.put(map[string]string{"a": "1"})
	d := s.begin2()
	e, err := s.Edit(d)
	must(t, err)
	must(t, e.Write("b", strings.NewReader("2"), 0o644))
	e.Close()
	must(t, s.Rewind(Root))
	c2 := s.commit(d)
	if s.Head() != Root || c2.Parent != c1.ID {
		t.Errorf("head %q, parent %q", s.Head(), c2.Parent)
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "1"})
	d := s.begin2()
	write(t, d.Upper, map[string]string{"x/y": "z"})
	must(t, os.MkdirAll(filepath.Join(d.Work, "work"), 0o755))
	must(t, os.Chmod(filepath.Join(d.Work, "work"), 0))
	must(t, s.Discard(d))
	must(t, s.Close())
	for _, sub := range []string{"drafts", "trash", "layers"} {
		if left := listing(t, filepath.Join(s.dir, sub)); len(left) != 0 {
			t.Errorf("%s holds %v", sub, left)
		}
	}
}

func TestOpenAfterKill(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "1"})
	c := s.put(map[string]string{"a": "2"})
	s.begin2()
	must(t, os.MkdirAll(filepath.Join(s.dir, "layers/c77/upper"), 0o700)) // adopted, not yet written down
	must(t, os.MkdirAll(filepath.Join(s.dir, "trash/t1-1/x"), 0o700))
	must(t, os.WriteFile(filepath.Join(s.dir, "store.json.tmp"), []byte("{"), 0o600))
	s.lock.Close() // what a kill does
	s.open(Options{})
	if s.Head() != c.ID || s.read(s.Head(), "a") != "2" {
		t.Errorf("head %q, a %q", s.Head(), s.read(s.Head(), "a"))
	}
	must(t, s.Close())
	var left []string
	for _, sub := range []string{"drafts", "trash", "layers"} {
		for name := range listing(t, filepath.Join(s.dir, sub)) {
			if !strings.HasPrefix(name, c.ID) {
				left = append(left, sub+"/"+name)
			}
		}
	}
	if left != nil {
		t.Errorf("left over: %q", left)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	s := newSession(t, nil)
	s.put(map[string]string{"a": "1"})
	for name, c := range map[string]struct {
		open func() (*Store, error)
		want string
	}{
		"second process":   {func() (*Store, error) { return Open(s.dir, s.project, Options{}) }, "open in another process"},
		"relative project": {func() (*Store, error) { return Open(s.dir, "project", Options{}) }, "not absolute"},
		"other project":    {func() (*Store, error) { return OpenShared(s.dir, "/elsewhere", Options{}) }, "belong to " + s.project},
		"no store":         {func() (*Store, error) { return OpenShared(t.TempDir(), s.project, Options{}) }, "no workspace in"},
	} {
		if _, err := c.open(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	must(t, os.WriteFile(filepath.Join(s.dir, "store.json"), []byte(`{"version":99}`), 0o600))
	if _, err := OpenShared(s.dir, s.project, Options{}); err == nil || !strings.Contains(err.Error(), "format 99") {
		t.Errorf("newer format: %v", err)
	}
}

func TestSharedReadsOnly(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "1"})
	c := s.put(map[string]string{"a": "2"})
	shared, err := OpenShared(s.dir, s.project, Options{})
	must(t, err)
	defer shared.Close()
	if _, err := shared.Begin(); !errors.Is(err, errShared) {
		t.Errorf("Begin: %v", err)
	}
	if err := shared.Rewind(Root); !errors.Is(err, errShared) {
		t.Errorf("Rewind: %v", err)
	}
	r := session{t: t, Store: shared}
	if got := r.read(c.ID, "a"); got != "2" {
		t.Errorf("a = %q", got)
	}
}

func TestLongChainIsFlattened(t *testing.T) {
	t.Parallel()
	s := newSessionWith(t, map[string]string{"n": "", "dir/old": "o", "dir/keep": "k", "file": "f"}, Options{MaxLayers: 4})
	s.step(`echo hi > x; rm -r dir; mkdir dir; echo b > dir/b; chmod 750 dir`)
	s.step(`rm file; echo c > dir/c; ln -s x link`)
	for i := range 12 {
		s.put(map[string]string{"n": fmt.Sprint(i), fmt.Sprintf("f%d", i): "x"})
		d := s.begin2()
		if len(d.Lower) > 4 {
			t.Fatalf("step %d: %d layers", i, len(d.Lower))
		}
		must(t, s.Discard(d))
	}
	want := []string{"m dir/ (750, was 755)", "A dir/b (2 B)", "A dir/c (2 B)", "D dir/keep", "D dir/old"}
	for _, i := range []int{0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9} {
		want = append(want, fmt.Sprintf("A f%d (1 B)", i))
	}
	s.wantChanges(append(want, "D file", "A link -> x", "M n (2 B)", "A x (3 B)")...)
	out := t.TempDir()
	d := s.begin2()
	inOverlay(t, s.project, d, `cp -a . `+out+`/`)
	must(t, s.Discard(d))
	s.apply(Selection{}, ApplyOptions{})
	if diff := cmp.Diff(listing(t, out), listing(t, s.project)); diff != "" {
		t.Errorf("mount of flattened layers differs from what is applied (-mount +applied):\n%s", diff)
	}
	must(t, s.Rewind("c2"))
	if got := s.read("c2", "x"); got != "hi\n" {
		t.Errorf("an old checkpoint: x = %q", got)
	}
}

func TestEditor(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"dir/a": "a", "dir/b": "b", "run.sh": "x", "link": "-> run.sh", "ldir": "-> dir"})
	must(t, os.Chmod(filepath.Join(s.project, "run.sh"), 0o755))
	s.edit(func(e *Editor) {
		must(t, e.Write("new/deep/file", strings.NewReader("n"), 0o600))
		must(t, e.Write("run.sh", strings.NewReader("y"), 0o600))
		must(t, e.Remove("dir"))
		must(t, e.Write("dir/c", strings.NewReader("c"), 0o644))
		must(t, e.Mkdir("empty/in"))
		for path, want := range map[string]string{
			"link": "symbolic link to run.sh", "ldir/x": "symbolic link to dir", "../x": "not a path inside",
			"/etc/x": "not a path inside", "run.sh/x": "not a directory", "new": "not a file", "a/../b": "not a path inside",
		} {
			if err := e.Write(path, strings.NewReader(""), 0o644); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("write %s: %v, want %q", path, err, want)
			}
		}
		if err := e.Remove("nothing"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("remove nothing: %v", err)
		}
	})
	s.wantChanges("A dir/c (1 B)", "D dir/a", "D dir/b", "A empty/", "A empty/in/", "A new/", "A new/deep/", "A new/deep/file (1 B)", "M run.sh (1 B)")
	s.edit(func(e *Editor) {
		must(t, e.Remove("new"))
		must(t, e.Remove("dir/c"))
		must(t, e.Remove("empty/in"))
	})
	s.wantChanges("D dir/a", "D dir/b", "A empty/", "M run.sh (1 B)")
	if _, err := os.Stat(filepath.Join(s.project, "dir/a")); err != nil {
		t.Errorf("the project itself was changed: %v", err)
	}
}

func TestViewLists(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"b": "1", "a/x": "2", "gone": "3"})
	c := s.edit(func(e *Editor) {
		must(t, e.Remove("gone"))
		must(t, e.Write("c", strings.NewReader("4"), 0o644))
	})
	v, err := s.View(c.ID)
	must(t, err)
	defer v.Close()
	var got []string
	for n, err := range v.List(".") {
		must(t, err)
		got = append(got, n.Name+" "+n.Kind.String())
	}
	if diff := cmp.Diff([]string{"a directory", "b file", "c file"}, got); diff != "" {
		t.Error(diff)
	}
	for _, err := range v.List("gone") {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("list of nothing: %v", err)
		}
	}
	if e, err := v.Stat("a"); err != nil || e.Kind != beneath.Directory {
		t.Errorf("Stat(a): %v %v", e.Kind, err)
	}
}

func TestStepChanges(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "0"})
	s.put(map[string]string{"a": "1", "b": "1"})
	c := s.put(map[string]string{"a": "2", "d": "2"})
	cmp2, err := s.CompareStep(c.ID)
	must(t, err)
	defer cmp2.Close()
	var got []string
	for ch, err := range cmp2.Changes() {
		must(t, err)
		got = append(got, Brief(ch))
	}
	if diff := cmp.Diff([]string{"M a (1 B)", "A d (1 B)"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRenew(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"a": "1"})
	renew := func(d *Draft, want bool) {
		t.Helper()
		d.began = 0
		if same, err := s.Renew(d); same != want || err != nil {
			t.Fatalf("%v %v, want %v", same, err, want)
		}
		if want != (d.began > 0) {
			t.Errorf("began at %d", d.began)
		}
	}
	d := s.begin2()
	renew(d, true)
	s.put(map[string]string{"b": "2"})
	renew(d, false)
	must(t, s.Rewind(Root))
	renew(d, true)
	line, err := s.Fork(Root)
	must(t, err)
	other, err := line.Begin()
	must(t, err)
	s.put(map[string]string{"c": "3"})
	renew(other, true) // a line of its own did not move
	s.put(map[string]string{"d": "4"})
	head, below := s.Head(), s.Checkpoints()[1].ID
	d = s.begin2()
	renew(d, true)
	must(t, s.Rewind(below))
	s.opts.MaxLayers = 1
	must(t, s.Discard(s.begin2())) // merges a layer that d lies on
	must(t, s.Rewind(head))
	renew(d, false)
}
