package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kintsugi/agent"
	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/sandbox"
)

// warmOptions are the flags of kintsugi cache warm.
type warmOptions struct {
	box     boxOptions
	manager string
	from    []string
}

func newCacheWarm() *cobra.Command {
	var o warmOptions
	cmd := &cobra.Command{
		Use:   "warm [NAME...]",
		Short: "Fetch packages now, for a class or a flight without a network",
		Long: `Fetches packages and all that they need into the cache, by installing them into
a box that is thrown away. Programs that need them are then mended with
--offline, and on a slow line at once.

The names pass the same gate as any other: slips of known names are refused.`,
		Example: `  kintsugi cache warm pandas matplotlib
  kintsugi cache warm --manager apt graphviz ffmpeg
  kintsugi cache warm --from requirements.txt --from lesson.py`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), cmd.OutOrStdout(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.manager, "manager", "pip", "whose packages the names are: pip, npm, apt, go, cargo, maven")
	f.StringArrayVar(&o.from, "from", nil, "take the names from requirements.txt, package.json, or the imports of a program (.py, .js, .go, .rs, .java)")
	f.StringSliceVar(&o.box.allow, "allow", nil, "package names that may be fetched although no list knows them")
	f.IntVar(&o.box.cooldown, "cooldown", 7, "leave out releases younger than this many days, where the index tells (0: take any)")
	f.StringSliceVar(&o.box.exempt, "cooldown-exempt", nil, "package names whose releases may be of any age")
	f.StringVar(&o.box.runtime, "runtime", "auto", "what makes the boxes: auto, namespace")
	return cmd
}

// warmer fills the cache.
type warmer struct {
	engine    *agent.Engine
	installer *install.Installer
	out       io.Writer
}

func (o warmOptions) run(ctx context.Context, out io.Writer, names []string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if !slices.Contains([]string{"pip", "npm", "apt", "go", "cargo", "maven"}, o.manager) {
		return fmt.Errorf("--manager %s: want pip, npm, apt, go, cargo or maven", o.manager)
	}
	p, err := findPlaces()
	if err != nil {
		return err
	}
	rules := loadRules(p)
	want, err := o.wanted(names, rules)
	if err != nil {
		return err
	}
	if len(want) == 0 {
		return errors.New("nothing to fetch: name packages, or a file with --from")
	}
	rt, err := chooseRuntime(ctx, o.box)
	if err != nil {
		return err
	}
	w := &warmer{
		engine: agent.NewEngine(agent.Config{Rules: rules, Allowed: o.box.allow}), out: out,
		installer: newInstaller(rt, p, o.box, nil),
	}
	defer w.installer.Mirror.Close()
	for _, manager := range slices.Sorted(maps.Keys(want)) {
		err = errors.Join(err, w.warm(ctx, manager, want[manager]))
	}
	if err != nil {
		return exitError{1, err}
	}
	return nil
}

// wanted gathers names by manager.
func (o warmOptions) wanted(names []string, rules func() (*heal.Rules, error)) (map[string][]string, error) {
	want := map[string][]string{}
	if len(names) > 0 {
		want[o.manager] = names
	}
	for _, file := range o.from {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		more, err := namesIn(file, data, rules)
		if err != nil {
			return nil, fmt.Errorf("--from %s: %w", file, err)
		}
		for manager, list := range more {
			want[manager] = append(want[manager], list...)
		}
	}
	for m := range want {
		slices.Sort(want[m])
		want[m] = slices.Compact(want[m])
	}
	return want, nil
}

// namesIn reads the names of packages in a file, by what kind it is.
func namesIn(file string, data []byte, rules func() (*heal.Rules, error)) (map[string][]string, error) {
	var ecosystem string
	var imports []string
	switch ext := filepath.Ext(file); {
	case filepath.Base(file) == "package.json":
		return namesInPackageJSON(data)
	case ext == ".txt" || ext == ".in":
		return map[string][]string{"pip": namesInRequirements(string(data))}, nil
	case ext == ".py":
		ecosystem, imports = "python", heal.PythonImports(data)
	case slices.Contains([]string{".js", ".mjs", ".cjs", ".ts"}, ext):
		ecosystem, imports = "node", heal.NodeImports(data)
	case ext == ".go":
		ecosystem, imports = "go", heal.GoImports(data)
	case ext == ".rs":
		ecosystem, imports = "rust", heal.RustImports(data)
	case ext == ".java":
		ecosystem, imports = "java", heal.JavaImports(data)
	default:
		return nil, errors.New("want requirements.txt, package.json or a program in Python, JavaScript, Go, Rust or Java")
	}
	r, err := rules()
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, m := range r.Plan(ecosystem, imports, func(string) bool { return false }, nil, "") {
		out[m.Manager] = append(out[m.Manager], m.Packages...)
	}
	return out, nil
}

// namesInRequirements reads the lines that name a package; options and hashes
// are none of ours.
func namesInRequirements(text string) []string {
	var out []string
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, "#")
		line, _, _ = strings.Cut(line, " --")
		if line = strings.TrimSpace(line); line != "" && line[0] != '-' {
			out = append(out, line)
		}
	}
	return out
}

func namesInPackageJSON(data []byte) (map[string][]string, error) {
	var p struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, errors.New("it is no package.json: " + firstLineOf(err.Error()))
	}
	var out []string
	for _, deps := range []map[string]string{p.Dependencies, p.DevDependencies} {
		for name, version := range deps {
			if strings.ContainsAny(version, " |:/") || version == "" { // a range that only npm can read; the newest will do
				out = append(out, name)
				continue
			}
			out = append(out, name+"@"+version)
		}
	}
	return map[string][]string{"npm": out}, nil
}

func firstLineOf(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// warm fetches what one manager brings: all together, as one program would
// need it, or one by one when they do not go together.
func (w *warmer) warm(ctx context.Context, manager string, names []string) error {
	var failed []error
	var good []string
	for _, n := range names {
		if err := w.engine.MayInstall(manager, n); err != nil {
			failed = append(failed, err)
			continue
		}
		good = append(good, n)
	}
	if len(good) == 0 {
		return errors.Join(failed...)
	}
	err := w.fetch(ctx, manager, good)
	if err == nil || len(good) == 1 || ctx.Err() != nil {
		return errors.Join(append(failed, err)...)
	}
	for _, n := range good {
		if err := w.fetch(ctx, manager, []string{n}); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func (w *warmer) fetch(ctx context.Context, manager string, names []string) error {
	p := &printer{out: os.Stderr, terminal: isTerminal(os.Stderr), colour: colourWanted(os.Stderr)}
	l, err := w.installer.Warm(ctx, install.Request{
		Manager: manager, Packages: names, Env: sandbox.BaseEnv(os.Environ()),
		Progress: func(text string) { p.rewrite(text) },
	})
	p.clear()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(names, ", "), err)
	}
	fmt.Fprintf(w.out, "%s: %s (%s in the cache)\n", manager, strings.Join(names, ", "), count(len(l.Versions), "release"))
	return nil
}
