package agent

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/agent/heal"
)

// source is what the user's own code says: the modules it imports and the
// names that are files of the project.
type source struct {
	imports []string // nil: the code is not known
	local   []string
}

// Bounds of the look at a project: enough for a student's folder, cheap for a
// large repository.
const (
	maxSourceFiles = 400
	maxSourceBytes = 1 << 20
)

// readSource looks at the program and the files beside it.
func (e *Engine) readSource(r *run) source {
	var s source
	add := func(name string, text []byte) {
		switch filepath.Ext(name) {
		case ".py":
			s.imports = append(s.imports, heal.PythonImports(text)...)
		case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx":
			s.imports = append(s.imports, heal.NodeImports(text)...)
		}
	}
	if r.call.Code != "" {
		add("main"+r.call.Ext, []byte(r.call.Code))
	}
	for _, arg := range r.argv {
		if text, err := readSmall(e.hostPath(arg)); err == nil {
			add(arg, text)
		}
		add("inline.py", []byte(inline(r.argv, arg, "-c")))
		add("inline.js", []byte(inline(r.argv, arg, "-e")))
	}
	e.walkProject(func(rel string, text func() []byte) {
		s.local = append(s.local, strings.TrimSuffix(filepath.Base(rel), filepath.Ext(rel)), topDir(rel))
		add(rel, text())
	})
	slices.Sort(s.imports)
	s.imports = slices.Compact(s.imports)
	slices.Sort(s.local)
	s.local = slices.Compact(s.local)
	return s
}

// inline gives the program text that follows flag, when arg is that text.
func inline(argv []string, arg, flag string) string {
	if i := slices.Index(argv, flag); i >= 0 && i+1 < len(argv) && argv[i+1] == arg {
		return arg + "\n"
	}
	return ""
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
	if m.Action != "install" || d.Kind != "missing_module" || (m.Manager != "pip" && m.Manager != "npm") {
		return m
	}
	rules, err := e.Rules()
	if err != nil {
		return m
	}
	missing := e.absent(ctx, r, d.Ecosystem)
	for _, more := range rules.Plan(d.Ecosystem, r.source.imports, func(module string) bool { return !missing[module] }, r.source.local, "") {
		if more.Action == "install" && more.Manager == m.Manager && (more.Trust == heal.Known || more.Trust == heal.Listed && !e.OnlyKnown) {
			m.Packages = union(m.Packages, more.Packages)
			m.Verify = union(m.Verify, more.Verify)
		}
	}
	return m
}
