package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/ui"
)

// reviewSession is a session whose workspace differs from its project.
func reviewSession(t *testing.T) (*controller, string) {
	t.Helper()
	project := t.TempDir()
	for name, text := range map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "mine.txt": "one\n", "old.txt": "old\n"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	log, err := event.Create(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := agent.Project{Path: project, Source: project, Dir: project}
	st, err := openStore(filepath.Join(dir, "work"), p)
	if err != nil {
		t.Fatal(err)
	}
	c := newController(t.Context())
	c.s = &session{dir: dir, log: &watchedLog{Log: log}, project: p, store: st}
	t.Cleanup(c.s.Close)
	for name, text := range map[string]string{
		"a.txt": "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n", "mine.txt": "two\n", ".envrc": "export A=1\n", "new/b.txt": "new\n",
	} {
		if err := st.tree.Write(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(project, "mine.txt"), []byte("the user's own\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return c, project
}

func (c *controller) runOne(t *testing.T) {
	t.Helper()
	if err := c.one(<-c.jobs); err != nil {
		t.Fatal(err)
	}
}

func fileIs(t *testing.T, project, name, want string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(project, name))
	if want == "" && os.IsNotExist(err) {
		return
	}
	if err != nil || string(data) != want {
		t.Errorf("%s is %q (%v), want %q", name, data, err, want)
	}
}

func TestTheScreenSeesTheChangesAndBringsTheChosen(t *testing.T) {
	t.Parallel()
	c, project := reviewSession(t)
	got, err := c.s.changes()
	if err != nil || len(got.Files) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	byPath := map[string]ui.Change{}
	for _, f := range got.Files {
		byPath[f.Path] = f
	}
	a := byPath["a.txt"]
	if len(a.Hunks) != 2 || !a.Parts || a.What != "modified" || !strings.HasPrefix(a.Hunks[0].Header, "@@ -1,4") {
		t.Errorf("a.txt is %+v", a)
	}
	if byPath["mine.txt"].Conflict == "" || byPath[".envrc"].Held == "" || byPath["new/b.txt"].What != "added" {
		t.Errorf("changes are %+v", byPath)
	}
	c.Take(ui.Choice{Checkpoint: got.Checkpoint, Hunks: map[string][]string{"a.txt": {a.Hunks[1].ID}}})
	c.runOne(t)
	fileIs(t, project, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n")
	fileIs(t, project, "new/b.txt", "")
	c.Take(ui.Choice{Checkpoint: got.Checkpoint, All: true, Confirm: []string{".envrc"}})
	c.runOne(t)
	fileIs(t, project, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n")
	fileIs(t, project, ".envrc", "export A=1\n")
	fileIs(t, project, "new/b.txt", "new\n")
	fileIs(t, project, "mine.txt", "the user's own\n")
}

func TestResultsAreReadAndSavedFromTheirCheckpoint(t *testing.T) {
	t.Parallel()
	c, _ := reviewSession(t)
	id, _ := c.s.store.tree.Saved()
	if err := c.s.store.tree.Write("new/b.txt", []byte("newer\n")); err != nil {
		t.Fatal(err)
	}
	a := event.Artefact{Path: "new/b.txt", Checkpoint: id, Media: "text/plain", Size: 4}
	if data, err := c.s.artefact(a, 3); err != nil || string(data) != "new" {
		t.Errorf("read %q, %v", data, err)
	}
	to := filepath.Join(t.TempDir(), "copy.txt")
	if err := c.s.keep(a, to); err != nil {
		t.Fatal(err)
	}
	fileIs(t, filepath.Dir(to), "copy.txt", "new\n")
	if err := c.s.keep(a, to); err == nil || !strings.Contains(err.Error(), "was not touched") {
		t.Errorf("over a file: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	if err := c.s.keep(a, link); err == nil {
		t.Error("a copy was made through a link")
	}
	for _, bad := range []string{"../../etc/passwd", "/etc/passwd", "nowhere"} {
		if _, err := c.s.artefact(event.Artefact{Path: bad, Checkpoint: id}, 10); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	for _, media := range []string{"image/svg+xml", "text/html", "application/octet-stream"} {
		if viewerExt(media) != "" {
			t.Errorf("%s is handed to the desktop", media)
		}
	}
}
