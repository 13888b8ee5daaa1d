package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/sandbox"
)

// pythonBase is where Python layers live inside a box. It is the interpreter's
// PYTHONUSERBASE, so that the packages come after the standard library, .pth
// files work, and nothing of the interpreter's own is replaced.
const pythonBase = "/kintsugi/python"

// python is what must be known of an interpreter to install for it.
type python struct {
	Executable string `json:"executable"`
	Version    string `json:"version"` // "3.11"
	ABI        string `json:"abi"`
	Platform   string `json:"platform"`
	Site       string `json:"site"` // user site-packages below pythonBase
	Venv       bool   `json:"venv"`
	Pip        bool   `json:"pip"`
}

const askPython = `import sys,site,json,sysconfig,importlib.util as u
print(json.dumps(dict(executable=sys.executable,version="%d.%d"%sys.version_info[:2],
abi=sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag,platform=sysconfig.get_platform(),
site=site.getusersitepackages(),venv=sys.prefix!=sys.base_prefix,pip=u.find_spec("pip") is not None)))`

// Python asks the interpreter that runs as argv0 in such a box what it is.
func (in *Installer) python(ctx context.Context, r Request) (python, error) {
	argv0 := r.Argv0
	if argv0 == "" {
		argv0 = "python3"
	}
	out, _, err := in.ask(ctx, sandbox.Spec{
		Argv: []string{argv0, "-c", askPython}, Dir: "/tmp", Layers: r.Layers, Workspace: r.Workspace,
		Env: sandbox.MergeEnv(r.Env, "PYTHONUSERBASE="+pythonBase),
	})
	if err != nil {
		return python{}, &Error{Manager: "pip", Reason: fmt.Sprintf("cannot ask %s what it is: %v", argv0, err)}
	}
	var p python
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		return python{}, &Error{Manager: "pip", Reason: argv0 + " gave no sensible answer about itself"}
	}
	return p, nil
}

// String tells apart the Pythons that cannot share a layer.
func (p python) String() string {
	kind := "system"
	if p.Venv {
		kind = "venv"
	}
	return strings.Join([]string{"python", p.Version, p.ABI, p.Platform, kind}, " ")
}

// shown lets a box find the packages of a layer.
func (p python) shown(l *Layer) {
	l.Path, l.Env = []string{p.Site + "/bin"}, []string{"PYTHONUSERBASE=" + pythonBase}
	if p.Venv { // a virtual environment has no user site
		l.Env = []string{"PYTHONPATH=" + p.Site}
	}
}

func (in *Installer) pip(ctx context.Context, r Request) (Layer, error) {
	var p python
	id := in.identify(r, argv0(r, "python3"))
	if id.load(&p) {
		if _, l, ok := in.find(&r, p.String(), in.FindLinks); ok {
			return l, nil
		}
	}
	p, err := in.python(ctx, r)
	if err != nil {
		return Layer{}, err
	}
	id.save(p)
	return in.made(r, p.String(), []string{in.FindLinks}, func(r Request, b *build, l *Layer) error {
		p.shown(l)
		var got fetched
		if err := in.runPip(ctx, r, p, b, &got); err != nil {
			return err
		}
		if err := in.verifyPython(ctx, r, *l, b); err != nil {
			return err
		}
		l.Versions, l.OwnCode = distInfo(filepath.Join(b.tree, p.Site)), in.Mirror != nil || p.Pip
		l.Artefacts = in.releases(ctx, "pip", installed(got.artefacts(), l.Versions))
		return nil
	})
}

func (in *Installer) runPip(ctx context.Context, r Request, p python, b *build, got *fetched) error {
	base := filepath.Join(b.tree, "kintsugi")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	spec, show, err := in.pythonClient(ctx, r, p, base)
	if errors.Is(err, errNoPip) && in.Mirror == nil {
		return in.unpack(ctx, r, p, spec.Mounts)
	}
	if err != nil {
		return err
	}
	if err := in.connect(ctx, r, &spec, filepath.Join(b.dir, "gateway"), got); err != nil {
		return err
	}
	spec.Argv = append(spec.Argv, r.Packages...)
	if err := in.run(ctx, "pip", spec, show, got); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(base, ".uv")); err != nil {
		return err
	}
	return in.compile(ctx, r, p, b, spec)
}

var errNoPip = errors.New("this Python has no pip")

// pythonClient is a box with the program that installs for p: uv, which is a
// few times faster; the interpreter's own pip; or a pip of the system's.
func (in *Installer) pythonClient(ctx context.Context, r Request, p python, base string) (sandbox.Spec, Request, error) {
	patience := uvPatience
	if !p.Pip {
		patience = in.limits().Wall
	}
	spec, show := pipSpec(p, base), pipProgress(r)
	uv := in.uv(ctx, p.Platform, patience)
	if uv != "" {
		spec, show = uvSpec(uv, p, base), uvProgress(r)
	}
	spec.Layers, spec.Workspace = r.Layers, r.Workspace
	spec.Env = sandbox.MergeEnv(r.Env, append(spec.Env, "PYTHONUSERBASE="+pythonBase)...)
	if in.FindLinks != "" {
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: in.FindLinks, Target: "/var/tmp/wheels"})
		spec.Argv = append(spec.Argv, "--find-links", "/var/tmp/wheels")
	}
	if in.Mirror == nil {
		spec.Argv = append(spec.Argv, "--no-index")
	}
	if uv != "" || p.Pip {
		return spec, show, nil
	}
	if in.Mirror == nil {
		return spec, show, errNoPip
	}
	layers, err := in.systemPip(ctx, r)
	if err != nil {
		return spec, show, &Error{Manager: "pip", Reason: "this Python has no pip, and none could be had: " + err.Error()}
	}
	spec.Layers = append(layers, spec.Layers...)
	spec.Env = sandbox.MergeEnv(spec.Env, "PYTHONPATH="+systemSite)
	return spec, show, in.Mirror.learnFrom(ctx, "pip", boxProber{in, r.Env, layers})
}

// systemSite is where the system's own Python packages are.
const systemSite = "/usr/lib/python3/dist-packages"

// systemPip gives the layers in which the system has a pip.
func (in *Installer) systemPip(ctx context.Context, r Request) ([]string, error) {
	look := sandbox.Spec{Argv: []string{"test", "-d", systemSite + "/pip"}, Dir: "/", Env: r.Env}
	if _, _, err := in.ask(ctx, look); err == nil {
		return nil, nil
	}
	l, err := in.apt(ctx, Request{Manager: "apt", Packages: []string{"python3-pip"}, Env: r.Env, Progress: r.Progress, Output: r.Output})
	return []string{l.Tree}, err
}

// boxProber asks a package manager that only a box has.
type boxProber struct {
	in     *Installer
	env    []string
	layers []string
}

// Run implements gateway.Prober.
func (p boxProber) Run(ctx context.Context, argv, env []string) (string, error) {
	for _, kv := range p.in.Mirror.Environ {
		if strings.HasPrefix(kv, "PIP_") {
			env = append(env, kv)
		}
	}
	out, _, err := p.in.ask(ctx, sandbox.Spec{Argv: argv, Dir: "/tmp", Env: sandbox.MergeEnv(p.env, env...), Layers: p.layers})
	return out, err
}

func pipSpec(p python, base string) sandbox.Spec {
	return sandbox.Spec{
		Argv: []string{
			p.Executable, "-m", "pip", "install", "--target", p.Site, "--only-binary", ":all:", "--no-input",
			"--no-cache-dir", "--no-compile", "--disable-pip-version-check", "--no-warn-script-location", "--progress-bar", "off",
		},
		Mounts: []sandbox.Mount{{Source: base, Target: "/kintsugi", Writable: true}},
		Env:    []string{"PIP_ROOT_USER_ACTION=ignore", "PYTHONNOUSERSITE="},
	}
}

// unpack lays plain wheels without pip: a wheel without compiled code and
// without scripts is a zip of what belongs into site-packages.
func (in *Installer) unpack(ctx context.Context, r Request, p python, mounts []sandbox.Mount) error {
	wheels, _ := filepath.Glob(filepath.Join(in.FindLinks, "*-none-any.whl"))
	for _, name := range r.Packages {
		want := strings.ReplaceAll(strings.ToLower(name), "-", "_") + "-"
		i := slices.IndexFunc(wheels, func(w string) bool { return strings.HasPrefix(strings.ToLower(filepath.Base(w)), want) })
		if i < 0 {
			return &Error{Manager: "pip", Reason: "this Python has no pip, and there is no plain wheel of " + name}
		}
		argv := []string{p.Executable, "-m", "zipfile", "-e", "/var/tmp/wheels/" + filepath.Base(wheels[i]), p.Site}
		res, out, err := in.box(ctx, sandbox.Spec{Argv: argv, Layers: r.Layers, Mounts: mounts, Workspace: r.Workspace, Env: r.Env}, r)
		if err != nil {
			return err
		}
		if res.ExitCode != 0 {
			return fail("pip", out, res)
		}
	}
	return nil
}

// pipProgress makes pip's lines short enough for a status line.
func pipProgress(r Request) Request {
	show := r.Progress
	r.Progress = func(line string) {
		for _, word := range []string{"Collecting", "Downloading", "Using cached", "Installing collected packages"} {
			if rest, ok := strings.CutPrefix(line, word); ok {
				show(strings.ToLower(word[:1]) + word[1:] + " " + lastElement(rest))
				return
			}
		}
	}
	return r
}

// lastElement drops the path or address in front of a file's name.
func lastElement(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(s, ":"))
	if name, size, ok := strings.Cut(s, " ("); ok {
		return name[strings.LastIndexByte(name, '/')+1:] + " (" + size
	}
	return s[strings.LastIndexByte(s, '/')+1:]
}

// verifyPython looks for the modules with the interpreter that will import
// them, without running them.
func (in *Installer) verifyPython(ctx context.Context, r Request, l Layer, b *build) error {
	if len(r.Verify) == 0 {
		return nil
	}
	const find = `import sys, importlib.util as u
def found(name):
    try: return u.find_spec(name) is not None
    except ImportError: return False
print(*[m for m in sys.argv[1:] if not found(m)])`
	out, _, err := in.ask(ctx, sandbox.Spec{
		Argv: append([]string{argv0(r, "python3"), "-c", find}, r.Verify...), Dir: "/tmp", Workspace: r.Workspace,
		Layers: append([]string{b.tree}, r.Layers...), Env: Apply(r.Env, l),
	})
	if err != nil {
		return &Error{Manager: "pip", Reason: "cannot check the installation: " + err.Error()}
	}
	if missing := strings.TrimSpace(out); missing != "" {
		return &Error{Manager: "pip", Reason: "installed, but Python still cannot find " + missing}
	}
	return nil
}

func argv0(r Request, def string) string {
	if r.Argv0 != "" {
		return r.Argv0
	}
	return def
}

// distInfo lists the distributions in a site directory: "pandas 2.3.3".
func distInfo(site string) []string {
	entries, _ := os.ReadDir(site)
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".dist-info"); ok {
			out = append(out, strings.Replace(name, "-", " ", 1))
		}
	}
	slices.Sort(out)
	return out
}

// Apply gives the environment of a box that has the layer.
func Apply(env []string, layers ...Layer) []string {
	for _, l := range layers {
		env = sandbox.MergeEnv(env, l.Env...)
		for _, dir := range l.Path {
			env = appendPath(env, dir)
		}
	}
	return env
}

func appendPath(env []string, dir string) []string {
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			if slices.Contains(strings.Split(path, ":"), dir) {
				return env
			}
			return sandbox.MergeEnv(env, kv+":"+dir)
		}
	}
	return append(env, "PATH="+dir)
}
