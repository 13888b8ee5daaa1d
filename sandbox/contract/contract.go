// Package contract is the test suite that every runtime must pass: what a box
// promises, tried with real boxes and no knowledge of what makes them.
//
// A runtime's own test calls Run and, from its TestMain, Victim. Programs in
// the boxes are sh, busybox and what both a small image and a usual host have.
//
// The package is for tests only; no part of Kintsugi imports it.
package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kintsugi/sandbox"
)

// Subject is a runtime under test.
type Subject struct {
	// Open makes a runtime that keeps its leases in state, a directory that
	// anyone may enter; its Close, if it has one, is the suite's business.
	Open func(state string) (sandbox.Runtime, error)
	// Patience is how long the quickest box may take, from start to end.
	Patience time.Duration
	// Environ is added to the environment of the workbench that is killed.
	Environ []string
	// Without names tests that this runtime cannot pass, and why. They are
	// skipped with the reason.
	Without map[string]string
}

// victimEnv makes a test binary a workbench that is killed.
const (
	victimEnv = "KINTSUGI_CONTRACT_VICTIM"
	stateEnv  = "KINTSUGI_CONTRACT_STATE"
)

// Victim runs boxes until somebody kills this process, when the environment
// says so, and else returns at once. It belongs into TestMain.
func Victim(open func(state string) (sandbox.Runtime, error)) {
	script := os.Getenv(victimEnv)
	if script == "" {
		return
	}
	rt, err := open(os.Getenv(stateEnv))
	for err == nil {
		_, err = rt.Start(context.Background(), sandbox.Spec{Argv: []string{"sh", "-c", script}, Env: sandbox.BaseEnv(os.Environ())})
		if err == nil {
			fmt.Println("started")
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Run runs the whole suite.
func Run(t *testing.T, s Subject) {
	t.Parallel()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if why, ok := s.Without[c.name]; ok {
				t.Skip(why)
			}
			t.Parallel()
			x := &trial{T: t, subject: s}
			x.state = x.dir()
			x.rt = x.open()
			c.test(x)
		})
	}
}

// cases are all tests of the suite, by name.
var cases = []struct {
	name string
	test func(*trial)
}{
	{"exit", exits}, {"bad specs", badSpecs}, {"streams", streams}, {"environment", environment},
	{"host unseen", hostUnseen}, {"no network", noNetwork}, {"walls", walls},
	{"workspace", workspaceKept}, {"workspace dropped", workspaceDropped}, {"odd names", oddNames}, {"workspace source", workspaceSource},
	{"checkpoint", checkpoint}, {"layers", layers}, {"capture", capture}, {"layer that removes", layerThatRemoves}, {"mounts", mounts}, {"listeners", listeners},
	{"wall", wall}, {"memory", memory}, {"processes", processes}, {"output", output}, {"disk", disk}, {"inodes", inodes}, {"file size", fileSize},
	{"kill", kill}, {"cancel", cancelled}, {"daemons", daemons}, {"many at once", manyAtOnce}, {"usage", usage}, {"report", report},
	{"killed workbench", killedWorkbench}, {"spared", spared},
}

// trial is one test.
type trial struct {
	*testing.T
	rt      sandbox.Runtime
	state   string
	subject Subject
}

// open makes a runtime that ends with the test.
func (t *trial) open() sandbox.Runtime {
	t.Helper()
	rt, err := t.subject.Open(t.state)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := rt.(interface{ Close() error }); ok {
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return rt
}

// outcome is what one box did.
type outcome struct {
	sandbox.Result
	out, err string
}

// sh is a box that runs a shell script.
func sh(script string) sandbox.Spec { return sandbox.Spec{Argv: []string{"sh", "-c", script}} }

func (t *trial) start(spec sandbox.Spec) sandbox.Box {
	t.Helper()
	spec.Env = append(sandbox.BaseEnv(os.Environ()), spec.Env...)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	b, err := t.rt.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (t *trial) run(spec sandbox.Spec) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	spec.Stdout, spec.Stderr = &out, &errs
	result, err := t.start(spec).Wait()
	if err != nil {
		t.Fatalf("%v (%s)", err, errs.String())
	}
	return outcome{result, out.String(), errs.String()}
}

// wants runs a script that must succeed with an output.
func (t *trial) wants(spec sandbox.Spec, want string) {
	t.Helper()
	o := t.run(spec)
	if o.ExitCode != 0 || o.out != want {
		t.Fatalf("%v: exit %d %s, output %q, want %q; errors: %s", spec.Argv, o.ExitCode, o.Limit, o.out, want, o.err)
	}
}

// files makes files below a new directory.
func (t *trial) files(content map[string]string) string {
	t.Helper()
	dir := t.dir()
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// dir is a temporary directory that anyone may enter.
func (t *trial) dir() string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kintsugi-contract-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (t *trial) text(path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// signal tells of the first write.
type signal chan struct{}

func (s signal) Write(p []byte) (int, error) {
	select {
	case s <- struct{}{}:
	default:
	}
	return len(p), nil
}

// Busybox makes a whole root of a static busybox under all its names.
func Busybox(dir string) error {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	names, err := exec.Command(path, "--list").Output()
	if err != nil {
		return err
	}
	for _, sub := range []string{"bin", "etc", "usr/bin", "opt", "var/tmp", "tmp"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "bin", "busybox"), program, 0o755),
		os.WriteFile(filepath.Join(dir, "etc", "passwd"), []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o644))
	for _, name := range strings.Fields(string(names)) {
		if name != "busybox" {
			err = errors.Join(err, os.Symlink("busybox", filepath.Join(dir, "bin", name)))
		}
	}
	return err
}
