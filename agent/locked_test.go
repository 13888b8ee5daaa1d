package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kintsugi/agent/event"
	"kintsugi/agent/lock"
	"kintsugi/sandbox"
)

// lockedBench runs a program main.py that needs a layer, in a folder with a
// lock that names the packages.
func lockedBench(t *testing.T, packages ...string) bench {
	t.Helper()
	b := newBench(t, python(func(s sandbox.Spec) reply {
		if len(s.Layers) == 0 {
			return reply{stderr: noPandas, exit: 1}
		}
		return reply{stdout: "42\n"}
	}))
	part := lock.Part{Manager: "pip", Asked: packages}
	for _, p := range packages {
		part.Packages = append(part.Packages, lock.Package{Name: p, Version: "1.0", File: p + ".whl", Hash: "sha256:" + strings.Repeat("1", 64)})
	}
	var f lock.File
	f.Put(lock.Set{Program: "main.py", Parts: []lock.Part{part}})
	data, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b.put(t, lock.Name, string(data))
	b.put(t, "main.py", "import pandas\n")
	b.Installer.Mirror = mirrorOf(t)
	return b
}

func (b bench) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.Project.Source, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func main(t *testing.T, b bench) (Outcome, error) {
	t.Helper()
	return b.Do(context.Background(), Call{Step: 1, Tool: "run", Origin: "user", File: "main.py"})
}

func TestLockedProgramFailsNever(t *testing.T) {
	t.Parallel()
	b := lockedBench(t, "pandas")
	out, err := main(t, b)
	if err != nil || !out.OK || out.Attempts != 1 || b.log.count(event.KindFailure) != 0 {
		t.Fatalf("%+v, %v, %d failures", out, err, b.log.count(event.KindFailure))
	}
	for _, s := range b.rt.ran {
		if all := strings.Join(s.Argv, " "); strings.Contains(all, "pip install") && !strings.HasSuffix(all, " pandas==1.0") {
			t.Errorf("installed with %s, want exactly the lock's version", all)
		}
	}
	b = lockedBench(t, "pandas")
	b.IgnoreLock = true
	if out, err := main(t, b); err != nil || out.Attempts != 2 {
		t.Errorf("without the lock: %+v, %v", out, err)
	}
}

// A lock comes with the project, from wherever that is: its names pass the
// same gate as any other.
func TestLockedNamesPassTheGate(t *testing.T) {
	t.Parallel()
	b := lockedBench(t, "pandsa")
	if _, err := main(t, b); err == nil || !strings.Contains(err.Error(), "did you mean pandas") || b.rt.installs() != 0 {
		t.Errorf("a slip: %v, %d installations", err, b.rt.installs())
	}
	b = lockedBench(t, "zq-made-up")
	if out, err := main(t, b); err != nil || !out.NeedsConsent || out.OK || b.rt.installs() != 0 {
		t.Errorf("an unknown name: %+v, %v, %d installations", out, err, b.rt.installs())
	}
	b = lockedBench(t, "zq-made-up")
	b.Allowed = []string{"zq_made_up"}
	if _, err := main(t, b); err != nil || b.rt.installs() != 1 {
		t.Errorf("an allowed name: %v, %d installations", err, b.rt.installs())
	}
	for _, bad := range []string{"--index-url=http://127.0.0.1", "pandas @ http://127.0.0.1/x.whl", "-r/etc/passwd", "../x"} {
		b = lockedBench(t)
		b.put(t, lock.Name, "version = 1\n[[set]]\nprogram = \"*\"\n[[set.part]]\nmanager = \"pip\"\nasked = [\""+bad+"\"]\n")
		b.Allowed = []string{bad, "pandas"}
		if _, err := main(t, b); err == nil || !strings.Contains(err.Error(), "no name of a package") || b.rt.installs() != 0 {
			t.Errorf("%s: %v, %d installations", bad, err, b.rt.installs())
		}
	}
}

func TestBlockOfAProgram(t *testing.T) {
	t.Parallel()
	b := lockedBench(t)
	if err := os.Remove(filepath.Join(b.Project.Source, lock.Name)); err != nil {
		t.Fatal(err)
	}
	b.put(t, "main.py", "# /// script\n# dependencies = [\"pandas<3\"]\n# ///\nimport pandas\n")
	out, err := main(t, b)
	if err != nil || out.Attempts != 1 || !out.OK {
		t.Errorf("%+v, %v", out, err)
	}
	b.put(t, "main.py", "# /// script\n# dependencies = [\"pandsa\"]\n# ///\nimport pandas\n")
	if _, err := main(t, b); err == nil || !strings.Contains(err.Error(), "the block of main.py: pandsa is no known name") {
		t.Errorf("a slip: %v", err)
	}
	b.put(t, "main.py", "# /// script\n# dependencies = 3\n# ///\n")
	if _, err := main(t, b); err == nil || !strings.Contains(err.Error(), "main.py, line 1: the block") {
		t.Errorf("a broken block: %v", err)
	}
	out, err = b.Do(context.Background(), code("# /// script\n# dependencies = [\"requests\"]\n# ///\nimport requests\n"))
	if err != nil || !out.OK || out.Attempts != 1 {
		t.Errorf("code: %+v, %v", out, err)
	}
}

// What the block says counts; a lock that does not have it is left aside.
func TestLockBehindItsBlock(t *testing.T) {
	t.Parallel()
	for block, note := range map[string]int{`"pandas"`: 0, `"pandas==1.0"`: 0, `"pandas==2.0"`: 1, `"pandas", "rich"`: 1} {
		b := lockedBench(t, "pandas")
		b.put(t, "main.py", "# /// script\n# dependencies = ["+block+"]\n# ///\nimport pandas\n")
		out, err := main(t, b)
		if err != nil || !out.OK || b.log.count(event.KindNote) != note {
			t.Errorf("%s: %+v, %v, %d notes, want %d", block, out, err, b.log.count(event.KindNote), note)
		}
	}
}
