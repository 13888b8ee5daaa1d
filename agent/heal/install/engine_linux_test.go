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

	"kintsugi/sandbox/docker"
)

// pythonImage is made by the test of this machine's own Python.
const pythonImage = "localhost/kintsugi-test/python:1"

// dockerHost is the Docker engine of the tests.
func dockerHost(t *testing.T) string {
	t.Helper()
	host := os.Getenv("KINTSUGI_TEST_DOCKER")
	if host == "" && os.Getenv("CI") != "" {
		t.Fatal("KINTSUGI_TEST_DOCKER names no Docker engine")
	}
	if host == "" {
		t.Skip("KINTSUGI_TEST_DOCKER names no Docker engine")
	}
	return host
}

// givePython gives the engine an image of the system's Python, the libraries
// that it loads, and a shell.
func givePython(t *testing.T, host string) {
	t.Helper()
	const script = `set -e
cd "$1"
mkdir -p tmp etc usr/bin usr/lib usr/lib64
chmod 1777 tmp
for d in bin lib lib64; do ln -s usr/$d $d; done
cp -r /usr/lib/python3 /usr/lib/python3.* usr/lib/
cp -L /etc/os-release etc/
for f in /usr/bin/python3 /bin/sh; do
  cp -L $f .$f
  ldd $f
done >libs
ldd usr/lib/python3.*/lib-dynload/*.so >>libs
grep -o '/[^ ]*\.so[^ ]*' libs | grep -v -e : -e lib-dynload | sort -u | while read -r f; do mkdir -p ".${f%/*}"; cp -L "$f" ".$f"; done
tar -c . | docker --host "$2" import - "$3"`
	out, err := exec.Command("sh", "-c", script, "sh", t.TempDir(), host, pythonImage).CombinedOutput()
	if err != nil {
		t.Fatalf("making an image of Python: %v\n%s", err, out)
	}
}

// TestInstallInContainers installs with pip in containers, from an index that
// only this machine has, and uses what it installed, with no network at all.
func TestInstallInContainers(t *testing.T) {
	host := dockerHost(t)
	givePython(t, host)
	keeper := filepath.Join(t.TempDir(), "keeper")
	build := exec.Command("go", "build", "-o", keeper, "kintsugi/sandbox/docker/keepermain")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	x := newIndex(t)
	x.wheel("pots", "1.0", 90*day, "glaze")
	x.wheel("glaze", "2.0", 90*day)
	rt := docker.New(docker.Options{Engine: docker.Docker, Host: host, Image: pythonImage, Keeper: keeper, StateDir: t.TempDir()})
	t.Cleanup(func() { rt.Close() })
	m := &Mirror{CacheDir: t.TempDir(), Environ: os.Environ(), Prober: x}
	t.Cleanup(m.Close)
	in := &Installer{Runtime: rt, Store: Store{Dir: t.TempDir()}, Mirror: m, Now: time.Now, WithoutUV: true}
	r := pots("pots")
	r.Verify, r.Output = []string{"pots"}, io.Discard
	l, err := in.Install(context.Background(), r)
	if err != nil || strings.Join(l.Versions, ",") != "glaze 2.0,pots 1.0" {
		t.Fatalf("%v, %v", l.Versions, err)
	}
	out, code := box(t, in, Apply(baseEnv(), l), []string{l.Tree}, "/usr/bin/python3", "-c", "import pots, glaze; print(pots.version, glaze.version)")
	if code != 0 || out != "1.0 2.0\n" {
		t.Errorf("exit %d, output %q", code, out)
	}
	if _, code := box(t, in, baseEnv(), nil, "/usr/bin/python3", "-c", "import pots"); code == 0 {
		t.Error("the module is there without the layer")
	}
}
