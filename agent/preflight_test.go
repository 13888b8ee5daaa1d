package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kintsugi/agent/event"
	"kintsugi/sandbox"
)

// without answers a program that needs pandas and a box that is asked what it
// lacks.
func without(missing string) func(sandbox.Spec) reply {
	other := python(func(s sandbox.Spec) reply {
		if len(s.Layers) == 0 && missing != "" {
			return reply{stderr: noPandas, exit: 1}
		}
		return reply{stdout: "42\n"}
	})
	return func(s sandbox.Spec) reply {
		if len(s.Layers) == 0 && strings.Contains(strings.Join(s.Argv, " "), "def found") {
			return reply{stdout: missing + "\n"}
		}
		return other(s)
	}
}

func TestPreflightMendsBeforeAnythingBreaks(t *testing.T) {
	t.Parallel()
	b := newBench(t, without("pandas"))
	b.Preflight = PreflightOn
	out, err := b.Do(context.Background(), code("import pandas\nimport os\nprint(42)\n"))
	if err != nil || !out.OK || out.Attempts != 1 || b.log.count(event.KindFailure) != 0 {
		t.Fatalf("outcome %+v, %v, %d failures", out, err, b.log.count(event.KindFailure))
	}
	i := slices.IndexFunc(b.log.events, func(e event.Event) bool { return e.Body.Kind() == event.KindRemedy })
	if i < 0 {
		t.Fatal("the log does not tell what was installed")
	}
	r := b.log.events[i].Body.(event.Remedy)
	if r.Origin != "preflight" || !slices.Equal(r.Packages, []string{"pandas"}) || !strings.Contains(r.Why, "imports pandas") {
		t.Errorf("remedy %+v", r)
	}
}

// TestPreflightKeepsOut: lessons break on purpose, and neither what is there
// nor what nobody vouches for is installed.
func TestPreflightKeepsOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		origin, text, missing string
		setting               Preflight
	}{
		"off":     {"user", "import pandas\n", "pandas", PreflightOff},
		"lesson":  {"lesson", "import pandas\n", "pandas", PreflightOn},
		"model":   {"model", "import pandas\n", "pandas", PreflightAuto},
		"there":   {"user", "import pandas\n", "", PreflightOn},
		"unknown": {"user", "import zq_made_up\n", "zq_made_up", PreflightOn},
	} {
		b := newBench(t, without(c.missing))
		b.Preflight = c.setting
		call := code(c.text)
		call.Origin = c.origin
		if _, err := b.Do(context.Background(), call); err != nil {
			t.Fatal(err)
		}
		for _, e := range b.log.events {
			if r, ok := e.Body.(event.Remedy); ok && r.Origin == "preflight" {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

func TestWhatFilesTellOfModules(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	site := filepath.Join(top, "lib", "python3.11", "site-packages")
	for _, f := range []string{
		"bin/python3.11", "lib/python3.11/site-packages/yaml/__init__.py", "lib/python3.11/site-packages/six.py",
		"lib/python3.11/site-packages/fast.cpython-311-x86_64-linux-gnu.so", "lib/python3.11/site-packages/google/cloud/storage/x.py",
		"lib/python3.11/site-packages/rich.dist-info/METADATA", "shim/python3",
	} {
		path := filepath.Join(top, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("python3.11", filepath.Join(top, "bin", "python3")); err != nil {
		t.Fatal(err)
	}
	dirs := pythonDirs(filepath.Join(top, "bin", "python3"))
	if !slices.Contains(dirs, site) {
		t.Fatalf("%v lacks %s", dirs, site)
	}
	for module, want := range map[string]bool{
		"yaml": true, "six": true, "fast": true, "google.cloud.storage": true,
		"rich": false, "google.cloud.vision": false, "yam": false, "s*": false,
	} {
		if got := existsIn(dirs, module); got != want {
			t.Errorf("%s is there: %v, want %v", module, got, want)
		}
	}
	if dirs := pythonDirs(filepath.Join(top, "shim", "python3")); dirs != nil {
		t.Errorf("a script that chooses a Python has folders: %v", dirs)
	}
}
