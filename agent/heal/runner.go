package heal

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// runnerSpec is how a manifest says which programs it can run.
type runnerSpec struct {
	Name       string     `toml:"name"`
	Extensions []string   `toml:"extensions"`
	Files      []string   `toml:"files"`    // whole file names: Makefile
	Shebangs   []string   `toml:"shebangs"` // interpreters a first line may name
	Build      [][]string `toml:"build"`
	Run        [][]string `toml:"run"`
	// Flags is a variable whose words the build command gets as well: what a
	// layer knows about where packages are.
	Flags string `toml:"flags"`
	// Project marks the runner of a whole project by its file (Files), and
	// Sources the folder in it whose programs are run as a part of it.
	Project bool   `toml:"project"`
	Sources string `toml:"sources"`
}

// Runner is how to run a program file. Build (when the language compiles) and
// Run are alternatives, best first: take the first whose command exists. Their
// arguments may hold {file}, {dir}, {main} (Runner.Main),
// {top} (Runner.Top), {module} (its folder below that of the topmost file), {stem} (the file's name without its
// extension) and {out} (a path outside the project for what is built).
type Runner struct {
	Ecosystem string
	Name      string // for people: "Python"
	Why       string // what told: "extension .py", "first line", "file name"
	Build     [][]string
	Run       [][]string
	Project   bool   // it runs the whole project that File stands for
	Main      string // the program of the project, by the dotted name of its file; "": the only one
	Top       string // the topmost project file above it, when that is another one
	Flags     string // a variable whose words go behind the build command
}

// Runner picks the runner for a file by its first line, its whole name or its
// extension.
func (r *Rules) Runner(file, firstLine string) (Runner, bool) {
	interpreter := shebang(firstLine)
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	ext := path.Ext(base)
	for _, by := range []struct {
		why  string
		fits func(*runnerSpec) bool
	}{
		{"first line", func(s *runnerSpec) bool { return interpreter != "" && slices.Contains(s.Shebangs, interpreter) }},
		{"file name", func(s *runnerSpec) bool { return slices.Contains(s.Files, base) }},
		{"extension " + ext, func(s *runnerSpec) bool { return ext != "" && slices.Contains(s.Extensions, ext) }},
		{"extension " + ext, func(s *runnerSpec) bool { return slices.Contains(s.Extensions, strings.ToLower(ext)) && ext != "" }},
	} {
		if run, ok := r.runnerThat(by.why, by.fits); ok {
			return run, true
		}
	}
	return Runner{}, false
}

func (r *Rules) runnerThat(why string, fits func(*runnerSpec) bool) (Runner, bool) {
	for _, m := range slices.Backward(r.manifests) {
		for i := range m.Runners {
			if s := &m.Runners[i]; fits(s) {
				name := s.Name
				if name == "" {
					name = m.Title
				}
				return Runner{Ecosystem: m.Ecosystem, Name: name, Why: why, Build: s.Build, Run: s.Run, Flags: s.Flags, Project: s.Project}, true
			}
		}
	}
	return Runner{}, false
}

// ProjectFile names the file that stands for the project in a folder, of those
// that has says are there.
func (r *Rules) ProjectFile(has func(name string) bool) (string, bool) {
	for _, m := range r.manifests {
		for _, s := range m.Runners {
			if i := slices.IndexFunc(s.Files, has); s.Project && i >= 0 {
				return s.Files[i], true
			}
		}
	}
	return "", false
}

// PartOf finds the project that a program is a part of, by the folder that it
// lies in: the project's file, and how to run this program of it.
func (r *Rules) PartOf(file string, has func(path string) bool) (project string, run Runner, ok bool) {
	file = strings.ReplaceAll(file, `\`, "/")
	for _, m := range r.manifests {
		for _, s := range m.Runners {
			top, rest, in := strings.Cut("/"+file, "/"+s.Sources+"/")
			if s.Sources == "" || !in || !slices.Contains(m.extensions(), path.Ext(file)) {
				continue
			}
			if project = path.Join(strings.TrimPrefix(top, "/"), s.Files[0]); strings.HasPrefix(file, "/") {
				project = path.Join(top, s.Files[0])
			}
			if run, ok = r.Runner(project, ""); ok && has(project) {
				run.Top = topmost(project, has)
				run.Main = strings.ReplaceAll(strings.TrimSuffix(rest, path.Ext(rest)), "/", ".")
				return project, run, true
			}
		}
	}
	return "", Runner{}, false
}

// topmost is the project file of the same name in the highest folder above, as
// long as each on the way has one.
func topmost(file string, has func(path string) bool) string {
	for {
		dir := path.Dir(path.Dir(file))
		up := path.Join(dir, path.Base(file))
		if up == file || path.Dir(file) == "." || !has(up) {
			return file
		}
		file = up
	}
}

// shebang is the interpreter that a first line names, without its folder and
// its version: "#!/usr/bin/env -S python3.11 -u" gives python3.
func shebang(line string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#!")
	if !ok {
		return ""
	}
	for _, word := range strings.Fields(rest) {
		base := path.Base(word)
		if base == "env" || strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		base, _, _ = strings.Cut(base, ".")
		return base
	}
	return ""
}

// Commands fills a runner's alternatives for one file: the build command (nil
// when there is nothing to build) and the run command with the program's
// arguments, each the first whose program exists. When none exists, missing
// is the name to look for.
func (run Runner) Commands(file, out string, args []string, exists func(string) bool) (build, argv []string, missing string) {
	vars := map[string]string{
		"main": run.Main, "top": cmp.Or(run.Top, file), "module": module(run.Top, file), "file": file, "out": out, "dir": path.Dir(file),
		"stem": strings.TrimSuffix(path.Base(file), path.Ext(file)),
	}
	if len(run.Build) > 0 {
		if build = firstThat(run.Build, vars, exists); build == nil {
			return nil, nil, run.Build[0][0]
		}
	}
	argv = firstThat(run.Run, vars, exists)
	if argv == nil {
		return nil, nil, run.Run[0][0]
	}
	return build, append(argv, args...), ""
}

// module is the folder of a project file below the topmost one's.
func module(top, file string) string {
	if top == "" || top == file {
		return "."
	}
	return strings.TrimPrefix(strings.TrimPrefix(path.Dir(file), path.Dir(top)), "/")
}

func firstThat(alternatives [][]string, vars map[string]string, exists func(string) bool) []string {
	for _, alt := range alternatives {
		argv := expandEach(alt, vars)
		if alt[0] == "{out}" || exists(argv[0]) {
			return argv
		}
	}
	return nil
}
