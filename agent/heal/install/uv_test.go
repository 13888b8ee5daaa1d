package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// uvOnce fetches uv once for all tests.
var uvOnce struct {
	sync.Once
	path, dir string
}

// TestMain removes what was fetched for all tests.
func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(uvOnce.dir)
	os.Exit(code)
}

// withUV gives the installer a uv that it finds on the PATH.
func withUV(t testing.TB, in *Installer) {
	t.Helper()
	uvOnce.Do(func() {
		dir, err := os.MkdirTemp("", "kintsugi-uv-")
		if err != nil {
			t.Fatal(err)
		}
		uvOnce.dir = dir
		m := &Mirror{CacheDir: filepath.Join(dir, "cache"), Environ: os.Environ()}
		defer m.Close()
		real := &Installer{Runtime: in.Runtime, Store: Store{Dir: filepath.Join(dir, "layers")}, Mirror: m, Now: time.Now}
		uvOnce.path = real.uv(context.Background(), "linux-x86_64", time.Minute)
	})
	if uvOnce.path == "" {
		t.Skip("no uv can be had here: neither on the PATH nor from the index")
	}
	in.Mirror.Environ = append([]string{}, in.Mirror.Environ...)
	for i, kv := range in.Mirror.Environ {
		if strings.HasPrefix(kv, "PATH=") {
			in.Mirror.Environ[i] = "PATH=" + filepath.Dir(uvOnce.path) + ":" + kv[len("PATH="):]
		}
	}
	if in.ownUV() == "" {
		t.Fatalf("%s is not found", uvOnce.path)
	}
}

// Both clients make the same layer.
func TestClientsAgree(t *testing.T) {
	t.Parallel()
	var trees [2]string
	for i := range trees {
		x := newIndex(t)
		x.wheel("pots", "1.0", 90*day, "glaze<2")
		x.wheel("glaze", "1.5", 90*day)
		x.wheel("glaze", "2.0", 90*day)
		in := x.installer(t)
		if in.WithoutUV = i == 0; i == 1 {
			withUV(t, in)
		}
		r := pots("pots")
		r.Verify = []string{"pots", "glaze"}
		var told []string
		r.Progress = func(text string) { told = append(told, text) }
		l, err := in.Install(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(l.Versions, ","); got != "glaze 1.5,pots 1.0" {
			t.Errorf("versions %s", got)
		}
		if all := strings.Join(told, "\n"); !strings.Contains(all, "downloading pots 1.0 (0.0") {
			t.Errorf("the user was told\n%s", all)
		}
		if len(l.Artefacts) == 0 || l.Artefacts[0].Hash == "" {
			t.Errorf("artefacts %+v", l.Artefacts)
		}
		trees[i] = listed(t, l.Tree)
	}
	if trees[0] != trees[1] {
		t.Errorf("pip left\n%s\nuv left\n%s", trees[0], trees[1])
	}
}

// listed names what a layer shows to programs: no file that tells about the
// installer, no list that the installers write differently.
func listed(t *testing.T, tree string) string {
	t.Helper()
	var out []string
	err := filepath.Walk(tree, func(path string, info os.FileInfo, err error) error {
		if name := info.Name(); err == nil && !info.IsDir() && name != "INSTALLER" && name != "REQUESTED" && name != ".lock" {
			rel, _ := filepath.Rel(tree, path)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

// What uv says went wrong is told in one line.
func TestUVTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	x := newIndex(t)
	x.wheel("pots", "1.0", 90*day, "glaze<2")
	x.wheel("pots", "2.0", day)
	in := x.installer(t)
	withUV(t, in)
	for packages, want := range map[string]string{
		"pots>=2": "left out for being too young: pots 2.0 (a day old)", "pots": "glaze", "mug": "the index has no mug",
	} {
		_, err := in.Install(context.Background(), pots(packages))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Reason, want) || strings.ContainsAny(e.Reason, "\n╰│×") {
			t.Errorf("%s: %v, want %q", packages, err, want)
		}
	}
}

// A Python that has no pip and nothing to make one from.
func TestPythonWithoutPip(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*Installer, *index){
		"with uv":    func(in *Installer, _ *index) { withUV(t, in) },
		"with apt's": func(in *Installer, _ *index) { in.WithoutUV = true },
		"host has none": func(in *Installer, x *index) {
			in.WithoutUV, in.Mirror.Prober = true, noPip{}
			in.Mirror.Environ = append(in.Mirror.Environ, "PIP_INDEX_URL="+x.URL+"/simple")
		},
	} {
		x := newIndex(t)
		x.wheel("pots", "1.0", 90*day)
		in := x.installer(t)
		arrange(in, x)
		dir := bareVenv(t, in)
		r := pots("pots")
		r.Argv0, r.Verify = filepath.Join(dir, "bin", "python"), []string{"pots"}
		r.Workspace.Path = dir
		l, err := in.Install(context.Background(), r)
		if err != nil || strings.Join(l.Versions, ",") != "pots 1.0" {
			t.Errorf("%s: %v, %v", name, l.Versions, err)
		}
	}
}

// noPip is a host that has no Python with pip.
type noPip struct{}

func (noPip) Run(context.Context, []string, []string) (string, error) {
	return "", errors.New("not found")
}

// bareVenv is a virtual environment without pip, whose Python has no ensurepip
// either.
func bareVenv(t *testing.T, in *Installer) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "venv")
	env := append(baseEnv(), "HOME=/tmp")
	if out, code := box(t, in, env, nil, "/usr/bin/python3", "-m", "venv", "--help"); code != 0 {
		t.Skipf("this Python makes no virtual environments: %s", out)
	}
	mustRun(t, "/usr/bin/python3", "-m", "venv", "--without-pip", dir)
	mask := "import sys\nsys.modules['ensurepip'] = None\n"
	site, _ := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages"))
	if len(site) != 1 {
		t.Fatalf("%v", site)
	}
	if err := os.WriteFile(filepath.Join(site[0], "sitecustomize.py"), []byte(mask), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
