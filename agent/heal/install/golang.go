package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"kintsugi/sandbox"
)

// goBase is where Go layers live inside a box: the modules, what was compiled
// of them, and the go.mod that names them.
const goBase = "/kintsugi/go"

// GoSum is where a layer of Go modules has their go.sum.
func GoSum(l Layer) string {
	return filepath.Join(l.Tree, filepath.FromSlash(goBase), "now", "go.sum")
}

// goProject is the module that packages are added to.
type goProject struct {
	toolchain string // "go1.24.1 linux amd64"
	file      string // its go.mod inside the box; "" when there is none
	mod, sum  string // what go.mod and go.sum say
	dir       string // where go.mod is, or belongs
}

// askGo tells about the module that a folder is part of: a line about the
// toolchain, a line with the path of go.mod, the lengths of both files, and
// what they say.
const askGo = `mod=$(go env GOMOD) || exit
[ -f "$mod" ] || mod=
echo $(go env GOVERSION GOOS GOARCH)
echo "$mod"
[ -n "$mod" ] || exit 0
sum=${mod%.mod}.sum
echo $(wc -c < "$mod")
cat "$mod"
if [ -f "$sum" ]; then cat "$sum"; fi`

func (in *Installer) goProject(ctx context.Context, r Request) (goProject, error) {
	out, _, err := in.ask(ctx, sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", askGo}, Dir: r.Dir, Layers: r.Layers, Workspace: r.Workspace,
		Env: sandbox.MergeEnv(r.Env, "GOFLAGS=", "GOWORK=off"),
	})
	if err != nil {
		return goProject{}, &Error{Manager: "go", Reason: "cannot ask go what it is: " + err.Error()}
	}
	part := strings.SplitN(out, "\n", 4)
	p := goProject{dir: r.Dir}
	if p.toolchain = part[0]; len(part) < 2 || p.toolchain == "" {
		return p, &Error{Manager: "go", Reason: "go gave no sensible answer about itself"}
	}
	if len(part) < 4 || part[1] == "" {
		version, _, _ := strings.Cut(strings.TrimPrefix(p.toolchain, "go"), " ")
		p.mod = "module sandbox\n\ngo " + version + "\n"
		return p, nil
	}
	n, err := strconv.Atoi(part[2])
	if err != nil || n > len(part[3]) {
		return p, &Error{Manager: "go", Reason: "go gave no sensible answer about itself"}
	}
	p.file, p.dir, p.mod, p.sum = part[1], filepath.Dir(part[1]), part[3][:n], part[3][n:]
	return p, nil
}

// platform tells apart what cannot share a layer: toolchains, and modules.
func (p goProject) platform() string {
	return p.toolchain + " " + Key(p.dir, p.file, p.mod, p.sum)[:12]
}

// versions puts the version that go.mod names behind the packages of modules
// that it requires: an addition must not upgrade what the user chose.
func (p goProject) versions(packages []string) ([]string, error) {
	mod, err := modfile.ParseLax("go.mod", []byte(p.mod), nil)
	if err != nil {
		return nil, &Error{Manager: "go", Reason: "go.mod cannot be read: " + firstLine(err.Error())}
	}
	out := slices.Clone(packages)
	for i, pkg := range out {
		best := ""
		for _, req := range mod.Require {
			path := req.Mod.Path
			if !strings.Contains(pkg, "@") && (pkg == path || strings.HasPrefix(pkg, path+"/")) && len(path) > len(best) {
				best, out[i] = path, pkg+"@"+req.Mod.Version
			}
		}
	}
	return out, nil
}

func (in *Installer) golang(ctx context.Context, r Request) (Layer, error) {
	p, err := in.goProject(ctx, r)
	if err != nil {
		return Layer{}, err
	}
	if l, ok := in.placed(r, p); ok {
		return l, nil
	}
	return in.made(r, p.platform(), nil, func(r Request, b *build, l *Layer) error {
		var got fetched
		if err := in.runGo(ctx, r, p, b, &got); err != nil {
			return err
		}
		files, err := goArtefacts(filepath.Join(b.tree, filepath.FromSlash(goBase), "mod"), got.artefacts())
		if err != nil {
			return err
		}
		l.took(files)
		// The go command indexes the user's own folders in its cache, and
		// cannot where that is read-only.
		l.Env = []string{"GOMODCACHE=" + goBase + "/mod", "GOCACHE=" + goBase + "/build", "GODEBUG=goindex=0"}
		l.Before = placing(goBase, p.dir, "go.mod")
		return checkPinned(r, files)
	})
}

// placed finds the layer of a lock whose go.mod the module has by now, so that
// nothing is fetched and compiled anew.
func (in *Installer) placed(r Request, p goProject) (Layer, bool) {
	l, ok := in.Find(r.Layer)
	if !ok || l.Manager != "go" || !l.matches(r.Pins) || !strings.HasPrefix(l.For, p.toolchain+" ") {
		return Layer{}, false
	}
	mod, err := os.ReadFile(filepath.Join(l.Tree, filepath.FromSlash(goBase), "now", "go.mod"))
	return l, err == nil && string(mod) == p.mod
}

// goArtefacts keeps the modules among what was fetched, with the hashes that
// the go command computed and compared with its checksum database.
func goArtefacts(cache string, all []Artefact) ([]Artefact, error) {
	var out []Artefact
	for _, a := range all {
		if a.Ecosystem != "go" || !strings.HasSuffix(a.File, ".zip") {
			continue
		}
		path, err1 := module.EscapePath(a.Name)
		version, err2 := module.EscapeVersion(a.Version)
		hash, err3 := os.ReadFile(filepath.Join(cache, "cache", "download", filepath.FromSlash(path), "@v", version+".ziphash"))
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		a.Hash = strings.TrimSpace(string(hash))
		out = append(out, a)
	}
	return out, nil
}

// runGo fetches modules with the go command, and compiles the packages in a
// box without any network. What does not compile is left to the program's own
// build to tell.
func (in *Installer) runGo(ctx context.Context, r Request, p goProject, b *build, got *fetched) error {
	packages, err := p.versions(r.Packages)
	if err != nil {
		return err
	}
	base := filepath.Join(b.tree, filepath.FromSlash(goBase))
	if err := p.write(base); err != nil {
		return err
	}
	spec := sandbox.Spec{
		Argv: []string{"go", "get", "-modcacherw"}, Dir: goBase + "/now", Layers: r.Layers,
		Mounts: []sandbox.Mount{{Source: base, Target: goBase, Writable: true}},
		Env:    sandbox.MergeEnv(r.Env, "GOMODCACHE="+goBase+"/mod", "GOCACHE="+goBase+"/build", "GOWORK=off"),
	}
	if p.file != "" {
		spec.Dir, spec.Workspace = p.dir, r.Workspace
		spec.Argv = append(spec.Argv, "-modfile="+goBase+"/now/go.mod")
	}
	compile := spec
	if err := in.connect(ctx, r, &spec, filepath.Join(b.dir, "gateway"), got); err != nil {
		return err
	}
	spec.Argv = append(spec.Argv, packages...)
	r.Progress("resolving " + strings.Join(r.Packages, ", "))
	if err := in.run(ctx, "go", spec, goProgress(r), got); err != nil {
		return err
	}
	if err := ownRequires(filepath.Join(base, "now", "go.mod"), r.Packages); err != nil {
		return err
	}
	r.Progress("compiling " + strings.Join(r.Packages, ", "))
	compile.Argv = append([]string{"go", "build"}, append(compile.Argv[2:], bare(r.Packages)...)...)
	compile.Env = sandbox.MergeEnv(compile.Env, "GOPROXY=off", "GOFLAGS=-mod=mod")
	if _, _, err := in.box(ctx, compile, r); err != nil {
		return err
	}
	return dropZips(filepath.Join(base, "mod", "cache"))
}

// ownRequires marks in a go.mod the modules that the program itself imports:
// the go command, which saw no code, took all for what others need.
func ownRequires(file string, packages []string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return err
	}
	for _, req := range mod.Require {
		path := req.Mod.Path
		if slices.ContainsFunc(bare(packages), func(p string) bool { return p == path || strings.HasPrefix(p, path+"/") }) {
			req.Indirect = false
		}
	}
	mod.SetRequireSeparateIndirect(mod.Require)
	if data, err = mod.Format(); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// write lays out the folder that the go command works in: the module's files
// as they are, and a copy to compare with.
func (p goProject) write(base string) error {
	files := map[string]string{"now/go.mod": p.mod}
	if p.sum != "" {
		files["now/go.sum"] = p.sum
	}
	if p.file != "" {
		files["was/go.mod"] = p.mod
	}
	return writeFiles(base, files)
}

func writeFiles(base string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// placing is the command that puts the project files of a layer into the
// project, as long as main there is still what the layer was made from.
func placing(base, dir, main string) []string {
	const script = `if [ -e "$1/was/$3" ]; then cmp -s "$1/was/$3" "$2/$3" || exit 0; elif [ -e "$2/$3" ]; then exit 0; fi
for f in "$1"/now/*; do cmp -s "$f" "$2/${f##*/}" || cp "$f" "$2"/; done`
	return []string{"/bin/sh", "-c", script, "sh", base, dir, main}
}

// bare takes versions off import paths.
func bare(packages []string) []string {
	var out []string
	for _, p := range packages {
		path, _, _ := strings.Cut(p, "@")
		out = append(out, path)
	}
	return out
}

// dropZips removes from a module cache what is unpacked beside it.
func dropZips(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".zip" {
			return os.Remove(path)
		}
		return err
	})
}

// goProgress shows what the go command fetches.
func goProgress(r Request) Request {
	show := r.Progress
	r.Progress = func(line string) {
		if rest, ok := strings.CutPrefix(line, "go: downloading "); ok {
			show(fmt.Sprintf("downloading %s", rest))
		}
	}
	return r
}
