package early

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// One import of package net, however far down, and the box begins last.
func TestNothingKnowsNetworks(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	if slices.Contains(all, "net") || !slices.Contains(all, "kintsugi/sandbox/namespace") {
		t.Errorf("imports: %s", out)
	}
}

func TestBegin(t *testing.T) {
	for line, want := range map[string]bool{
		"run -- true": true, "run --limit wall=1s a.py": true,
		"run": false, "ask draw": false, "run --image busybox true": false, "run --runtime=docker true": false, "run --nodes a,b true": false,
	} {
		rt := begin(strings.Fields(line))
		if (rt != nil) != want {
			t.Errorf("%s: begun %v", line, rt != nil)
		}
		if rt != nil {
			_ = rt.Close()
		}
	}
	t.Setenv(NodesEnv, "one")
	if begin([]string{"run", "true"}) != nil {
		t.Error("begun although engines are to make the boxes")
	}
}
