package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/sandbox/inert"
)

// Preflight says when a program's imports are looked at before its first
// attempt, so that what is known to be missing is there from the start.
type Preflight string

// The settings. The zero value is PreflightOff.
const (
	PreflightOff  Preflight = ""
	PreflightAuto Preflight = "auto" // for what a person runs, where the look needs no box
	PreflightOn   Preflight = "on"   // for all calls, and a box is asked where files do not tell
)

// looksAhead says whether a call is looked at before it runs. A lesson shows
// how a program breaks and is mended, and so does a model's step; a person who
// runs a program wants it to work.
func (e *Engine) looksAhead(r *run) bool {
	switch {
	case r.call.NoHeal, r.locked, len(e.env.layers) > 0, r.call.Origin == "lesson":
		return false
	case e.Preflight == PreflightAuto:
		return r.call.Origin == "user"
	}
	return e.Preflight == PreflightOn
}

// preflight installs what the program imports, the box lacks and the policy
// lets through without a question. Whatever else is missing has to fail first.
func (e *Engine) preflight(ctx context.Context, r *run) error {
	ecosystem, manager := languageOf(r)
	if ecosystem == "" || !e.looksAhead(r) {
		return nil
	}
	s := e.readSource(r)
	r.source = &s
	if len(s.own) == 0 {
		return nil
	}
	names, err := e.names()
	if err != nil {
		return err
	}
	if len(names.Plan(ecosystem, s.own, func(string) bool { return false }, s.local, "")) == 0 {
		return nil // it imports nothing that a package brings
	}
	have, ok := e.present(ctx, r, ecosystem)
	if !ok || len(names.Plan(ecosystem, s.own, have, s.local, "")) == 0 {
		return nil
	}
	rules, err := e.Rules()
	if err != nil {
		return err
	}
	for i, m := range rules.Plan(ecosystem, s.own, have, s.local, "") {
		if m.Manager == manager && e.trusted(m.Trust) {
			if err := e.prepareAhead(ctx, r, m, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// names are what a plan needs to find anything.
func (e *Engine) names() (*heal.Rules, error) {
	if e.Names != nil {
		return e.Names(), nil
	}
	return e.Rules()
}

// prepareAhead carries out one remedy before anything failed. When it fails,
// the attempt tells what is wrong.
func (e *Engine) prepareAhead(ctx context.Context, r *run, m heal.Remedy, i int) error {
	m.Origin = "preflight"
	names := strings.Join(m.Packages, ", ")
	id, started := fmt.Sprintf("%d-preflight-%d", r.call.Step, i), e.Now()
	open := event.Remedy{
		Step: r.call.Step, Attempt: 1, ID: id, Action: m.Action, Manager: m.Manager, Packages: m.Packages, Origin: m.Origin,
		Title: "prepare " + names + " before the first attempt",
		Why:   inert.String("the program imports " + strings.Join(m.Verify, ", ") + ", which is not here: it would break; known names: " + names),
	}
	if err := e.log(open); err != nil {
		return err
	}
	end := e.carryOut(ctx, r, id, m)
	end.Step, end.ID, end.Took = r.call.Step, id, e.Now().Sub(started)
	r.ahead = r.ahead || end.OK
	r.tried[signature(m)] = true
	return e.log(end)
}

// languageOf is the ecosystem of what runs, and its manager, where a look ahead
// can tell anything: "" otherwise. The tools of Go and Rust may find packages
// in places of their own; a single file cannot.
func languageOf(r *run) (ecosystem, manager string) {
	if len(r.argv) == 0 {
		return "", ""
	}
	ext := filepath.Ext(r.call.File)
	if r.call.Code != "" {
		ext = r.call.Ext
	}
	switch name := filepath.Base(r.argv[0]); {
	case strings.HasPrefix(name, "python"):
		return "python", "pip"
	case name == "node":
		return "node", "npm"
	case name == "java" && ext == ".java":
		return "java", "maven"
	case r.compiled && ext == ".go":
		return "go", "go"
	case r.compiled && ext == ".rs":
		return "rust", "cargo"
	}
	return "", ""
}

// present tells which modules are there, by the host's files where boxes see
// those. ok is false when that cannot be told.
func (e *Engine) present(ctx context.Context, r *run, ecosystem string) (have func(string) bool, ok bool) {
	var dirs []string
	switch ecosystem {
	case "go": // a module lists what it needs, and may have it
		_, err := os.Stat(filepath.Join(e.Project.Source, "go.mod"))
		return func(string) bool { return false }, err != nil && e.lookPath("go")
	case "rust":
		return func(string) bool { return false }, e.lookPath("cargo") && e.lookPath("rustc")
	case "java": // a class path of the user's may have anything
		return func(string) bool { return false }, e.lookPath("mvn") && valueOf(e.Env, "CLASSPATH") == ""
	case "node":
		dirs = e.nodeDirs()
	case "python":
		dirs = pythonDirs(e.find(r.argv[0]))
	}
	if e.Runtime.Name() == "namespace" && len(dirs) > 0 {
		return func(module string) bool { return existsIn(dirs, module) }, true
	}
	if e.Preflight != PreflightOn {
		return nil, false
	}
	missing := e.absent(ctx, r, ecosystem)
	return func(module string) bool { return !missing[module] }, missing != nil
}

// valueOf is a variable of an environment.
func valueOf(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// existsIn looks for a module or package in folders of an interpreter.
func existsIn(dirs []string, module string) bool {
	name := filepath.FromSlash(module)
	if !strings.Contains(module, "/") {
		name = strings.ReplaceAll(module, ".", string(filepath.Separator))
	}
	for _, dir := range dirs {
		for _, path := range []string{filepath.Join(dir, filepath.FromSlash(module)), filepath.Join(dir, name)} {
			if found, _ := filepath.Glob(globbed(path) + "*"); slices.ContainsFunc(found, func(f string) bool {
				rest := strings.TrimPrefix(f, path)
				return rest == "" || strings.HasPrefix(rest, ".") && filepath.Ext(f) != ".dist-info"
			}) {
				return true
			}
		}
	}
	return false
}

// globbed takes a path literally.
func globbed(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// nodeDirs are where require looks from the program's folder, and where the
// system keeps its own.
func (e *Engine) nodeDirs() []string {
	dirs := []string{"/usr/share/nodejs", "/usr/lib/nodejs"}
	for at := e.hostPath("."); ; at = filepath.Dir(at) {
		dirs = append(dirs, filepath.Join(at, "node_modules"))
		if !within(e.Project.Source, at) || at == filepath.Dir(at) {
			return dirs
		}
	}
}

// pythonDirs are the package folders of a Python: nil when the file is not the
// program itself but a script that chooses one.
func pythonDirs(path string) []string {
	real, err := filepath.EvalSymlinks(path)
	if path == "" || err != nil || !strings.HasPrefix(filepath.Base(real), "python3.") {
		return nil
	}
	var dirs []string
	for _, prefix := range []string{filepath.Dir(filepath.Dir(path)), filepath.Dir(filepath.Dir(real))} {
		for _, lib := range []string{"lib", "local/lib"} {
			for _, site := range []string{"site-packages", "dist-packages"} {
				dirs = append(dirs, filepath.Join(prefix, lib, filepath.Base(real), site))
			}
		}
		dirs = append(dirs, filepath.Join(prefix, "lib/python3/dist-packages"))
	}
	return dirs
}
