package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSourceFollowsTheProgramsOwnModulesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.py":       "import helper\nimport numpy\n",
		"helper.py":     "import yaml\n",
		"unrelated.py":  "import bs4\n",
		".venv/hid.py":  "import hidden\n",
		"pkg/inside.py": "import requests\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e := NewEngine(Config{Project: Project{Path: dir, Source: dir, Dir: dir}})
	s := e.readSource(&run{argv: []string{"python3", "main.py"}})
	if want := []string{"helper", "numpy", "yaml"}; !slices.Equal(s.own, want) {
		t.Errorf("own imports %v, want %v", s.own, want)
	}
	for _, name := range []string{"bs4", "requests", "yaml"} {
		if !slices.Contains(s.imports, name) {
			t.Errorf("imports %v lack %s", s.imports, name)
		}
	}
	if slices.Contains(s.imports, "hidden") {
		t.Error("a hidden folder was read")
	}
	for _, name := range []string{"helper", "pkg", "inside"} {
		if !slices.Contains(s.local, name) {
			t.Errorf("local names %v lack %s", s.local, name)
		}
	}
}

func TestAtVersions(t *testing.T) {
	t.Parallel()
	got := atVersions([]string{"rand", "rand@0.8", "serde", "tokio", "tokio@1"})
	if want := []string{"rand@0.8", "serde", "tokio@1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
