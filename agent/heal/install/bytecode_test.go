package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// code is the byte code of a module in a layer.
func code(t *testing.T, l Layer, module string) os.FileInfo {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(l.Tree, "kintsugi/python/lib/python3*/site-packages/__pycache__", module+".*.pyc"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s has the byte code %v, %v", module, found, err)
	}
	info, err := os.Stat(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// A layer takes the byte code that another one has of the same version, and
// makes that of another version itself.
func TestByteCodeIsShared(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	for name, version := range map[string]string{"pots": "1.0", "glaze": "1.0", "kiln": "1.0"} {
		x.wheel(name, version, 90*day)
	}
	x.wheel("glaze", "2.0", 80*day)
	in := x.installer(t)
	in.WithoutUV = true
	install := func(packages ...string) Layer {
		t.Helper()
		l, err := in.Install(t.Context(), pots(packages...))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := install("pots", "glaze==1.0")
	second := install("pots", "glaze", "kiln")
	if !os.SameFile(code(t, first, "pots"), code(t, second, "pots")) {
		t.Error("the same version was compiled again")
	}
	if os.SameFile(code(t, first, "glaze"), code(t, second, "glaze")) {
		t.Error("another version has the byte code of the first")
	}
	code(t, second, "kiln")
	out, exit := box(t, in, Apply(baseEnv(), second), []string{second.Tree}, "/usr/bin/python3", "-v", "-c", "import glaze, pots; print(glaze.version, pots.version)")
	if exit != 0 || !strings.Contains(out, "2.0 1.0") {
		t.Errorf("exit %d, %q", exit, out)
	}
}

// Byte code that came with a package is not used, here or elsewhere.
func TestForeignByteCodeGoes(t *testing.T) {
	t.Parallel()
	site := t.TempDir()
	if err := writeFiles(site, map[string]string{"a.py": "", "__pycache__/a.cpython-311.pyc": "evil", "b/__pycache__/c.pyc": "evil", "b/c.py": ""}); err != nil {
		t.Fatal(err)
	}
	if err := dropCode(site); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{"a.py": true, "b/c.py": true, "__pycache__": false, "b/__pycache__": false} {
		if _, err := os.Stat(filepath.Join(site, file)); (err == nil) != want {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Only the code of files that say the same is linked.
func TestChangedFilesKeepTheirCode(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	record := "same.py,,\nother.py,,\n../out.py,,\n"
	old := map[string]string{"same.py": "x = 1\n", "other.py": "x = 1\n", "__pycache__/same.t.pyc": "1", "__pycache__/other.t.pyc": "1"}
	if err := writeFiles(from, old); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(to, map[string]string{"same.py": "x = 1\n", "other.py": "x = 2\n", "d.dist-info/RECORD": record}); err != nil {
		t.Fatal(err)
	}
	linkCode(from, to, "d.dist-info")
	for name, want := range map[string]bool{"same": true, "other": false} {
		if _, err := os.Stat(filepath.Join(to, "__pycache__", name+".t.pyc")); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
