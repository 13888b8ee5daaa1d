package agent

import (
	"bytes"
	"context"
	"strings"
	"time"

	"kintsugi/sandbox"
)

// finders print the modules of their arguments that the interpreter cannot
// find, one a line, without running any of them.
var finders = map[string]struct{ argv0, flag, code string }{
	"python": {"python3", "-c", `import sys, importlib.util as u
def found(name):
    try: return u.find_spec(name) is not None
    except Exception: return False
print(*[m for m in sys.argv[1:] if not found(m)], sep="\n")`},
	"node": {"node", "-e", `for (const m of process.argv.slice(1)) {
  try { require.resolve(m, {paths: [process.cwd()]}) } catch (e) { if (e.code === "MODULE_NOT_FOUND") console.log(m) } }`},
}

// absent asks the box's own interpreter which of the code's imports it lacks.
func (e *Engine) absent(ctx context.Context, r *run, ecosystem string) map[string]bool {
	f, ok := finders[ecosystem]
	if !ok || len(r.source.own) == 0 {
		return nil
	}
	argv0 := interpreter(r, map[string]string{"python": "pip", "node": "npm"}[ecosystem])
	if argv0 == "" {
		argv0 = f.argv0
	}
	draft, err := e.Workspace.Begin()
	if err != nil {
		return nil
	}
	defer func() { _ = draft.Discard() }()
	var out bytes.Buffer
	spec := e.spec(append([]string{argv0, f.flag, f.code}, r.source.own...), draft)
	spec.Stdout, spec.Limits = &out, sandbox.Limits{Wall: 20 * time.Second}
	box, err := e.Runtime.Start(ctx, spec)
	if err != nil {
		return nil
	}
	if res, err := box.Wait(); err != nil || res.ExitCode != 0 {
		return nil
	}
	missing := map[string]bool{}
	for _, m := range strings.Fields(out.String()) {
		missing[m] = true
	}
	return missing
}
