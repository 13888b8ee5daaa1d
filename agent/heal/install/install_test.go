package install

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kintsugi/sandbox"
)

// box runs a command with layers and without network, and gives its output.
func box(t *testing.T, in *Installer, env []string, layers []string, argv ...string) (string, int) {
	t.Helper()
	var out strings.Builder
	b, err := in.Runtime.Start(context.Background(), sandbox.Spec{
		Argv: argv, Env: env, Dir: "/tmp", Layers: layers, Stdout: &out, Stderr: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), res.ExitCode
}

func baseEnv() []string {
	return sandbox.BaseEnv(os.Environ(), "PATH=/usr/local/bin:/usr/bin:/bin")
}

func TestInstallPip(t *testing.T) {
	in := realInstaller(t)
	r := Request{Manager: "pip", Packages: []string{"inflect"}, Argv0: "/usr/bin/python3", Env: baseEnv(), Verify: []string{"inflect"}}
	l, err := in.Install(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	out, code := box(t, in, Apply(baseEnv(), l), []string{l.Tree}, "/usr/bin/python3", "-c", "import inflect; print(inflect.engine().plural('pot'))")
	if code != 0 || out != "pots\n" {
		t.Fatalf("exit %d, output %q", code, out)
	}
	if _, code := box(t, in, baseEnv(), nil, "/usr/bin/python3", "-c", "import inflect"); code == 0 {
		t.Fatal("the module is there without the layer")
	}
	again, err := in.Install(context.Background(), r)
	if err != nil || !again.Reused || again.Key != l.Key || again.Versions[0] == "" {
		t.Fatalf("second install: %+v, %v", again, err)
	}
}

func TestInstallPipTellsWhatWentWrong(t *testing.T) {
	in := realInstaller(t)
	in.Mirror = nil
	_, err := in.Install(context.Background(), Request{Manager: "pip", Packages: []string{"inflect"}, Argv0: "/usr/bin/python3", Env: baseEnv()})
	if err == nil || !strings.Contains(err.Error(), "inflect") {
		t.Fatalf("error %v, want one that names the package", err)
	}
	left, _ := os.ReadDir(in.Store.Dir)
	for _, e := range left {
		if e.Name() != "shared" {
			t.Errorf("a failed installation left %s", e.Name())
		}
	}
}

func TestInstallNpm(t *testing.T) {
	in := realInstaller(t)
	r := Request{Manager: "npm", Packages: []string{"is-number"}, Env: baseEnv(), Verify: []string{"is-number"}}
	l, err := in.Install(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	out, code := box(t, in, Apply(baseEnv(), l), []string{l.Tree}, "node", "-p", "require('is-number')(5)")
	if code != 0 || out != "true\n" {
		t.Fatalf("exit %d, output %q", code, out)
	}
	out, code = box(t, in, Apply(baseEnv(), l), []string{l.Tree}, "node", "--input-type=module", "-e", "import n from 'is-number'; console.log(n('x'))")
	if code != 0 || out != "false\n" {
		t.Fatalf("import: exit %d, output %q", code, out)
	}
}

func TestInstallApt(t *testing.T) {
	in := realInstaller(t)
	r := Request{Manager: "apt", Packages: []string{"graphviz"}, Env: baseEnv(), Verify: []string{"dot"}}
	l, err := in.Install(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	out, code := box(t, in, Apply(baseEnv(), l), []string{l.Tree}, "sh", "-c", "echo 'digraph {a->b}' | dot -Tsvg")
	if code != 0 || !strings.Contains(out, "</svg>") {
		t.Fatalf("exit %d, output %q", code, out)
	}
	for _, dir := range []string{"bin", "lib"} {
		if _, err := os.Lstat(filepath.Join(l.Tree, dir)); err == nil {
			t.Errorf("the layer has a top-level %s that would hide the host's link", dir)
		}
	}
}

// realInstaller installs for real: in boxes, from the indexes that the
// machine's package managers know.
func realInstaller(t *testing.T) *Installer {
	t.Helper()
	t.Parallel()
	return &Installer{Runtime: realRuntime(t), Store: Store{Dir: t.TempDir()}, Mirror: realMirror(t), Now: time.Now}
}

// realMirror is a gateway to the indexes that this machine's managers know.
func realMirror(t *testing.T) *Mirror {
	m := &Mirror{CacheDir: t.TempDir(), Environ: os.Environ()}
	t.Cleanup(m.Close)
	return m
}

// mustRun runs a command on this machine.
func mustRun(t testing.TB, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}
func TestInstallAptLinksAlternatives(t *testing.T) {
	in := realInstaller(t)
	l, err := in.Install(context.Background(), Request{Manager: "apt", Packages: []string{"figlet"}, Env: baseEnv(), Verify: []string{"figlet"}})
	if err != nil {
		t.Fatal(err)
	}
	out, code := box(t, in, Apply(baseEnv(), l), []string{l.Tree}, "figlet", "-f", "small", "gold")
	if code != 0 || len(strings.Split(out, "\n")) < 4 {
		t.Fatalf("exit %d, output %q", code, out)
	}
}
