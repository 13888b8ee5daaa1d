package agent

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/agent/heal/pom"
)

// source is what the user's own code says: the modules it imports and the
// names that are files of the project.
type source struct {
	imports []string // of every file of the project; nil: no code is known
	own     []string // of the program and of the project's modules it uses
	local   []string
	byFile  map[string][]string // name without folder and extension -> imports
}

// Bounds of the look at a project: enough for a student's folder, cheap for a
// large repository.
const (
	maxSourceFiles = 400
	maxSourceBytes = 1 << 20
)

// readSource looks at the program and the files beside it.
func (e *Engine) readSource(r *run) source {
	s, maven := source{byFile: map[string][]string{}}, heal.RunsMaven(r.argv)
	entry := importsOf("main"+r.call.Ext, []byte(r.call.Code))
	for _, arg := range union(r.argv, []string{r.call.File}) { // a compiler's command hides the file
		if text, err := readSmall(e.hostPath(arg)); err == nil {
			entry = append(entry, importsOf(arg, text)...)
		}
		entry = append(entry, importsOf("inline.py", inline(r.argv, arg, "-c"))...)
		entry = append(entry, importsOf("inline.js", inline(r.argv, arg, "-e"))...)
	}
	e.walkProject(func(rel string, text func() []byte) {
		name, list := stem(rel), importsOf(rel, text())
		s.local = append(s.local, name, topDir(rel))
		s.byFile[name] = append(s.byFile[name], list...)
		if whole(rel) && !r.compiled || maven && built(rel) {
			entry = append(entry, list...)
		}
	})
	s.own = e.foreign(s.reach(entry))
	s.imports = slices.Clone(s.own)
	for _, list := range s.byFile {
		s.imports = append(s.imports, list...)
	}
	s.imports, s.local = union(e.foreign(s.imports), nil), union(s.local, nil)
	return s
}

// whole says that a file belongs to the program without being named: Go and
// Rust build all files of a package, and Cargo.toml lists what it needs.
func whole(rel string) bool {
	return slices.Contains([]string{".go", ".rs"}, filepath.Ext(rel)) || filepath.Base(rel) == "Cargo.toml"
}

// built says that Maven reads a file although nobody names it.
func built(rel string) bool { return filepath.Ext(rel) == ".java" || filepath.Base(rel) == "pom.xml" }

// foreign leaves out packages of the user's own Go module.
func (e *Engine) foreign(imports []string) []string {
	mod, err := readSmall(filepath.Join(e.Project.Source, "go.mod"))
	own := modfile.ModulePath(mod)
	if err != nil || own == "" {
		return imports
	}
	return slices.DeleteFunc(imports, func(i string) bool { return i == own || strings.HasPrefix(i, own+"/") })
}

// importsOf reads the imports of one file, by its extension.
func importsOf(name string, text []byte) []string {
	switch filepath.Ext(name) {
	case ".py":
		return heal.PythonImports(text)
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx":
		return heal.NodeImports(text)
	case ".go":
		return heal.GoImports(text)
	case ".rs":
		return heal.RustImports(text)
	case ".java":
		return heal.JavaImports(text)
	}
	switch filepath.Base(name) {
	case "Cargo.toml":
		return install.CratesOf(string(text))
	case "pom.xml":
		return pom.Names(string(text))
	}
	return nil
}

// reach follows the imports of the program through the project's own modules.
func (s source) reach(entry []string) []string {
	seen := map[string]bool{}
	for queue := entry; len(queue) > 0; queue = queue[1:] {
		if module := queue[0]; !seen[module] {
			seen[module] = true
			for _, part := range strings.FieldsFunc(module, func(r rune) bool { return r == '.' || r == '/' }) {
				queue = append(queue, s.byFile[part]...)
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func stem(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }

// inline gives the program text that follows flag, when arg is that text.
func inline(argv []string, arg, flag string) []byte {
	if i := slices.Index(argv, flag); i >= 0 && i+1 < len(argv) && argv[i+1] == arg {
		return []byte(arg + "\n")
	}
	return nil
}

// hostPath is where the host has what a box sees as arg.
func (e *Engine) hostPath(arg string) string {
	if !filepath.IsAbs(arg) {
		arg = filepath.Join(e.Project.Dir, arg)
	}
	if rel, err := filepath.Rel(e.Project.Path, arg); err == nil && within(e.Project.Path, arg) {
		return filepath.Join(e.Project.Source, rel)
	}
	return arg
}

func topDir(rel string) string {
	top, _, ok := strings.Cut(filepath.ToSlash(rel), "/")
	if !ok {
		return ""
	}
	return top
}

// walkProject visits source files of the project, hidden and vendored folders
// left out.
func (e *Engine) walkProject(visit func(rel string, text func() []byte)) {
	count, bytes := 0, 0
	_ = filepath.WalkDir(e.Project.Source, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == e.Project.Source {
			return nil
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "site-packages", "__pycache__", "venv", "vendor", "target"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if count++; count > maxSourceFiles || bytes > maxSourceBytes {
			return fs.SkipAll
		}
		rel, _ := filepath.Rel(e.Project.Source, path)
		visit(rel, func() []byte {
			text, _ := readSmall(path)
			bytes += len(text)
			return text
		})
		return nil
	})
}

func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSourceBytes {
		return nil, os.ErrInvalid
	}
	return os.ReadFile(path)
}

// together adds to a remedy for one missing module the others that the code
// imports and the box lacks, so that they are installed at once.
func (e *Engine) together(ctx context.Context, r *run, d heal.Diagnosis, m heal.Remedy) heal.Remedy {
	compiled := m.Manager == "go" || m.Manager == "cargo" || m.Manager == "maven"
	if m.Action != "install" || !compiled && (d.Kind != "missing_module" || m.Manager != "pip" && m.Manager != "npm") {
		return m
	}
	if m.Manager == "maven" && slices.ContainsFunc(r.source.own, func(name string) bool { return strings.Contains(name, ":") }) {
		return m // what a project of Maven names may bring all that it imports
	}
	rules, err := e.Rules()
	if err != nil {
		return m
	}
	plan := func(have func(string) bool) heal.Remedy {
		all := m
		for _, more := range rules.Plan(d.Ecosystem, r.source.own, have, r.source.local, "") {
			if more.Action == "install" && more.Manager == m.Manager && e.trusted(more.Trust) {
				all.Packages = atVersions(union(all.Packages, more.Packages))
				all.Verify = union(all.Verify, more.Verify)
			}
		}
		return all
	}
	if most := plan(func(string) bool { return false }); len(most.Packages) <= len(m.Packages) {
		return m // the program imports nothing else that a package brings
	}
	if compiled { // the compiler takes what it needs, and more costs nothing
		return plan(func(string) bool { return false })
	}
	missing := e.absent(ctx, r, d.Ecosystem)
	return plan(func(module string) bool { return !missing[module] })
}

// atVersions leaves out the bare names of packages that are there at a version
// as well ("rand" beside "rand@0.8").
func atVersions(packages []string) []string {
	return slices.DeleteFunc(slices.Clone(packages), func(p string) bool {
		return slices.ContainsFunc(packages, func(o string) bool { return strings.HasPrefix(o, p+"@") })
	})
}

// programFile is the program that a call runs, on the host: its file, or the
// first argument of its command that is a file of the project with a name that
// says its language.
func (e *Engine) programFile(r *run) string {
	if r.call.File != "" {
		return e.hostPath(r.call.File)
	}
	if r.call.Code != "" || len(r.argv) == 0 {
		return ""
	}
	for _, arg := range r.argv[1:] {
		if path := e.hostPath(arg); filepath.Ext(arg) != "" && within(e.Project.Source, path) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path
			}
		}
	}
	return ""
}

// ownFile is the program as the user knows it, even when boxes see a copy.
func (e *Engine) ownFile(r *run) string {
	if r.file != "" && e.Project.File != "" {
		return e.Project.File
	}
	return r.file
}
