package docker

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/contract"
)

// TestPodmanRootless runs the suite against the Podman of an ordinary user.
func TestPodmanRootless(t *testing.T) {
	needPodman(t)
	host := serveRootless(t)
	rt := New(Options{Engine: Podman, Host: host, Image: testImage, StateDir: t.TempDir()})
	t.Cleanup(func() { rt.Close() })
	giveImage(t, rt)
	without := map[string]string{
		"odd names": "Podman's interface cannot name a folder with a comma or a colon",
	}
	if a := rt.Probe(t.Context()); rt.keepsNothing() != (a.Report.Find(sandbox.PromiseCPU).Strength == sandbox.NotKept) || !a.OK {
		t.Errorf("got %+v", a)
	}
	contract.Run(t, contract.Subject{
		Open: func(state string) (sandbox.Runtime, error) {
			return New(Options{Engine: Podman, Host: host, Image: testImage, StateDir: state}), nil
		},
		Patience: 20 * time.Second, Environ: []string{podmanEnv + "=" + host}, Without: without,
	})
}

// serveRootless starts an ordinary user's Podman, with a storage of its own.
func serveRootless(t *testing.T) string {
	t.Helper()
	id := ordinary(t)
	if _, err := exec.LookPath("newuidmap"); err != nil {
		missing(t, "newuidmap, which rootless Podman needs, is not installed")
	}
	dir, err := os.MkdirTemp("", "kintsugi-rootless-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	run := filepath.Join(dir, "run")
	for _, path := range []string{run, dir} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, int(id.Uid), int(id.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	podman := func(args ...string) *exec.Cmd {
		cmd := exec.Command("podman", args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: id}
		return cmd
	}
	host := "unix://" + filepath.Join(dir, "podman.sock")
	service := podman("--storage-driver=overlay", "system", "service", "--time=0", host)
	words := &tail{}
	service.Stderr, service.WaitDelay = words, time.Second // what keeps the name space keeps it open
	service.SysProcAttr.Setpgid = true
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = service.Process.Signal(os.Interrupt)
		_ = service.Wait()
		_ = syscall.Kill(-service.Process.Pid, syscall.SIGKILL) // it runs itself again, which may have missed the signal
		_ = podman("system", "migrate").Run()                   // ends the process that keeps its name space
	})
	c, err := place{host: host}.client()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := (&engine{Client: c, service: service}).await(words); err != nil {
		t.Fatal(err)
	}
	return host
}

// ordinary is a user of this machine who may have name spaces of many ids.
func ordinary(t *testing.T) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"kintsugi-ci", "kin"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	missing(t, "there is no ordinary user called kintsugi-ci or kin")
	return nil
}
