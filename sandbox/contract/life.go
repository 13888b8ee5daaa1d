package contract

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kintsugi/sandbox"
)

// marked lists the processes of this machine whose arguments contain a word.
func marked(mark string) []string {
	var out []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), mark) {
			out = append(out, f)
		}
	}
	return out
}

// eventually waits for what another process brings about.
func (t *trial) eventually(what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// killedWorkbench kills a workbench with boxes, and wants nothing to be left
// once the next one has looked.
func killedWorkbench(t *trial) {
	mark := fmt.Sprintf("76%d", os.Getpid())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"=sleep "+mark+" & sleep "+mark, stateEnv+"="+t.state)
	cmd.Env = append(cmd.Env, t.subject.Environ...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	for range 2 {
		if !lines.Scan() {
			t.Fatal("the workbench ended by itself")
		}
	}
	t.eventually("the boxes run", func() bool { return len(marked(mark)) > 1 })
	_ = cmd.Process.Kill()
	t.eventually("all processes are gone", func() bool { return len(marked(mark)) == 0 })
	if _, err := t.rt.Reconcile(context.Background()); err != nil {
		t.Fatal(err)
	}
	// An engine may still be busy with what the killed one asked for last.
	t.eventually("a clean-up finds nothing", func() bool {
		got, err := t.rt.Reconcile(context.Background())
		return err == nil && got == (sandbox.Reclaimed{})
	})
}

// spared wants a clean-up to leave the living alone.
func spared(t *trial) {
	ready := make(signal, 1)
	spec := sh("echo; sleep 1; exit 5")
	spec.Stdout = ready
	b := t.start(spec)
	<-ready
	if _, err := t.open().Reconcile(context.Background()); err != nil {
		t.Fatal(err)
	}
	if result, err := b.Wait(); err != nil || result.ExitCode != 5 || result.Limit != sandbox.LimitNone {
		t.Fatalf("got %+v, %v", result, err)
	}
}
