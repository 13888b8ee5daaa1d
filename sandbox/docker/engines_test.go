package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"

	"kintsugi/sandbox"
)

// hostEnv names the engine that the tests use.
const hostEnv = "KINTSUGI_TEST_DOCKER"

// secondEnv names a second engine, for tests of several machines.
const secondEnv = "KINTSUGI_TEST_DOCKER_SECOND"

// testImage is made by the tests: a static busybox under all its names.
const testImage = "localhost/kintsugi-test/busybox:1"

// dockerHost is where the tests' engine answers.
func dockerHost() string { return os.Getenv(hostEnv) }

func freshDocker(state string) (sandbox.Runtime, error) {
	return New(Options{Engine: Docker, Host: dockerHost(), Image: testImage, StateDir: state}), nil
}

// needDocker skips where there is no engine, except in CI, which has one.
func needDocker(t *testing.T) {
	t.Helper()
	if dockerHost() == "" {
		missing(t, hostEnv+" names no Docker engine for the tests")
	}
}

func needPodman(t *testing.T) {
	t.Helper()
	if !installed(Podman) {
		missing(t, "Podman is not installed")
	}
	if os.Geteuid() != 0 {
		t.Skip("the tests' Podman is root's")
	}
}

// needNodes gives the addresses of two engines.
func needNodes(t *testing.T) []string {
	t.Helper()
	needDocker(t)
	second := os.Getenv(secondEnv)
	if second == "" {
		missing(t, secondEnv+" names no second Docker engine for the tests")
	}
	return []string{dockerHost(), second}
}

func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// giveImage makes the tests' image in an engine.
func giveImage(t *testing.T, rt *Runtime) {
	t.Helper()
	api, err := rt.api()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.ImageInspect(context.Background(), testImage); err == nil {
		return
	}
	body, err := api.ImageImport(context.Background(), image.ImportSource{Source: busyboxRoot(t), SourceName: "-"}, testImage, image.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatal(err)
	}
}

// busyboxRoot is a whole root file system.
func busyboxRoot(t *testing.T) io.Reader {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		missing(t, "busybox is not installed")
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names, err := exec.Command(path, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	put := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"bin/", "etc/", "usr/bin/", "root/", "tmp/"} { // always in this order: it is the image's content
		put(tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: cmp.Or(map[string]int64{"root/": 0o700, "tmp/": 0o1777}[dir], 0o755)}, nil)
	}
	put(tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, program)
	put(tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0:root:/root:/bin/sh\n"))
	for _, name := range strings.Fields(string(names)) {
		if name != "busybox" {
			put(tar.Header{Typeflag: tar.TypeSymlink, Name: filepath.Join("bin", name), Linkname: "busybox"}, nil)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

// buildKeeper builds the keeper that containers of all tests run, once.
func buildKeeper() (undo func(), err error) {
	dir, err := os.MkdirTemp("", "kintsugi-keeper-")
	if err != nil {
		return nil, err
	}
	keeper := filepath.Join(dir, "keeper")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", keeper, "kintsugi/sandbox/docker/keepermain")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the keeper: %w: %s", err, out)
	}
	return func() { os.RemoveAll(dir) }, os.Setenv(keeperEnv, keeper)
}
