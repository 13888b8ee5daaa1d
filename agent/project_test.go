package agent

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFindProject(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	home := filepath.Join(base, "home")
	repo := filepath.Join(home, "repo")
	sub := filepath.Join(repo, "src")
	plain := filepath.Join(home, "homework")
	for _, dir := range []string{filepath.Join(repo, ".git"), sub, plain} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(home, "plot.py"), filepath.Join(plain, "a.py")} {
		if err := os.WriteFile(f, []byte("print(1)\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cases := []struct {
		name, cwd, file, path, dir string
		mounts                     int
		note                       bool
	}{
		{"repository root from a subfolder", sub, "", repo, sub, 0, false},
		{"plain folder", plain, "a.py", plain, plain, 0, false},
		{"file of another folder", sub, filepath.Join(plain, "a.py"), repo, sub, 1, false},
		{"home with a file in a folder", home, "homework/a.py", plain, plain, 0, false},
		{"file in the home folder", home, "plot.py", looseFolder, looseFolder, 0, true},
		{"above home", base, "", looseFolder, looseFolder, 0, true},
	}
	for _, c := range cases {
		p, err := FindProject(c.cwd, home, c.file, filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if p.Path != c.path || p.Dir != c.dir || len(p.Mounts) != c.mounts || (p.Note != "") != c.note {
			t.Errorf("%s: got %+v", c.name, p)
		}
	}
}

func TestLooseProjectShowsOnlyTheFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{"plot.py", "secret.txt"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	staging := filepath.Join(t.TempDir(), "s")
	if _, err := FindProject(home, home, "plot.py", staging); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(staging)
	if err != nil || len(entries) != 1 || entries[0].Name() != "plot.py" {
		t.Fatalf("staging holds %v, %v", entries, err)
	}
	if _, err := FindProject(home, home, "nothing.py", staging); err == nil {
		t.Fatal("a missing file was accepted")
	}
}
