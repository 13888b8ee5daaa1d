package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// session is a project with a store beside it.
type session struct {
	t       *testing.T
	project string
	dir     string
	*Store
}

// newSession makes a project of the given files. A name with a slash at the
// end is a directory, content that starts with "-> " a link.
func newSession(t *testing.T, files map[string]string) *session {
	t.Helper()
	return newSessionWith(t, files, Options{})
}

func newSessionWith(t *testing.T, files map[string]string, o Options) *session {
	t.Helper()
	return newSessionIn(t, t.TempDir(), files, o)
}

func newSessionIn(t *testing.T, base string, files map[string]string, o Options) *session {
	t.Helper()
	s := &session{t: t, project: filepath.Join(base, "project"), dir: filepath.Join(base, "session")}
	must(t, os.Mkdir(s.project, 0o755))
	write(t, s.project, files)
	s.open(o)
	return s
}

func (s *session) open(o Options) {
	s.t.Helper()
	st, err := Open(s.dir, s.project, o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Store = st
	s.t.Cleanup(func() {
		if err := st.Close(); err != nil {
			s.t.Errorf("close: %v", err)
		}
	})
}

// memoryDir is a temporary directory in memory where there is one, for tests
// with many small steps.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "workspace-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// step runs a script in a real overlay and commits.
func (s *session) step(script string) Checkpoint {
	s.t.Helper()
	d := s.begin2()
	inOverlay(s.t, s.project, d, script)
	return s.commit(d)
}

func (s *session) begin2() *Draft {
	s.t.Helper()
	d, err := s.Begin()
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *session) commit(d *Draft) Checkpoint {
	s.t.Helper()
	c, err := s.Commit(d)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// edit changes a draft through the merged view and commits.
func (s *session) edit(f func(e *Editor)) Checkpoint {
	s.t.Helper()
	d := s.begin2()
	e, err := s.Edit(d)
	if err != nil {
		s.t.Fatal(err)
	}
	f(e)
	e.Close()
	return s.commit(d)
}

// put writes files through the merged view and commits.
func (s *session) put(files map[string]string) Checkpoint {
	s.t.Helper()
	return s.edit(func(e *Editor) {
		for name, content := range files {
			must(s.t, e.Write(name, strings.NewReader(content), 0o644))
		}
	})
}

// changes are the changes of the head in one line each.
func (s *session) changes() []string {
	s.t.Helper()
	return s.changesOf(s.Head())
}

func (s *session) changesOf(id string) []string {
	s.t.Helper()
	var lines []string
	for c, err := range s.Changes(id) {
		if err != nil {
			s.t.Fatal(err)
		}
		lines = append(lines, Brief(c))
	}
	return lines
}

func (s *session) wantChanges(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.changes()); diff != "" {
		s.t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func (s *session) apply(sel Selection, o ApplyOptions) Report {
	s.t.Helper()
	rep, err := s.Apply(context.Background(), s.Head(), sel, o)
	if err != nil {
		s.t.Fatalf("apply: %v; changes %q", err, s.changes())
	}
	return rep
}

// listing is everything in a directory, in one line each.
func listing(t *testing.T, root string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		fi, err := e.Info()
		if err != nil {
			return err
		}
		got[rel], err = describe(p, fi)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func describe(p string, fi fs.FileInfo) (string, error) {
	switch {
	case fi.Mode().IsRegular():
		b, err := os.ReadFile(p)
		return fmt.Sprintf("%v %q", fi.Mode(), b), err
	case fi.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(p)
		return "-> " + target, err
	}
	return fi.Mode().String(), nil
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		target, isLink := strings.CutPrefix(content, "-> ")
		switch {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(p, 0o755))
		case isLink:
			must(t, os.Symlink(target, p))
		default:
			must(t, os.WriteFile(p, []byte(content), 0o644))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
