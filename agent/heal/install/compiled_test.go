package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kintsugi/sandbox"
)

// withTool leaves the test out where the machine lacks the tool, and gives the
// environment that has it.
func withTool(t *testing.T, tool string) []string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("this machine has no %s", tool)
	}
	return sandbox.BaseEnv(os.Environ(), "PATH="+filepath.Dir(path)+":/usr/local/bin:/usr/bin:/bin")
}

// folder writes files into a folder that boxes see as a workspace.
func folder(t *testing.T, files map[string]string) sandbox.Workspace {
	t.Helper()
	dir := t.TempDir()
	if err := writeFiles(dir, files); err != nil {
		t.Fatal(err)
	}
	return sandbox.Workspace{Path: dir, Upper: t.TempDir(), Work: t.TempDir()}
}

// inFolder runs what a layer wants before, and then a command, in a workspace.
func inFolder(t *testing.T, in *Installer, env []string, w sandbox.Workspace, l Layer, argv ...string) string {
	t.Helper()
	var both strings.Builder
	for _, a := range [][]string{l.Before, argv} {
		if a == nil {
			continue
		}
		var out, errOut strings.Builder
		b, err := in.Runtime.Start(context.Background(), sandbox.Spec{
			Argv: a, Env: Apply(env, l), Dir: w.Path, Workspace: w, Layers: []string{l.Tree}, Stdout: &out, Stderr: &errOut,
		})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := b.Wait(); err != nil || res.ExitCode != 0 {
			t.Fatalf("%v: exit %d, %v\n%s%s", a, res.ExitCode, err, out.String(), errOut.String())
		}
		both.WriteString(out.String() + errOut.String())
	}
	return both.String()
}

// goProgram needs a package that needs nothing, so that little is compiled.
const goProgram = `package main

import "golang.org/x/exp/constraints"

func sum[T constraints.Integer](a, b T) T { return a + b }

func main() { println(sum(3, 4)) }
`

func TestInstallGo(t *testing.T) {
	in, env := realInstaller(t), withTool(t, "go")
	w := folder(t, map[string]string{"main.go": goProgram})
	r := Request{Manager: "go", Packages: []string{"golang.org/x/exp/constraints"}, Env: env, Workspace: w, Dir: w.Path}
	l, err := in.Install(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if out := inFolder(t, in, env, w, l, "go", "run", "main.go"); out != "7\n" {
		t.Errorf("output %q", out)
	}
	if len(l.Artefacts) == 0 || !strings.HasPrefix(l.Artefacts[0].Hash, "h1:") || l.Artefacts[0].Version == "" {
		t.Errorf("artefacts %+v, want the module with version and hash", l.Artefacts)
	}
}

// TestGoModuleKeepsItsVersions adds a package to a module that names another
// one at an old version, which must stay.
func TestGoModuleKeepsItsVersions(t *testing.T) {
	in, env := realInstaller(t), withTool(t, "go")
	const mod = "module example.test/pots\n\ngo 1.21\n\nrequire github.com/google/uuid v1.5.0 // indirect\n"
	w := folder(t, map[string]string{"go.mod": mod, "main.go": goProgram})
	r := Request{
		Manager: "go", Packages: []string{"golang.org/x/exp/constraints"}, Env: env, Workspace: w, Dir: w.Path,
	}
	l, err := in.Install(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	got := inFolder(t, in, env, w, l, "cat", "go.mod")
	for _, want := range []string{"module example.test/pots", "github.com/google/uuid v1.5.0 // indirect\n", "golang.org/x/exp v"} {
		if !strings.Contains(got, want) {
			t.Errorf("go.mod lacks %q:\n%s", want, got)
		}
	}
	// A module that was changed since is left alone.
	other := folder(t, map[string]string{"go.mod": mod + "// mine\n"})
	moved := l
	moved.Before = append(append([]string{}, l.Before[:5]...), other.Path, "go.mod")
	if got := inFolder(t, in, env, other, moved, "cat", "go.mod"); !strings.Contains(got, "// mine") {
		t.Errorf("a changed go.mod was replaced:\n%s", got)
	}
}

func TestInstallCargo(t *testing.T) {
	in, env := realInstaller(t), withTool(t, "cargo")
	t.Run("file", func(t *testing.T) {
		w := folder(t, map[string]string{"main.rs": "fn main() { println!(\"{}\", itoa::Buffer::new().format(42)); }\n"})
		l, err := in.Install(context.Background(), Request{Manager: "cargo", Packages: []string{"itoa"}, Argv0: "rustc", Env: env, Workspace: w, Dir: w.Path})
		if err != nil {
			t.Fatal(err)
		}
		out := inFolder(t, in, env, w, l, "sh", "-c", "rustc --edition=2021 -o /tmp/x main.rs $"+RustcArgs+" && /tmp/x")
		if out != "42\n" {
			t.Errorf("output %q", out)
		}
	})
	t.Run("project", func(t *testing.T) {
		w := folder(t, map[string]string{
			"Cargo.toml":  "[package]\nname = \"pots\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
			"src/main.rs": "fn main() { println!(\"{}\", itoa::Buffer::new().format(7)); }\n",
		})
		l, err := in.Install(context.Background(), Request{Manager: "cargo", Packages: []string{"itoa"}, Env: env, Workspace: w, Dir: w.Path})
		if err != nil {
			t.Fatal(err)
		}
		if out := inFolder(t, in, env, w, l, "cargo", "run", "-q"); out != "7\n" {
			t.Errorf("output %q", out)
		}
	})
}

// TestCargoRunsNothingOfTheProject: a project may name programs that cargo and
// rustup start instead of their own.
func TestCargoRunsNothingOfTheProject(t *testing.T) {
	in, env := realInstaller(t), withTool(t, "cargo")
	w := folder(t, map[string]string{
		"Cargo.toml":         "[package]\nname = \"pots\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"src/main.rs":        "fn main() {}\n",
		".cargo/config.toml": "[build]\nrustc = \"./evil\"\n[source.crates-io]\nreplace-with = \"evil\"\n[source.evil]\nregistry = \"sparse+http://127.0.0.1:9/\"\n",
		"evil":               "#!/bin/sh\ntouch " + cargoBase + "/ran\n",
	})
	if err := os.Chmod(filepath.Join(w.Path, "evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := in.Install(context.Background(), Request{Manager: "cargo", Packages: []string{"itoa"}, Env: env, Workspace: w, Dir: w.Path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(l.Tree, "kintsugi", "cargo", "ran")); err == nil {
		t.Error("a program of the project ran in the box that reaches the gateway")
	}
	if len(l.Versions) != 1 || !strings.HasPrefix(l.Versions[0], "itoa ") {
		t.Errorf("installed %v", l.Versions)
	}
}

func TestAddition(t *testing.T) {
	t.Parallel()
	have := []string{"serde-json"}
	got := addition([]string{"tokio[full]", "serde_json", "rand", "rand@0.8", "clap[derive]@4.5.1"}, have)
	want := []string{"cargo", "add", "tokio", "rand@=0.8", "clap@=4.5.1", "--features", "tokio/full,clap/derive"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := addition([]string{"serde_json"}, have); got != nil {
		t.Errorf("%v, want nothing to add", got)
	}
}

func TestNamesOfCompiledLanguages(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"github.com/a/b@latest", "-x", "github.com/../etc", "fmt", "http://example.test/x", "a.b/c;d"} {
		if checkNames("go", []string{bad}) == nil {
			t.Errorf("go: %q passed", bad)
		}
	}
	for _, bad := range []string{"--git=x", "a b", "../x", "serde@*", "tokio[full", "x/y"} {
		if checkNames("cargo", []string{bad}) == nil {
			t.Errorf("cargo: %q passed", bad)
		}
	}
	for manager, good := range map[string]string{"go": "github.com/a/b-c/v2/d@v2.0.1-rc.1+incompatible", "cargo": "tokio[full,macros]@1.2.3"} {
		if err := checkNames(manager, []string{good}); err != nil {
			t.Error(err)
		}
	}
}

func TestVersionsThatTheUserChoseStay(t *testing.T) {
	t.Parallel()
	p := goProject{mod: "module m\n\nrequire (\n\ta.test/b v1.2.0\n\ta.test/b/v2 v2.3.0\n)\n"}
	got, err := p.versions([]string{"a.test/b/c", "a.test/b/v2/d", "a.test/bc", "a.test/b@v1.9.0"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.test/b/c@v1.2.0", "a.test/b/v2/d@v2.3.0", "a.test/bc", "a.test/b@v1.9.0"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
