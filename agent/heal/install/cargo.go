package install

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"kintsugi/sandbox"
)

// cargoBase is where Rust layers live inside a box: the crates' sources, the
// project files that name them and, for a single file, the crates compiled.
const cargoBase = "/kintsugi/cargo"

// RustcArgs is the variable whose words go to rustc when it compiles a single
// file: where the crates are.
const RustcArgs = "KINTSUGI_RUSTC"

// crateProject is what crates are added to: a package of the user's, or none
// when a single file is compiled.
type crateProject struct {
	toolchain string // "rustc 1.95.0 (…) x86_64-unknown-linux-gnu"
	file      string // its Cargo.toml inside the box; "" when there is none
	manifest  string // what that says
	lock      string // what Cargo.lock beside it says, if anything
}

// askCargo tells about the package that a folder is part of, as askGo does.
const askCargo = `set -e
echo $(rustc -V) $(rustc -vV | sed -n 's/^host: //p')
[ "$1" = cargo ] || exit 0
file=$(cargo locate-project --message-format plain 2>/dev/null) || exit 0
echo "$file"
echo $(wc -c < "$file")
cat "$file"
cat "${file%toml}lock" 2>/dev/null || true`

func (in *Installer) crateProject(ctx context.Context, r Request) (crateProject, error) {
	out, _, err := in.ask(ctx, sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", askCargo, "sh", argv0(r, "cargo")}, Dir: r.Dir, Layers: r.Layers,
		Workspace: r.Workspace, Env: r.Env,
	})
	part := strings.SplitN(out, "\n", 4)
	if err != nil || part[0] == "" {
		return crateProject{}, &Error{Manager: "cargo", Reason: "Rust does not say what it is; is it installed?"}
	}
	p := crateProject{toolchain: part[0], manifest: "[package]\nname = \"sandbox\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"}
	if len(part) < 4 {
		return p, nil
	}
	n, err := strconv.Atoi(part[2])
	if err != nil || n > len(part[3]) {
		return p, &Error{Manager: "cargo", Reason: "cargo gave no sensible answer about the project"}
	}
	p.file, p.manifest, p.lock = part[1], part[3][:n], part[3][n:]
	return p, nil
}

func (p crateProject) platform() string {
	return p.toolchain + " " + Key(p.file, p.manifest, p.lock)[:12]
}

// cargoTable is what a Cargo.toml says about its dependencies.
type cargoTable struct {
	Dependencies map[string]any `toml:"dependencies"`
	Dev          map[string]any `toml:"dev-dependencies"`
	Build        map[string]any `toml:"build-dependencies"`
}

// CratesOf lists the crates that a Cargo.toml names, as they are called in
// there.
func CratesOf(manifest string) []string {
	var t cargoTable
	if _, err := toml.Decode(manifest, &t); err != nil {
		return nil
	}
	var out []string
	for _, m := range []map[string]any{t.Dependencies, t.Dev, t.Build} {
		for name := range m {
			out = append(out, name)
		}
	}
	return sorted(out)
}

func (in *Installer) cargo(ctx context.Context, r Request) (Layer, error) {
	p, err := in.crateProject(ctx, r)
	if err != nil {
		return Layer{}, err
	}
	return in.made(r, p.platform(), nil, func(r Request, b *build, l *Layer) error {
		var got fetched
		if err := in.runCargo(ctx, r, p, b, &got); err != nil {
			return err
		}
		l.took(slices.DeleteFunc(got.artefacts(), func(a Artefact) bool { return !strings.HasSuffix(a.File, ".crate") }))
		if err := checkPinned(r, l.Artefacts); err != nil {
			return err
		}
		l.Env = []string{"CARGO_HOME=" + cargoBase}
		if p.file != "" {
			l.Before = placing(cargoBase, path.Dir(p.file), "Cargo.toml")
			return nil
		}
		l.Env = append(l.Env, RustcArgs+"=@"+cargoBase+"/rustc-args")
		return in.compileCrates(ctx, r, b)
	})
}

// vendored makes cargo take crates from the layer and nowhere else.
const vendored = `[source.crates-io]
replace-with = "layer"

[source.layer]
directory = "` + cargoBase + `/vendor"
`

// runCargo adds crates to the project and fetches the sources of all that it
// needs. Nothing of them is run while there is a way out.
func (in *Installer) runCargo(ctx context.Context, r Request, p crateProject, b *build, got *fetched) error {
	base := filepath.Join(b.tree, filepath.FromSlash(cargoBase))
	files := map[string]string{"config.toml": vendored, "home/config.toml": ""}
	spec := sandbox.Spec{
		Dir: cargoBase + "/now", Layers: r.Layers, Mounts: []sandbox.Mount{{Source: base, Target: cargoBase, Writable: true}},
		Env: sandbox.MergeEnv(r.Env, "CARGO_HOME="+cargoBase+"/home", "CARGO_TERM_COLOR=never", "CARGO_NET_OFFLINE=false"),
	}
	manifest := cargoBase + "/now/Cargo.toml"
	if p.file != "" {
		// Cargo and rustup take settings, and programs to run, from the folder
		// they start in: it must not be the user's while there is a way out.
		files["was/Cargo.toml"] = p.manifest
		manifest, spec.Dir, spec.Workspace = p.file, cargoBase+"/home", r.Workspace
	} else {
		files["now/Cargo.toml"], files["now/src/lib.rs"] = p.manifest, ""
	}
	if err := writeFiles(base, files); err != nil {
		return err
	}
	r.Progress("resolving " + strings.Join(r.Packages, ", "))
	steps := [][]string{
		addition(r.Packages, CratesOf(p.manifest)),
		{"cargo", "vendor", "--respect-source-config", cargoBase + "/vendor"},
	}
	for _, argv := range steps {
		if argv == nil {
			continue
		}
		step := spec
		step.Mounts = slices.Clone(spec.Mounts)
		step.Argv = slices.Concat(argv, []string{"--manifest-path", manifest})
		if err := in.connect(ctx, r, &step, filepath.Join(b.dir, "gateway"), got); err != nil {
			return err
		}
		if err := in.run(ctx, "cargo", step, cargoProgress(r), got); err != nil {
			return err
		}
	}
	if p.file != "" {
		spec.Dir = path.Dir(p.file)
		spec.Argv = []string{"/bin/sh", "-c", `mkdir -p "$1" && cp Cargo.toml "$1" && if [ -e Cargo.lock ]; then cp Cargo.lock "$1"; fi`, "sh", cargoBase + "/now"}
		if _, _, err := in.box(ctx, spec, r); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(base, "home"))
}

// addition is the command that adds crates to a project that has some; nil
// when it has them all. A package is "name", "name@version" or with features
// in brackets behind the name.
func addition(packages, have []string) []string {
	argv := []string{"cargo", "add"}
	var features []string
	for _, p := range packages {
		head, version, exact := strings.Cut(p, "@")
		if !exact && slices.ContainsFunc(packages, func(o string) bool { return strings.HasPrefix(o, p+"@") }) {
			continue // it is asked for at a version as well
		}
		name, list, _ := strings.Cut(strings.TrimSuffix(head, "]"), "[")
		if slices.ContainsFunc(have, func(h string) bool { return underscored(h) == underscored(name) }) {
			continue
		}
		for _, f := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' }) {
			features = append(features, name+"/"+f)
		}
		if version != "" {
			name += "@=" + version
		}
		argv = append(argv, name)
	}
	if len(argv) == 2 {
		return nil
	}
	if len(features) > 0 {
		argv = append(argv, "--features", strings.Join(features, ","))
	}
	return argv
}

func underscored(name string) string { return strings.ReplaceAll(name, "-", "_") }

// compileCrates builds the crates of a single file in a box without any
// network, and writes down for rustc where they are. Their build scripts run
// in there, and see neither the gateway nor the user's code.
func (in *Installer) compileCrates(ctx context.Context, r Request, b *build) error {
	base := filepath.Join(b.tree, filepath.FromSlash(cargoBase))
	r.Progress("compiling " + strings.Join(r.Packages, ", "))
	spec := sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", "cargo build --offline --message-format=json-render-diagnostics > " + cargoBase + "/build.json"},
		Dir:  cargoBase + "/now", Layers: r.Layers,
		Mounts: []sandbox.Mount{{Source: base, Target: cargoBase, Writable: true}},
		Env:    sandbox.MergeEnv(r.Env, "CARGO_HOME="+cargoBase, "CARGO_TARGET_DIR="+cargoBase+"/target", "CARGO_TERM_COLOR=never"),
	}
	res, out, err := in.box(ctx, spec, cargoProgress(r))
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fail("cargo", out, res)
	}
	manifest, err1 := os.ReadFile(filepath.Join(base, "now", "Cargo.toml"))
	log, err2 := os.ReadFile(filepath.Join(base, "build.json"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	args := strings.Join(rustcArgs(log, CratesOf(string(manifest))), "\n") + "\n"
	for _, gone := range []string{"build.json", "vendor", "target/debug/incremental", "target/debug/.fingerprint"} {
		if err := os.RemoveAll(filepath.Join(base, filepath.FromSlash(gone))); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(base, "rustc-args"), []byte(args), 0o644)
}

// built is a line of cargo's messages.
type built struct {
	Reason string `json:"reason"`
	ID     string `json:"package_id"` // …#name@version
	Target struct {
		Name string   `json:"name"`
		Kind []string `json:"kind"`
	} `json:"target"`
	Files  []string `json:"filenames"`
	Linked []string `json:"linked_paths"`
}

// rustcArgs reads from cargo's messages what rustc has to be told about the
// crates that are wanted, and about what those need.
func rustcArgs(log []byte, wanted []string) []string {
	out := []string{"-L", "dependency=" + cargoBase + "/target/debug/deps"}
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var m built
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		for _, dir := range m.Linked {
			out = append(out, "-L", dir)
		}
		_, id, _ := strings.Cut(m.ID, "#")
		name, _, _ := strings.Cut(id, "@")
		if m.Reason != "compiler-artifact" || !slices.Contains(wanted, name) || slices.Contains(m.Target.Kind, "custom-build") {
			continue
		}
		for _, f := range m.Files {
			if ext := path.Ext(f); ext == ".rlib" || ext == ".so" {
				out = append(out, "--extern", underscored(m.Target.Name)+"="+f)
			}
		}
	}
	return out
}

// cargoProgress shows what cargo fetches and compiles.
func cargoProgress(r Request) Request {
	show := r.Progress
	r.Progress = func(line string) {
		for _, word := range []string{"Downloaded ", "Vendoring ", "Compiling "} {
			if rest, ok := strings.CutPrefix(line, word); ok {
				rest, _, _ = strings.Cut(rest, " (")
				show(strings.ToLower(word[:1]) + word[1:] + rest)
			}
		}
	}
	return r
}
