package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// program is what every contestant runs: it prints one line and ends.
var program = []string{"/bin/echo", "ready"}

// Program is the command that contestants run.
func Program() []string { return slices.Clone(program) }

// peers are the other sandboxes, each with the flags that come nearest to a
// full box. {image} needs an image that is on the machine already.
var peers = []struct {
	name string
	argv []string
}{
	{"no sandbox", nil},
	{"bwrap", []string{"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--"}},
	{"unshare", []string{"unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--ipc", "--uts", "--cgroup", "--mount-proc", "--"}},
	{"firejail", []string{"firejail", "--quiet", "--noprofile", "--net=none", "--private-tmp", "--"}},
	{"runsc", []string{"runsc", "--rootless", "--network=none", "do", "--"}},
	{"docker", []string{"docker", "run", "--rm", "--network=none", "{image}"}},
	{"podman", []string{"podman", "run", "--rm", "--network=none", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000", "{image}"}},
	{"runc", []string{"runc", "run", "--bundle", "{bundle}", "{id}"}},
	{"crun", []string{"crun", "run", "--bundle", "{bundle}", "{id}"}},
}

// Peers finds the other sandboxes of this machine. dir is for the files that
// some of them need, image is for engines; empty: the first that each has.
func Peers(ctx context.Context, dir, image string, without []string) ([]Contestant, []Absent) {
	var found []Contestant
	var absent []Absent
	for _, p := range peers {
		if slices.Contains(without, p.name) {
			absent = append(absent, Absent{p.name, "not wanted"})
			continue
		}
		c, why := peer(ctx, p.name, p.argv, dir, image)
		if why != "" {
			absent = append(absent, Absent{p.name, why})
			continue
		}
		found = append(found, c)
	}
	return found, absent
}

// peer prepares one and tries it once.
func peer(ctx context.Context, name string, argv []string, dir, image string) (c Contestant, why string) {
	if len(argv) > 0 {
		if _, err := exec.LookPath(argv[0]); err != nil {
			return c, "not installed"
		}
	}
	argv, err := fill(ctx, argv, dir, image)
	if err != nil {
		return c, err.Error()
	}
	if !slices.Contains(argv, "--bundle") {
		argv = append(argv, program...)
	}
	next := numbering(argv)
	c = Contestant{Name: name, Detail: strings.Join(argv, " "), Run: func(ctx context.Context) (Times, error) {
		return peerRun(ctx, next())
	}}
	probe, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := c.Run(probe); err != nil {
		return c, "does not work here: " + err.Error()
	}
	return c, ""
}

// fill puts in what a peer needs: an image, a bundle.
func fill(ctx context.Context, argv []string, dir, image string) ([]string, error) {
	out := slices.Clone(argv)
	for i, a := range out {
		switch a {
		case "{image}":
			if image == "" {
				var err error
				if image, err = LocalImage(ctx, argv[0]); err != nil {
					return nil, err
				}
			}
			out[i] = image
		case "{bundle}":
			bundle, err := makeBundle(ctx, argv[0], dir)
			if err != nil {
				return nil, err
			}
			out[i] = bundle
		}
	}
	return out, nil
}

// LocalImage is the first image that an engine has, other than those that
// boxes are made of.
func LocalImage(ctx context.Context, engine string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, engine, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}").Output()
	if err != nil {
		return "", fmt.Errorf("its engine does not answer")
	}
	for _, image := range strings.Fields(string(out)) {
		if !strings.Contains(image, "<none>") && !strings.Contains(image, "kintsugi-box") {
			return image, nil
		}
	}
	return "", fmt.Errorf("it has no image on this machine")
}

// makeBundle makes a root file system of a static busybox for OCI runtimes.
func makeBundle(ctx context.Context, engine, dir string) (string, error) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return "", fmt.Errorf("it needs a root file system, and there is no busybox to make one")
	}
	bundle := filepath.Join(dir, engine)
	if err := os.MkdirAll(filepath.Join(bundle, "rootfs", "bin"), 0o755); err != nil {
		return "", err
	}
	data, err := os.ReadFile(busybox)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(bundle, "rootfs", "bin", "echo"), data, 0o755); err != nil {
		return "", err
	}
	spec := exec.CommandContext(ctx, engine, "spec")
	spec.Dir = bundle
	if out, err := spec.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it cannot write a bundle: %s", strings.TrimSpace(string(out)))
	}
	config := filepath.Join(bundle, "config.json")
	text, err := os.ReadFile(config)
	if err != nil {
		return "", err
	}
	text = bytes.Replace(text, []byte(`"terminal": true`), []byte(`"terminal": false`), 1)
	text = bytes.Replace(text, []byte(`"sh"`), []byte(`"/bin/echo", "ready"`), 1)
	return bundle, os.WriteFile(config, text, 0o600)
}

// peerRun runs a command line and times it from outside.
func peerRun(ctx context.Context, argv []string) (Times, error) {
	start := time.Now()
	first := &firstByte{}
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = first, &errs
	if err := cmd.Run(); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return Times{}, fmt.Errorf("%w: %s", err, line)
	}
	return first.times(start, time.Now())
}
