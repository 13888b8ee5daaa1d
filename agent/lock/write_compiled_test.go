package lock

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kintsugi/agent/heal/install"
)

func goPart() Part {
	return Part{
		Manager: "go", For: "go1.24.1 linux amd64 0123", Asked: []string{"a.test/b/c", "a.test/b/v2/d"},
		Packages: []Package{{Name: "a.test/b", Version: "v1.2.0"}, {Name: "a.test/b/v2", Version: "v2.3.0"}, {Name: "e.test/f", Version: "v0.1.0"}},
	}
}

func TestGoMod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, want string }{
		"new": {
			"", "module sandbox\n\ngo 1.24.1\n\nrequire (\n\ta.test/b v1.2.0\n\ta.test/b/v2 v2.3.0\n)\n\nrequire e.test/f v0.1.0 // indirect\n",
		},
		"there": {
			"module pots // mine\n\ngo 1.21\n\nrequire x.test/y v1.0.0\n",
			"module pots // mine\n\ngo 1.21\n\nrequire (\n\ta.test/b v1.2.0\n\ta.test/b/v2 v2.3.0\n\tx.test/y v1.0.0\n)\n\nrequire e.test/f v0.1.0 // indirect\n",
		},
	} {
		got, err := GoMod(c.old, goPart())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
		if again, _ := GoMod(got, goPart()); again != got {
			t.Errorf("%s: a second time it is\n%s", name, again)
		}
	}
	if _, err := GoMod("modul x", goPart()); err == nil {
		t.Error("a broken go.mod gave no error")
	}
}

func TestExactOfImportPaths(t *testing.T) {
	t.Parallel()
	want := []string{"a.test/b/c@v1.2.0", "a.test/b/v2/d@v2.3.0"}
	if d := cmp.Diff(want, goPart().Exact()); d != "" {
		t.Error(d)
	}
	p := Part{Manager: "cargo", Asked: []string{"serde[derive]", "serde_json"}, Packages: []Package{{Name: "serde", Version: "1.0.2"}, {Name: "serde-json", Version: "1.1.0"}}}
	if d := cmp.Diff([]string{"serde[derive]@1.0.2", "serde_json@1.1.0"}, p.Exact()); d != "" {
		t.Error(d)
	}
}

func TestGoSum(t *testing.T) {
	t.Parallel()
	if got, want := GoSum("b 1 h1:x\na 1 h1:y\n", "a 1 h1:y\nc 1 h1:z\n"), "a 1 h1:y\nb 1 h1:x\nc 1 h1:z\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCargoTOML(t *testing.T) {
	t.Parallel()
	p := Part{
		Manager: "cargo", Asked: []string{"serde[derive]", "rand"},
		Packages: []Package{{Name: "rand", Version: "0.9.1"}, {Name: "serde", Version: "1.0.2"}, {Name: "libc", Version: "0.2.1"}},
	}
	const both = "serde = { version = \"1.0.2\", features = [\"derive\"] }\nrand = \"0.9.1\"\n"
	for name, c := range map[string]struct{ old, want string }{
		"new": {"", "[package]\nname = \"my-pot\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[[bin]]\nname = \"my-pot\"\npath = \"My_pot.rs\"\n\n[dependencies]\n" + both},
		"there": {
			"[dependencies]\nrand = \"0.8\" # old\n\n[profile.dev]\nopt-level = 1\n",
			"[dependencies]\nrand = \"0.8\" # old\nserde = { version = \"1.0.2\", features = [\"derive\"] }\n\n[profile.dev]\nopt-level = 1\n",
		},
		"table": {"[package]\nname = \"x\"\n\n[dependencies.serde]\nversion = \"1\"\n", "[package]\nname = \"x\"\n\n[dependencies.serde]\nversion = \"1\"\n\n[dependencies]\nrand = \"0.9.1\"\n"},
	} {
		got := CargoTOML(c.old, "My_pot.rs", p)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
		if again := CargoTOML(got, "My_pot.rs", p); again != got {
			t.Errorf("%s: a second time it is\n%s", name, again)
		}
	}
}

// TestAVersionIsNoSecondPackage: what was asked for twice, once at a version,
// is one dependency.
func TestAVersionIsNoSecondPackage(t *testing.T) {
	t.Parallel()
	l := install.Layer{
		Manager: "cargo", Packages: []string{"rand", "rand@0.8"},
		Artefacts: []install.Artefact{{Ecosystem: "cargo", Name: "rand", Version: "0.8.6", File: "rand-0.8.6.crate", Hash: "sha256:" + hex("1", 64)}},
	}
	part, skipped := partOf(l, func(string) Reason { return Reason{} })
	if len(skipped) > 0 {
		t.Errorf("left out: %v", skipped)
	}
	if d := cmp.Diff([]string{"rand@0.8.6"}, part.Exact()); d != "" {
		t.Error(d)
	}
}

func TestPomXML(t *testing.T) {
	t.Parallel()
	p := Part{Manager: "maven", Asked: []string{"com.google.code.gson:gson:2.10", "org.apache.maven.plugins:maven-jar-plugin", "junit:junit"}, Packages: []Package{
		{Name: "com.google.code.gson:gson", Version: "2.8"}, {Name: "com.google.code.gson:gson", Version: "2.10"},
		{Name: "org.apache.maven.plugins:maven-jar-plugin", Version: "2.4"}, {Name: "junit:junit", Version: "4.13.2"},
	}}
	got, err := PomXML("<project>\n  <name>pots</name>\n</project>\n", p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<version>2.10</version>", "<version>4.13.2</version>"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "plugin") || strings.Contains(got, "2.8") {
		t.Errorf("more than was asked for in\n%s", got)
	}
	if _, err := PomXML("<html/>", p); err == nil {
		t.Error("a file that is no project was taken")
	}
}
