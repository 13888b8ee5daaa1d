package agent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/agent/heal/install"
	"kintsugi/sandbox"
)

// Memory remembers which packages a program needed, so that its next run has
// them from the first attempt. It holds names only; the layers are in the
// install.Store, and a forgotten layer is simply not used.
type Memory struct{ Dir string }

// needs is one remembered program.
type needs struct {
	Layers []string            `json:"layers"`
	Pack   map[string][]string `json:"packages"`
	Verify map[string][]string `json:"verify,omitempty"`
	Env    []string            `json:"env,omitempty"`
}

func (m *Memory) file(project string, argv []string) string {
	return filepath.Join(m.Dir, install.Key(append([]string{project}, head(argv, 4)...)...)+".json")
}

// head leaves out arguments that are the program's own data.
func head(argv []string, n int) []string { return argv[:min(n, len(argv))] }

// recall lays the layers that this program needed before, when they are there.
func (e *Engine) recall(_ context.Context, r *run) {
	if e.Memory == nil || r.call.NoHeal || r.locked || len(e.env.layers) > 0 {
		return
	}
	data, err := os.ReadFile(e.Memory.file(e.memoryPlace(), r.program()))
	var n needs
	if err != nil || json.Unmarshal(data, &n) != nil {
		return
	}
	for _, key := range n.Layers {
		if l, ok := e.Installer.Find(key); ok {
			e.env.have(l.Manager, n.Pack[l.Manager], n.Verify[l.Manager], l)
		}
	}
	e.env.vars = append(e.env.vars, n.Env...)
}

// memoryPlace is the project, and the image when boxes see one: what is missing
// there is another matter.
func (e *Engine) memoryPlace() string {
	if root := sandbox.RootOf(e.Runtime); root != "" {
		return e.Project.Path + "\x00" + root
	}
	return e.Project.Path
}

// program identifies what runs: the file, or the whole command.
func (r *run) program() []string {
	if r.call.File != "" {
		return []string{r.call.File}
	}
	if r.call.Code != "" {
		return []string{r.call.Ext, r.call.Code}
	}
	return r.argv
}

// remember keeps what a healed run needed. Failing to is no failure of the run.
func (e *Engine) remember(r *run) {
	if e.Memory == nil || len(r.healed) == 0 && !r.ahead {
		return
	}
	n := needs{Layers: e.env.keys(), Pack: e.env.packages, Verify: e.env.verify, Env: e.env.vars}
	data, err := json.Marshal(n)
	if err != nil || os.MkdirAll(e.Memory.Dir, 0o700) != nil {
		return
	}
	file := e.Memory.file(e.memoryPlace(), r.program())
	tmp := file + ".new"
	if os.WriteFile(tmp, data, 0o600) == nil {
		_ = os.Rename(tmp, file)
	}
}

// Files are what is remembered, one for each program.
func (m *Memory) Files() []string {
	files, _ := filepath.Glob(filepath.Join(m.Dir, "*.json"))
	return files
}

// Forget drops the programs none of whose layers exist any more.
func (m *Memory) Forget(exists func(layer string) bool) {
	for _, file := range m.Files() {
		var n needs
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &n) == nil && (len(n.Layers) == 0 || slices.ContainsFunc(n.Layers, exists)) {
			continue
		}
		_ = os.Remove(file)
	}
}

// Reused lists the versions that layers recalled from earlier runs bring.
func (e *Engine) Reused() []string {
	var out []string
	for _, l := range e.env.layers {
		out = append(out, strings.Join(l.Packages, ", "))
	}
	return out
}
