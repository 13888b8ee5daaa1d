package docker

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"kintsugi/sandbox"
)

// TestSourceOfOthers: a keeper is not built from what somebody else may have
// put where this program's source was.
func TestSourceOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders have no owner to ask for here")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "sandbox", "docker", "keepermain", "main.go")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(dir, "go.mod")} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !isSource(dir) {
		t.Fatal("our own source is not taken")
	}
	for _, path := range []string{dir, file} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, info.Mode().Perm()|0o002); err != nil {
			t.Fatal(err)
		}
		if isSource(dir) {
			t.Errorf("taken although everybody may write %s", path)
		}
		if err := os.Chmod(path, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() != 0 {
			continue
		}
		if err := os.Chown(path, 54321, -1); err != nil {
			t.Fatal(err)
		}
		if isSource(dir) {
			t.Errorf("taken although %s is another user's", path)
		}
		if err := os.Chown(path, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeeperFromSource: a program that needs this system's libraries, as a
// plain go run makes one where there is a C compiler, has a keeper built.
func TestKeeperFromSource(t *testing.T) {
	if sourceDir() == "" {
		t.Skip("this test was built with -trimpath and does not know its source")
	}
	built, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	t.Setenv("GOCACHE", strings.TrimSpace(string(built)))
	t.Setenv("XDG_CACHE_HOME", cache)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	o := Options{Environ: []string{"HOME=" + cache}, Progress: func(s string) { told = append(told, s) }}
	path, err := o.buildKeeper(self, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := openKeeper(path, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openKeeper(self, runtime.GOARCH); err != nil { // it has libraries
		found, err := o.findKeeper(runtime.GOARCH)
		if err != nil || found != keeper || len(told) != 1 {
			t.Errorf("found %+v, %v (told: %q), want %+v", found, err, told, keeper)
		}
	}
	if dockerHost() == "" {
		t.Log(hostEnv + " names no engine: the keeper was built and not tried")
		return
	}
	rt := New(Options{Engine: Docker, Host: dockerHost(), Image: testImage, Keeper: path, StateDir: t.TempDir()})
	defer rt.Close()
	giveImage(t, rt)
	var out bytes.Buffer
	b, err := rt.Start(t.Context(), sandbox.Spec{Argv: []string{"echo", "kept"}, Env: sandbox.BaseEnv(os.Environ()), Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Wait(); err != nil || out.String() != "kept\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestOldKeepersAreDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	age := map[string]time.Duration{"a-linux-amd64": 0, "b-linux-amd64": 2 * keeperAge, "c-linux-amd64": 2 * keeperAge}
	for name, old := range age {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-old)); err != nil {
			t.Fatal(err)
		}
	}
	dropOld(dir, filepath.Join(dir, "b-linux-amd64"))
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if got := strings.Join(left, " "); strings.Contains(got, "c-linux") || len(left) != 2 {
		t.Errorf("left: %s", got)
	}
}

func TestUselessKeepers(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		text:                 "cannot be used inside a container: it is no Linux program",
		text + "-missing":    "no such file",
		"/bin/sh":            "it needs libraries of this system; build it with CGO_ENABLED=0",
		os.Getenv(keeperEnv): "it is for other processors",
	} {
		arch := runtime.GOARCH
		if path == os.Getenv(keeperEnv) {
			arch = "riscv64"
		}
		if _, err := (Options{Keeper: path}).findKeeper(arch); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
