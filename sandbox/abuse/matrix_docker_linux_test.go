package abuse

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"kintsugi/sandbox/contract"
	"kintsugi/sandbox/docker"
)

// hostEnv names the Docker engine of the tests; boxes are of a busybox.
const (
	hostEnv  = "KINTSUGI_TEST_DOCKER"
	boxImage = "localhost/kintsugi-test/abuse:1"
)

// dockerRuntime makes boxes with the tests' engine; the program exe, which is
// static, is what runs inside them.
func dockerRuntime(exe string) *docker.Runtime {
	return docker.New(docker.Options{Engine: docker.Docker, Host: os.Getenv(hostEnv), Image: boxImage, Keeper: exe})
}

// TestMatrixDocker runs the whole table in containers. It is alone with the
// machine, as the other matrices measure it.
func TestMatrixDocker(t *testing.T) {
	host := os.Getenv(hostEnv)
	switch {
	case host == "" && os.Getenv("CI") != "":
		t.Fatal(hostEnv + " names no Docker engine")
	case host == "":
		t.Skip(hostEnv + " names no Docker engine")
	}
	dir := t.TempDir()
	exe, root := filepath.Join(dir, "abuse.test"), filepath.Join(dir, "root")
	build := exec.Command("go", "test", "-c", "-race=false", "-o", exe, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the probes: %v\n%s", err, out)
	}
	if err := contract.Busybox(root); err != nil {
		t.Fatal(err)
	}
	give := exec.Command("sh", "-c", `chmod 1777 "$1/tmp" && tar -C "$1" -c . | docker --host "$2" import - "$3"`, "sh", root, host, boxImage)
	if out, err := give.CombinedOutput(); err != nil {
		t.Fatalf("giving the engine an image: %v\n%s", err, out)
	}
	rt := dockerRuntime(exe)
	defer rt.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	report, err := Run(ctx, rt, Options{Exe: exe, Home: dir, Victim: []string{exe, "__victim_docker"}, Only: only(t)})
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := report.WriteTable(&table, 150); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
	for _, e := range report.Breaches() {
		t.Errorf("case %d, %s: %s: %s", e.Number, e.Title, e.Outcome, e.Detail)
	}
}
