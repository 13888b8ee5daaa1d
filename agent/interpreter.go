package agent

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kintsugi/sandbox"
)

// shimDir is where boxes see the interpreters that an environment chose, first
// on their PATH.
const shimDir = "/kintsugi-env"

// interpreters is where versions of an interpreter are kept on a machine,
// below the home folder or at the root, and what stands beside each.
var interpreters = map[string]struct {
	globs []string
	names []string // found beside the program, shown under these names
}{
	"python": {
		[]string{
			"~/.pyenv/versions/VERSION*/bin/python3", "~/.local/share/uv/python/cpython-VERSION*/bin/python3",
			"/opt/python/VERSION*/bin/python3", "/usr/local/bin/pythonVERSION", "/usr/bin/pythonVERSION",
		}, []string{"python3", "python"},
	},
	"node": {
		[]string{
			"~/.nvm/versions/node/vVERSION*/bin/node", "~/.local/share/fnm/node-versions/vVERSION*/installation/bin/node",
			"~/.volta/tools/image/node/VERSION*/bin/node", "/opt/node-vVERSION*/bin/node",
		}, []string{"node", "npm", "npx"},
	},
}

// UseInterpreter makes a version of "python" or "node" the one that boxes run:
// one that this machine has, wherever version managers keep theirs, else a
// package of the system. The answer is false, with the reason, when it is not
// to be had.
func (e *Engine) UseInterpreter(ctx context.Context, step int, language, version string) (bool, string, error) {
	kind, known := interpreters[language]
	if !known {
		return false, language + " has no versions to choose from", nil
	}
	if e.runs(ctx, kind.names[0], version) {
		return true, "", nil
	}
	for _, path := range e.candidates(kind.globs, version) {
		undo := e.shim(path, kind.names)
		if e.runs(ctx, kind.names[0], version) {
			return true, "", nil
		}
		undo()
	}
	if language == "python" {
		p, err := e.Provide(ctx, Wish{Step: step, Manager: "apt", Packages: []string{"python" + version}, Origin: "environment", Sure: true})
		if err != nil {
			return false, "", err
		}
		if undo := e.shim("/usr/bin/python"+version, kind.names); p.OK {
			if e.runs(ctx, kind.names[0], version) {
				return true, "", nil
			}
			undo()
		}
	}
	return false, fmt.Sprintf("%s %s is neither on this machine nor among the system's packages; make it available (for example: uv python install, pyenv, nvm), or use a runtime with images", language, version), nil
}

// candidates are the programs on this machine that may be the version, newest
// first.
func (e *Engine) candidates(globs []string, version string) []string {
	if sandbox.RootOf(e.Runtime) != "" {
		return nil // boxes do not see this machine's programs
	}
	home := ""
	for _, kv := range e.Env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = v
		}
	}
	var out []string
	for _, g := range globs {
		g = strings.ReplaceAll(g, "VERSION", version)
		if rest, below := strings.CutPrefix(g, "~/"); below {
			g = filepath.Join(home, rest)
		}
		found, _ := filepath.Glob(g)
		slices.Reverse(found)
		out = append(out, found...)
	}
	return out
}

// shim shows the interpreter at path, and the folder that it lives in, to
// boxes under its plain names. undo takes it back.
func (e *Engine) shim(path string, names []string) (undo func()) {
	env, mounts, hide := e.Env, e.Project.Mounts, func() {}
	undo = func() {
		e.Env, e.Project.Mounts = env, mounts
		hide()
	}
	dir := filepath.Join(e.SideDir, "interpreters", names[0])
	if err := os.RemoveAll(dir); err != nil {
		return undo
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return undo
	}
	for i, name := range names {
		target := filepath.Join(filepath.Dir(path), name)
		if i == 0 || names[0] == "python3" {
			target = path
		}
		_ = os.Symlink(target, filepath.Join(dir, name))
	}
	show := []sandbox.Mount{{Source: dir, Target: shimDir + "/" + names[0]}}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if top := filepath.Dir(filepath.Dir(real)); top != "/usr" && top != "/usr/local" && top != "/" {
			show = append(show, sandbox.Mount{Source: top, Target: top})
		}
	}
	e.Project.Mounts = append(slices.Clone(mounts), show...)
	hide = e.Installer.Show(show)
	e.Env = sandbox.MergeEnv(env, "PATH="+shimDir+"/"+names[0]+":"+pathOf(env))
	return undo
}

func pathOf(env []string) string {
	return cmp.Or(valueOf(env, "PATH"), "/usr/local/bin:/usr/bin:/bin")
}

// runs asks in a box whether the program that is found first has the version.
func (e *Engine) runs(ctx context.Context, program, version string) bool {
	draft, err := e.Workspace.Begin()
	if err != nil {
		return false
	}
	defer func() { _ = draft.Discard() }()
	var out bytes.Buffer
	spec := e.spec([]string{program, "--version"}, draft)
	spec.Stdout, spec.Limits.Wall, spec.Limits.Output = &out, 10*time.Second, 4096
	box, err := e.Runtime.Start(ctx, spec)
	if err != nil {
		return false
	}
	if res, err := box.Wait(); err != nil || res.ExitCode != 0 {
		return false
	}
	has := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(out.String()), "Python "), "v")
	return has == version || strings.HasPrefix(has, version+".")
}
