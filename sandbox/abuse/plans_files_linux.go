package abuse

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
)

func filePlans() map[string]plan {
	return map[string]plan{
		"host-paths":   {setup: (*trial).plantSecret},
		"chroot":       {setup: plantFile},
		"copies":       {setup: (*trial).plantSecret, limits: sandbox.Limits{Memory: 1 << 30}}, // it copies its own program, twice, into memory
		"leaked-files": {setup: leakFiles},
		"file-handle":  {setup: takeHandle},
		"own-program":  {setup: hashProgram, judge: sameProgram},
		"core-dump":    {setup: corePattern, judge: noCore},
		"link-lower":   {setup: keepOriginal, judge: sameOriginal},

		"self-memory":   {setup: mapOriginal, judge: sameOriginal},
		"read-only":     {setup: mountReadOnly},
		"swapped-bind":  {whole: swappedBind},
		"linked-target": {probe: "host-paths", setup: linkedTarget, judge: nothingMade, mayRefuse: true},
		"siblings":      {whole: siblings},
	}
}

// plantSecret puts a readable file with a secret where a box must not see it:
// in the home, in the directories for temporary files, beside the project.
func (t *trial) plantSecret() error {
	t.hidden = "secret-" + rand.Text()
	for _, base := range []string{t.opts.Home, os.TempDir(), "/dev/shm", "/var/tmp", t.dir} {
		dir, err := os.MkdirTemp(base, ".kintsugi-abuse-")
		if err != nil {
			continue
		}
		t.undo = append(t.undo, func() { removeAll(dir) })
		file := filepath.Join(dir, "secret")
		if err := os.WriteFile(file, []byte(t.hidden), 0o644); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
		t.planted = append(t.planted, file)
	}
	return with("secret", t.hidden, "planted", strings.Join(t.planted, ","))(t)
}

func plantFile(t *trial) error {
	file := filepath.Join(t.dir, "outside")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		return err
	}
	return with("file", file)(t)
}

// leakFiles opens directories of the host so that a careless runtime hands
// them on.
func leakFiles(t *trial) error {
	for _, dir := range []string{"/", t.dir} {
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		t.undo = append(t.undo, func() { unix.Close(fd) })
	}
	return nil
}

func takeHandle(t *trial) error {
	if err := plantFile(t); err != nil {
		return err
	}
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, filepath.Join(t.dir, "outside"), 0)
	if err != nil {
		return notHere("this file system has no handles: " + err.Error())
	}
	return with("handle", hex.EncodeToString(h.Bytes()), "type", h.Type())(t)
}

func hashProgram(t *trial) error {
	sum, err := hashOf(t.opts.Exe)
	t.kept = sum
	return err
}

func hashOf(path string) ([sha256.Size]byte, error) {
	b, err := os.ReadFile(path)
	return sha256.Sum256(b), err
}

func sameProgram(t *trial) probe.Verdict {
	if now, err := hashOf(t.opts.Exe); err != nil || t.kept != now {
		return probe.Breachf("this program's file on the host changed")
	}
	return t.inside()
}

// corePattern tells the probe whether this machine pipes core dumps to a
// program: a limit of 0 does not stop that, a limit of 1 does.
func corePattern(t *trial) error {
	b, _ := os.ReadFile("/proc/sys/kernel/core_pattern")
	return with("piped", strings.HasPrefix(string(b), "|"))(t)
}

func noCore(t *trial) probe.Verdict {
	for _, dir := range []string{t.upper(""), t.project("")} {
		if found, _ := filepath.Glob(filepath.Join(dir, "core*")); len(found) > 0 {
			return probe.Breachf("a core file is left: %s", found[0])
		}
	}
	return t.inside()
}

func keepOriginal(t *trial) error {
	c, err := contentOf(t.project("original"))
	t.kept = c
	return err
}

func mapOriginal(t *trial) error {
	if err := os.WriteFile(t.project("original"), []byte(strings.Repeat("original", 600)), 0o644); err != nil {
		return err
	}
	if err := keepOriginal(t); err != nil {
		return err
	}
	return with("file", "original")(t)
}

func sameOriginal(t *trial) probe.Verdict {
	now, err := contentOf(t.project("original"))
	if err != nil || t.kept != now {
		return probe.Breachf("the project's own file changed: %.60q", now.text)
	}
	return worst(t.inside(), probe.Heldf("the project's file is as before"))
}

func mountReadOnly(t *trial) error {
	dir := filepath.Join(t.dir, "shown")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	t.spec.Mounts = append(t.spec.Mounts, sandbox.Mount{Source: dir, Target: "/shown"})
	return with("dirs", "/shown")(t)
}

// swappedBind exchanges a directory that is to be mounted for another, again
// and again, while boxes are started and while they run.
func swappedBind(t *trial) probe.Verdict {
	var dirs []string
	for _, name := range []string{"left", "right"} {
		dir := filepath.Join(t.dir, name)
		dirs = append(dirs, dir)
		for _, file := range []string{"one", "two"} {
			if err := writeIn(dir, file, name); err != nil {
				return probe.Errorf("%v", err)
			}
		}
	}
	defer exchange(dirs[0], dirs[1])()
	t.plan.probe, t.release = "steady-view", func() {}
	t.param("dir", "/shown")
	t.spec.Mounts = append(t.spec.Mounts, sandbox.Mount{Source: dirs[0], Target: "/shown"})
	t.spec.Argv = t.argv()
	var all []probe.Verdict
	for range 15 {
		all = append(all, t.lookOnce())
	}
	return worst(append(all, probe.Heldf("15 boxes saw one directory each, whole"))...)
}

func writeIn(dir, file, text string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)
}

// exchange swaps two names for each other until stop is called.
func exchange(a, b string) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
				time.Sleep(50 * time.Microsecond)
			}
		}
	})
	return func() { close(quit); wg.Wait() }
}

func (t *trial) lookOnce() probe.Verdict {
	t.out = newCapture()
	spec := t.spec
	spec.Stdout, spec.Stderr, spec.Workspace, spec.Dir = t.out, t.out, sandbox.Workspace{}, ""
	box, err := t.rt.Start(t.ctx, spec)
	if err != nil {
		return probe.Heldf("") // refusing is fine
	}
	if v := t.wait(box, spec.Limits.Wall+grace); v.Verdict != probe.Held {
		return v
	}
	v := t.inside()
	if v.Verdict == probe.Held {
		v.Detail = ""
	}
	return v
}

// linkedTarget mounts below a project in which the way there is a link that
// leads out of it, to the directory of a secret.
func linkedTarget(t *trial) error {
	if err := t.plantSecret(); err != nil {
		return err
	}
	shown := filepath.Join(t.dir, "shown")
	if err := writeIn(shown, "one", "shown"); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Dir(t.planted[0]), t.project("way")); err != nil {
		return err
	}
	t.spec.Mounts = append(t.spec.Mounts, sandbox.Mount{Source: shown, Target: t.project("way/below")})
	return with("planted", strings.Join(append(t.planted, t.project("way/secret")), ","))(t)
}

// nothingMade wants no mount point to have been made where the link leads.
func nothingMade(t *trial) probe.Verdict {
	for _, file := range t.planted {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(file), "below")); err == nil {
			return probe.Breachf("a mount point was made on the host in %s", filepath.Dir(file))
		}
	}
	if v, ok := t.out.verdict(); ok {
		return v
	}
	return probe.Heldf("%s", t.ending())
}

// siblings runs two boxes at once and wants the second not to see the first.
func siblings(t *trial) probe.Verdict {
	return t.twoBoxes(true)
}

// twoBoxes leaves traces in one box and looks for them in another, which runs
// beside it or after it.
func (t *trial) twoBoxes(beside bool) probe.Verdict {
	t.param("trace", "trace-"+rand.Text())
	t.param("key", 0x4b550000+os.Getpid()&0xffff)
	if beside {
		t.param("hold", "yes")
	}
	first, second := *t, *t
	first.plan.probe, second.plan.probe = "leave-traces", "find-traces"
	first.out, second.out = newCapture(), newCapture()
	second.spec.Workspace.Upper, second.spec.Workspace.Work = "", ""
	for _, each := range []*trial{&first, &second} {
		each.spec.Stdout, each.spec.Stderr = each.out, each.out
	}
	var before, after probe.Verdict
	if beside {
		first.plan.during = func(*trial) probe.Verdict { after = second.run(); return probe.Heldf("") }
		before = first.run()
	} else {
		before = first.run()
		after = second.run()
	}
	return worst(before, after)
}
