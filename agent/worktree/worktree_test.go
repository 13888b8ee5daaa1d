package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"kintsugi/agent"
	"kintsugi/sandbox/workspace"
)

func newTree(t *testing.T) (*Tree, string) {
	t.Helper()
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "a.txt"), []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := workspace.Open(t.TempDir(), project, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return New(s, agent.Project{Path: "/p", Source: project, Dir: "/p"}), project
}

func reads(t *testing.T, tree *Tree, path, want string) {
	t.Helper()
	if data, err := tree.Read(path); err != nil || string(data) != want {
		t.Errorf("%s: %q, %v; want %q", path, data, err, want)
	}
}

func TestWritesAreCheckpointsAndTheProjectStays(t *testing.T) {
	t.Parallel()
	tree, project := newTree(t)
	if err := tree.Write("sub/b.txt", []byte("two")); err != nil {
		t.Fatal(err)
	}
	first, _ := tree.Saved()
	if err := tree.Write("a.txt", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if id, parent := tree.Saved(); parent != first || id == first {
		t.Errorf("checkpoint %s on %s, want one on %s", id, parent, first)
	}
	reads(t, tree, "sub/b.txt", "two")
	reads(t, tree, "a.txt", "1")
	if data, err := os.ReadFile(filepath.Join(project, "a.txt")); err != nil || string(data) != "one" {
		t.Errorf("the project was changed: %q, %v", data, err)
	}
	list, err := tree.List(".")
	if err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestForksDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	tree, _ := newTree(t)
	if err := tree.Write("base.txt", []byte("base")); err != nil {
		t.Fatal(err)
	}
	var forks []*Tree
	for _, name := range []string{"x", "y"} {
		f, err := tree.Fork()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write("mine.txt", []byte(name)); err != nil {
			t.Fatal(err)
		}
		forks = append(forks, f)
	}
	reads(t, forks[0], "mine.txt", "x")
	reads(t, forks[1], "mine.txt", "y")
	reads(t, forks[1], "base.txt", "base")
	if _, err := tree.Read("mine.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the trunk sees a fork: %v", err)
	}
}

func TestDraftsKeepOrDrop(t *testing.T) {
	t.Parallel()
	tree, _ := newTree(t)
	for _, keep := range []bool{false, true} {
		d, err := tree.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.Spec().Upper, "new.txt"), []byte("new"), 0o644); err != nil {
			t.Fatal(err)
		}
		if !keep {
			if err := d.Discard(); err != nil {
				t.Fatal(err)
			}
			if _, err := tree.Read("new.txt"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("dropped, and there: %v", err)
			}
			continue
		}
		saved, err := d.Commit()
		if err != nil || saved.Total != 1 || saved.Changed[0] != "new.txt" || saved.ID != tree.Head() {
			t.Errorf("%+v, %v", saved, err)
		}
		if len(saved.Files) != 1 || saved.Files[0] != (agent.SavedFile{Path: "new.txt", Size: 3}) {
			t.Errorf("files %+v", saved.Files)
		}
		reads(t, tree, "new.txt", "new")
	}
}
