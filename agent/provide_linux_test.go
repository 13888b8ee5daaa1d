package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kintsugi/agent"
	"kintsugi/agent/model"
	"kintsugi/agent/tool"
)

// A model may ask for what the curated maps know; anything else asks the user,
// and is not done when nobody answers.
func TestModelAsksForPackages(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	if !reachable(t, "pip") {
		t.Skip("pip cannot be reached")
	}
	ask := func(words string) model.Call {
		return model.Call{Name: tool.Install, Args: map[string]any{"packages": words}}
	}
	i := newIntruder(t, w, ask("pip install tabulate"), python("import tabulate; print('there')"), ask("zq-invented-thing"), ask("pandsa"), ask(""))
	told, _ := i.work(t)
	for _, want := range []string{"tabulate is there", "there\n", "zq-invented-thing is not known", "did you mean pandas", "name at least one"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is missing in %s", want, told)
		}
	}
	if entries, err := os.ReadDir(w.layers); err != nil || len(entries) == 0 {
		t.Errorf("no layer was made: %v", err)
	}
}

// The gate is asked about names that are only well known, and obeyed.
func TestModelsWordAloneInstallsNothing(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	b := w.bench(t, nil)
	p, err := b.engine.Provide(t.Context(), agent.Wish{Step: 1, Manager: "pip", Packages: []string{"zq-invented-thing"}, Origin: "model"})
	if err != nil || p.OK || p.Why == "" {
		t.Errorf("%+v, %v", p, err)
	}
	if entries, _ := os.ReadDir(w.layers); len(entries) > 0 {
		t.Errorf("%d layers were made", len(entries))
	}
}

// An interpreter that a version manager keeps is found, shown to boxes and run.
func TestInterpreterOfAnotherVersion(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	b := w.bench(t, nil)
	home := t.TempDir()
	bin := filepath.Join(home, ".pyenv", "versions", "9.8.7", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	program := "#!/bin/sh\n[ \"$1\" = --version ] && echo Python 9.8.7 && exit\necho old and new: \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, kv := range b.engine.Env {
		if strings.HasPrefix(kv, "HOME=") {
			b.engine.Env[i] = "HOME=" + home
		}
	}
	if ok, why, err := b.engine.UseInterpreter(t.Context(), 1, "python", "9.8"); !ok || err != nil {
		t.Fatalf("%s, %v", why, err)
	}
	out, err := b.engine.Do(t.Context(), agent.Call{Step: 2, Tool: "python", Origin: "user", Code: "x", Ext: ".py"})
	if err != nil || !strings.HasPrefix(out.Stdout, "old and new: ") {
		t.Errorf("%+v, %v", out, err)
	}
	ok, why, err := b.engine.UseInterpreter(t.Context(), 3, "node", "1.2")
	if ok || err != nil || !strings.Contains(why, "neither on this machine") {
		t.Errorf("node 1.2: %v %q, %v", ok, why, err)
	}
	if ok, _, err := b.engine.UseInterpreter(t.Context(), 4, "python", "9.8.7"); !ok || err != nil {
		t.Errorf("the version in use was lost: %v", err)
	}
}
