package docker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// keeperAge is how long a keeper of another build of this program is kept.
const keeperAge = 24 * time.Hour

// buildKeeper has the Go tool build a keeper, where this program was built on
// this machine from a source that is still there, as with go run. It is kept in
// the user's cache until this program is another one. An empty path says that
// there is no Go tool or no source.
func (o Options) buildKeeper(self, arch string) (string, error) {
	source := sourceDir()
	tool, err := exec.LookPath("go")
	if source == "" || err != nil {
		return "", nil //nolint:nilerr // without a Go tool there is no keeper, which is no failure
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	mark := hashed(self, fmt.Sprint(info.Size(), info.ModTime().UnixNano()))
	dir := filepath.Join(cache, "kintsugi", "keepers")
	path := filepath.Join(dir, mark[:16]+"-linux-"+arch)
	if exists(path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	o.tell("building what keeps boxes in containers")
	made := path + "." + random()
	defer os.Remove(made)
	build := exec.Command(tool, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", made, "./sandbox/docker/keepermain")
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the keeper of boxes in %s: %w: %s", source, err, plain(errors.New(strings.TrimSpace(string(out)))))
	}
	if err := os.Rename(made, path); err != nil {
		return "", err
	}
	dropOld(dir, path)
	return path, nil
}

func (o Options) tell(text string) {
	if o.Progress != nil {
		o.Progress(text)
	}
}

// dropOld removes keepers that earlier builds of this program left.
func dropOld(dir, keep string) {
	old, _ := filepath.Glob(filepath.Join(dir, "*-linux-*"))
	for _, path := range old {
		if info, err := os.Stat(path); err == nil && path != keep && time.Since(info.ModTime()) > keeperAge {
			_ = os.Remove(path)
		}
	}
}

// sourceDir is the module that this program was built from; empty: it is not
// here, or the build did not say where it was.
func sourceDir() string {
	_, file, _, ok := runtime.Caller(0)
	dir, found := strings.CutSuffix(filepath.ToSlash(file), "/sandbox/docker/keeperbuild.go")
	if !ok || !found || !filepath.IsAbs(dir) || !isSource(dir) {
		return ""
	}
	return dir
}

// isSource says whether the keeper's source is in dir and nobody else could
// have put it there: what a program was built from may be gone, and its place
// another user's.
func isSource(dir string) bool {
	for _, name := range []string{".", "go.mod", "sandbox/docker/keepermain/main.go"} {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !trusted(info) {
			return false
		}
	}
	return true
}
