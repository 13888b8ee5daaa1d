package lock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kintsugi/agent/event"
	"kintsugi/agent/heal/install"
)

func hex(c string, n int) string { return strings.Repeat(c, n) }

func sample() Part {
	return Part{
		Manager: "pip", For: "python 3.11", Layer: "abc", Asked: []string{"pandas", "qrcode[pil]", "numpy<3"},
		Packages: []Package{
			{
				Name: "numpy", Version: "2.3.1", File: "numpy-2.3.1-linux.whl", Hash: "sha256:" + hex("1", 64),
				Files: map[string]string{"numpy-2.3.1-linux.whl": "sha256:" + hex("1", 64), "numpy-2.3.1-mac.whl": "sha256:" + hex("2", 64)},
			},
			{
				Name: "pandas", Version: "2.3.3", Evidence: "No module named 'pandas'", Rule: "python/module",
				File: "pandas-2.3.3.whl", Hash: "sha256:" + hex("3", 64),
			},
			{Name: "qrcode", Version: "8.0", File: "qrcode-8.0.whl", Hash: "sha256:" + hex("4", 64)},
			{Name: "six", Version: "1.17.0", File: "six-1.17.0.whl", Hash: "sha256:" + hex("5", 64)},
		},
	}
}

func TestLockComesBackAsItWas(t *testing.T) {
	t.Parallel()
	var f File
	f.Put(Set{Program: "plots/b.py", Parts: []Part{sample()}})
	f.Put(Set{Program: Any, Parts: []Part{{Manager: "apt", Asked: []string{"graphviz"}, Packages: []Package{
		{Name: "graphviz", Version: "2.42.2-7+b3", File: "graphviz_2.42.2-7+b3_amd64.deb", Hash: "sha256:" + hex("6", 64)},
	}}}})
	f.Put(f.Sets[1])
	data, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Read(filepath.Join(dir, Name))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, got); diff != "" {
		t.Error(diff)
	}
	for program, want := range map[string]string{
		"plots/b.py": "plots/b.py", "plots/c.py": Any, "": Any, "../outside.py": "",
	} {
		file := ""
		if program != "" {
			file = filepath.Join(dir, program)
		}
		s, _, ok, err := Find(dir, file, dir)
		if err != nil || ok != (want != "") || s.Program != want {
			t.Errorf("%q: set %q, %v, %v; want %q", program, s.Program, ok, err, want)
		}
	}
}

func TestExactVersions(t *testing.T) {
	t.Parallel()
	want := []string{"pandas==2.3.3", "qrcode[pil]==8.0", "numpy==2.3.1"}
	if diff := cmp.Diff(want, sample().Exact()); diff != "" {
		t.Error(diff)
	}
	npm := Part{Manager: "npm", Asked: []string{"express@4", "@types/node"}, Packages: []Package{{Name: "express", Version: "4.19.2"}, {Name: "@types/node", Version: "22.1.0"}}}
	if diff := cmp.Diff([]string{"express@4.19.2", "@types/node@22.1.0"}, npm.Exact()); diff != "" {
		t.Error(diff)
	}
	apt := Part{Manager: "apt", Asked: []string{"graphviz"}, Packages: []Package{{Name: "graphviz", Version: "2.42"}}}
	if diff := cmp.Diff([]string{"graphviz=2.42"}, apt.Exact()); diff != "" {
		t.Error(diff)
	}
	pins := sample().Pins()
	if len(pins) != 4 || len(pins[0].Files) != 2 || pins[1].Files["pandas-2.3.3.whl"] != "sha256:"+hex("3", 64) {
		t.Errorf("%+v", pins)
	}
}

func TestDamagedLocks(t *testing.T) {
	t.Parallel()
	const start = "version = 1\n[[set]]\nprogram = \"*\"\n[[set.part]]\nmanager = \"pip\"\n[[set.part.package]]\n"
	for name, text := range map[string]string{
		"cannot be read":          "version = ",
		"has format 7":            "version = 7\n",
		"is no name":              start + "name = \"--index-url=http://example.test\"\nversion = \"1\"\n",
		"with a version":          start + "name = \"six\"\nversion = \"1 --hash\"\n",
		"no hash of a kind":       start + "name = \"six\"\nversion = \"1\"\nfile = \"six.whl\"\nhash = \"md5:00\"\n",
		"six.whl has no hash":     start + "name = \"six\"\nversion = \"1\"\nfile = \"six.whl\"\n",
		"write it anew: kintsugi": "[[set]\n",
	} {
		path := filepath.Join(t.TempDir(), Name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, name)
		}
		if _, _, _, err := Find(filepath.Dir(path), "", filepath.Dir(path)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), Name)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestDerive(t *testing.T) {
	t.Parallel()
	layers := map[string]install.Layer{
		"k1": {Key: "k1", Manager: "pip", For: "python 3.11", Packages: []string{"Pandas==2.3.3", "shipped"}, Artefacts: []install.Artefact{
			{Ecosystem: "pip", Name: "pandas", Version: "2.3.3", File: "p.whl", Hash: "sha256:" + hex("1", 64)},
			{Ecosystem: "pip", Name: "six", Version: "1.17", File: "s.whl", Hash: "sha256:" + hex("2", 64)},
			{Ecosystem: "pip", Name: "odd", Version: "1", File: "o.whl"},
		}},
	}
	var events []event.Event
	for _, b := range []event.Body{
		event.Call{Step: 1, File: "/p/a.py"}, event.Attempt{Step: 1, Attempt: 1},
		event.Failure{Step: 1, Attempt: 1, Rule: "python/module", Evidence: []string{"No module named 'pandas'"}},
		event.Remedy{Step: 1, Attempt: 1, Action: "install", Manager: "pip", Packages: []string{"Pandas"}, Origin: "rule python/module; map import: pandas"},
		event.Attempt{Step: 1, Attempt: 2, Layers: []string{"k1"}},
		event.Call{Step: 2, File: "/p/plain.py"}, event.Attempt{Step: 2, Attempt: 1},
		event.Call{Step: 3, Argv: []string{"dot"}}, event.Attempt{Step: 3, Attempt: 1, Layers: []string{"k1", "gone"}},
	} {
		events = append(events, event.Event{Body: b})
	}
	d := Derive(events)
	if diff := cmp.Diff([]string{"/p/a.py", ""}, d.Programs); diff != "" {
		t.Error(diff)
	}
	s, skipped := d.Set("/p/a.py", func(k string) (install.Layer, bool) { l, ok := layers[k]; return l, ok }, func(k string) Reason { return d.Reasons[k] }, File{})
	want := []Part{{
		Manager: "pip", For: "python 3.11", Layer: "k1", Asked: []string{"Pandas"}, Packages: []Package{
			{Name: "pandas", Version: "2.3.3", Evidence: "No module named 'pandas'", Rule: "rule python/module; map import: pandas", File: "p.whl", Hash: "sha256:" + hex("1", 64)},
			{Name: "six", Version: "1.17", File: "s.whl", Hash: "sha256:" + hex("2", 64)},
		},
	}}
	if diff := cmp.Diff(want, s.Parts); diff != "" {
		t.Error(diff)
	}
	if len(skipped) != 2 {
		t.Errorf("skipped %q, want what has no hash and what was not fetched", skipped)
	}
	gone := func(string) (install.Layer, bool) { return install.Layer{}, false }
	if _, skipped = d.Set("", gone, nil, File{}); len(skipped) != 2 {
		t.Errorf("skipped %q, want both layers", skipped)
	}
	s, skipped = d.Set("", gone, nil, File{Sets: []Set{{Parts: want}}})
	if diff := cmp.Diff(want, s.Parts); diff != "" || len(skipped) != 1 {
		t.Errorf("a layer that is gone, but written down: skipped %q\n%s", skipped, diff)
	}
}
