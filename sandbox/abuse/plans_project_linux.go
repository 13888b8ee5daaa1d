package abuse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
	"kintsugi/sandbox/workspace"
)

func projectPlans() map[string]plan {
	whole := func(f func(*project) probe.Verdict) plan {
		return plan{whole: func(t *trial) probe.Verdict { return inProject(t, f) }}
	}
	big := whole(bigChange)
	big.alone = true
	return map[string]plan{
		"apply-links":   whole(linksOut),
		"apply-linked":  whole(linkedFile),
		"apply-shapes":  whole(shapes),
		"apply-bits":    whole(specialBits),
		"apply-odd":     whole(oddFiles),
		"apply-late":    whole(lateChange),
		"apply-guarded": whole(func(p *project) probe.Verdict { return p.guarded(true) }),
		"apply-new":     whole(func(p *project) probe.Verdict { return p.guarded(false) }),
		"apply-flagged": whole(flagged),
		"apply-linkdir": whole(guardedLink),
		"apply-moved":   whole(movedIn),
		"apply-forks":   whole(forks),
		"apply-big":     big,
	}
}

// project is a trial whose boxes work on a real workspace.
type project struct {
	*trial
	store *workspace.Store
}

func inProject(t *trial, f func(*project) probe.Verdict) probe.Verdict {
	store, err := workspace.Open(filepath.Join(t.dir, "session"), filepath.Clean(t.project("")), workspace.Options{})
	if err != nil {
		return probe.Errorf("%v", err)
	}
	defer store.Close()
	return f(&project{t, store})
}

// step runs a probe on the workspace's current checkpoint and makes the next.
func (p *project) step(name string, params ...any) probe.Verdict {
	return p.stepOn(p.store.Begin, name, params...)
}

func (p *project) stepOn(begin func() (*workspace.Draft, error), name string, params ...any) probe.Verdict {
	draft, err := begin()
	if err != nil {
		return probe.Errorf("%v", err)
	}
	one := *p.trial
	one.plan, one.params, one.out = plan{probe: name}, nil, newCapture()
	one.spec.Stdout, one.spec.Stderr = one.out, one.out
	one.spec.Workspace.Lower, one.spec.Workspace.Upper, one.spec.Workspace.Work = draft.Lower, draft.Upper, draft.Work
	if err := with(params...)(&one); err != nil {
		return probe.Errorf("%v", err)
	}
	v := one.run()
	if v.Verdict != probe.Held {
		return worst(v, errorVerdict(p.store.Discard(draft)))
	}
	_, err = p.store.Commit(draft)
	return worst(v, errorVerdict(err))
}

func errorVerdict(err error) probe.Verdict {
	if err != nil {
		return probe.Errorf("%v", err)
	}
	return probe.Heldf("")
}

// apply carries everything over that needs no consent.
func (p *project) apply() (workspace.Report, probe.Verdict) {
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
	defer cancel()
	report, err := p.store.Apply(ctx, p.store.Head(), workspace.Selection{}, workspace.ApplyOptions{})
	return report, errorVerdict(err)
}

// outside makes a directory beside the project with one file in it.
func (p *project) outside() (dir, file string, err error) {
	dir = filepath.Join(p.dir, "outside")
	return dir, filepath.Join(dir, "file"), writeIn(dir, "file", "outside")
}

// untouched wants the directory outside to be as outside made it.
func untouched(dir string) probe.Verdict {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		return probe.Breachf("something was put outside the project: %v", entries)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(b) != "outside" {
		return probe.Breachf("a file outside the project now holds %.40q", b)
	}
	return probe.Heldf("outside is as before")
}

// linksOut leaves links that lead out, applies them, also with consent, and
// then applies files whose names were links.
func linksOut(p *project) probe.Verdict {
	dir, file, err := p.outside()
	if err = errors.Join(err, writeIn(p.project("sub"), "inner", "inner")); err != nil {
		return probe.Errorf("%v", err)
	}
	v := p.step("leave-links", "file", file, "dir", dir)
	report, applied := p.apply()
	v = worst(v, applied, untouched(dir))
	var held []string
	for _, c := range report.Held.First {
		held = append(held, c.Path)
	}
	_, err = p.store.Apply(p.ctx, p.store.Head(), workspace.Selection{}, workspace.ApplyOptions{Confirm: held})
	v = worst(v, errorVerdict(err), untouched(dir), p.step("write-through"))
	_, applied = p.apply()
	return worst(v, applied, untouched(dir), probe.Heldf("%d links were held back", len(held)))
}

func linkedFile(p *project) probe.Verdict {
	second := filepath.Join(p.dir, "second-name")
	if err := os.Link(p.project("original"), second); err != nil {
		return probe.Errorf("%v", err)
	}
	v := p.step("overwrite", "file", "original")
	_, applied := p.apply()
	b, err := os.ReadFile(second)
	if err != nil || string(b) != "original" {
		return probe.Breachf("the other name of the file now holds %.40q", b)
	}
	return worst(v, applied, probe.Heldf("the other name keeps its content"))
}

func shapes(p *project) probe.Verdict {
	if err := probe.MakeShapes(p.project("")); err != nil {
		return probe.Errorf("%v", err)
	}
	want := p.step("reshape")
	_, applied := p.apply()
	got, err := probe.Digest(p.project(""))
	if err != nil || want.Verdict != probe.Held || applied.Verdict != probe.Held {
		return worst(want, applied, errorVerdict(err))
	}
	if got != want.Detail {
		return probe.Breachf("the project is not what the box had: %s", listing(p.project("")))
	}
	return probe.Heldf("the project is exactly what the box had")
}

func listing(dir string) string {
	var out []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			out = append(out, strings.TrimPrefix(path, dir)+" "+d.Type().String())
		}
		return nil
	})
	return strings.Join(out, ", ")
}

func specialBits(p *project) probe.Verdict {
	v := p.step("special-bits")
	_, applied := p.apply()
	var bad []string
	_ = filepath.WalkDir(p.project(""), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && path != filepath.Clean(p.project("")) {
			bad = append(bad, leftBits(path, info)...)
		}
		return err
	})
	if len(bad) > 0 {
		return probe.Breachf("came back: %s", strings.Join(bad, ", "))
	}
	return worst(v, applied, probe.Heldf("nothing of it came back"))
}

func leftBits(path string, info fs.FileInfo) []string {
	var bad []string
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		bad = append(bad, fmt.Sprintf("%s %v", info.Name(), info.Mode()))
	}
	names := make([]byte, 4096)
	n, err := unix.Llistxattr(path, names)
	if err != nil {
		return bad
	}
	for _, name := range strings.Split(string(names[:n]), "\x00") {
		if strings.Contains(name, "overlay") || strings.HasPrefix(name, "security.cap") || strings.HasPrefix(name, "trusted.") {
			bad = append(bad, info.Name()+" "+name)
		}
	}
	return bad
}

func oddFiles(p *project) probe.Verdict {
	v := p.step("odd-files")
	began := time.Now()
	report, applied := p.apply()
	if took := time.Since(began); took > 5*time.Second {
		return probe.Breachf("applying blocked for %v", took)
	}
	for _, name := range []string{"fifo", "socket"} {
		if _, err := os.Lstat(p.project(name)); err == nil {
			return probe.Breachf("%s came back", name)
		}
	}
	if _, err := os.Lstat(p.project("plain")); err != nil || report.Skipped.Total < 3 {
		return worst(v, applied, probe.Breachf("skipped %d, and the plain file: %v", report.Skipped.Total, err))
	}
	return worst(v, applied, probe.Heldf("%d skipped with a notice", report.Skipped.Total))
}

func lateChange(p *project) probe.Verdict {
	v := p.step("overwrite", "file", "original")
	if err := os.WriteFile(p.project("original"), []byte("changed by the user"), 0o644); err != nil {
		return probe.Errorf("%v", err)
	}
	report, err := p.store.Apply(p.ctx, p.store.Head(), workspace.Selection{}, workspace.ApplyOptions{})
	b, _ := os.ReadFile(p.project("original"))
	if string(b) != "changed by the user" {
		return probe.Breachf("the user's change was overwritten")
	}
	if !errors.Is(err, workspace.ErrConflicts) || report.Conflicts.Total != 1 {
		return probe.Breachf("no conflict was reported: %v", err)
	}
	return worst(v, probe.Heldf("a conflict, and the user's change stays"))
}

// gitFiles are files that git obeys.
var gitFiles = []string{".git/hooks/pre-commit", ".git/config", ".git/info/attributes", "sub/.git/config",
	"sub/.git/hooks/post-checkout", "work/.git", ".gitmodules", "deep/er/.git/hooks/pre-push", "bare/HEAD"}

// bareFiles are what git obeys in a bare repository that the project has.
var bareFiles = []string{"bare/config", "bare/hooks/post-update"}

// guarded changes what git obeys, where it exists already or where it does
// not.
func (p *project) guarded(exists bool) probe.Verdict {
	for _, file := range gitFiles {
		if path := p.project(file); exists {
			if err := writeIn(filepath.Dir(path), filepath.Base(path), "the user's"); err != nil {
				return probe.Errorf("%v", err)
			}
		}
	}
	files := gitFiles
	if exists {
		if err := makeBare(p.project("bare")); err != nil {
			return probe.Errorf("%v", err)
		}
		files = append(slices.Clone(gitFiles), bareFiles...)
	}
	v := p.step("write-files", "files", strings.Join(files, ",")+",plain.py")
	_, applied := p.apply()
	if _, err := os.Lstat(p.project("plain.py")); err != nil {
		return worst(v, applied, probe.Breachf("an ordinary file was held back as well"))
	}
	return worst(v, applied, p.none(files), probe.Heldf("%d files were held back", len(files)))
}

// makeBare makes what git takes for a bare repository.
func makeBare(dir string) error {
	return errors.Join(os.MkdirAll(filepath.Join(dir, "refs/heads"), 0o755), os.MkdirAll(filepath.Join(dir, "objects"), 0o755),
		writeIn(dir, "HEAD", "ref: refs/heads/main\n"), writeIn(dir, "config", "[core]\n\tbare = true\n"))
}

// none wants no file of the project to hold what the box wrote.
func (p *project) none(files []string) probe.Verdict {
	for _, file := range files {
		if b, err := os.ReadFile(p.project(file)); err == nil && string(b) == "changed in the box" {
			return probe.Breachf("%s came back without consent", file)
		}
	}
	return probe.Heldf("")
}

// obeyed are files that editors, agents, shells and installers obey.
var obeyed = []string{".envrc", ".vscode/tasks.json", ".vscode/settings.json", ".idea/workspace.xml", ".mcp.json",
	".claude/settings.json", ".cursor/mcp.json", ".gemini/settings.json", ".bashrc", ".profile", ".zshrc", ".npmrc",
	".yarnrc.yml", "pip.conf", ".cargo/config.toml", "conftest.py", "sitecustomize.py", "Makefile", "package.json",
	".devcontainer/devcontainer.json", ".pre-commit-config.yaml", ".husky/pre-commit", ".exrc", "AGENTS.md",
	"setup.py", "build.rs", ".github/workflows/ci.yml", "kintsugi.toml"}

// flagged wants each of them to be held back or at least pointed out.
func flagged(p *project) probe.Verdict {
	v := p.step("write-files", "files", strings.Join(obeyed, ","))
	silent := map[string]bool{}
	for _, f := range obeyed {
		silent[f] = true
	}
	held := 0
	for c, err := range p.store.Changes(p.store.Head()) {
		if err != nil {
			return probe.Errorf("%v", err)
		}
		if silent[c.Path] && c.Held+c.Flag != "" {
			delete(silent, c.Path)
			if c.Held != "" {
				held++
			}
		}
	}
	for f := range silent {
		v = worst(v, probe.Breachf("nothing is said about %s", f))
	}
	return worst(v, probe.Heldf("%d held back, %d pointed out", held, len(obeyed)-held))
}

// guardedLink changes a guarded directory that is a link in the project.
func guardedLink(p *project) probe.Verdict {
	dir, _, err := p.outside()
	if err = errors.Join(err, os.Symlink(dir, p.project(".vscode")), os.Symlink("/nonexistent", p.project(".git"))); err != nil {
		return probe.Errorf("%v", err)
	}
	v := p.step("write-files", "files", ".vscode/tasks.json,.git/config")
	_, applied := p.apply()
	if target, err := os.Readlink(p.project(".vscode")); err != nil || target != dir {
		v = worst(v, probe.Breachf("the link was replaced without consent"))
	}
	return worst(v, applied, untouched(dir), p.none([]string{".git/config", ".vscode/tasks.json"}))
}

func movedIn(p *project) probe.Verdict {
	if err := writeIn(p.project(".git/hooks"), "sample", "the user's"); err != nil {
		return probe.Errorf("%v", err)
	}
	v := p.step("move-into", "dir", ".git/hooks")
	_, applied := p.apply()
	entries, err := os.ReadDir(p.project(".git/hooks"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "sample" {
		return probe.Breachf("the hooks are now %v", entries)
	}
	return worst(v, applied)
}

// forks lets two lines write the same file.
func forks(p *project) probe.Verdict {
	var all []probe.Verdict
	for range 2 {
		line, err := p.store.Fork(workspace.Root)
		if err != nil {
			return probe.Errorf("%v", err)
		}
		all = append(all, p.stepOn(line.Begin, "write-own", "file", "original"), p.stepOn(line.Begin, "write-own", "file", "second"))
	}
	if b, err := os.ReadFile(p.project("original")); err != nil || string(b) != "original" {
		all = append(all, probe.Breachf("the project itself changed: %.40q", b))
	}
	if n := len(p.store.Checkpoints()); n != 4 {
		all = append(all, probe.Breachf("%d checkpoints instead of 4", n))
	}
	return worst(append(all, probe.Heldf("neither line saw the other's file"))...)
}

// counter counts what is written to it.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func bigChange(p *project) probe.Verdict {
	p.spec.Limits = merge(sandbox.Limits{FileSize: 4 << 30, Disk: 1 << 30, Memory: 512 * mib, Wall: 15 * time.Second}, small)
	v := p.step("big-change", "mib", 20, "hole", 2048)
	if v.Verdict != probe.Held {
		return v
	}
	stop, began := flat(), time.Now()
	c, err := p.store.Compare(p.store.Head())
	if err != nil {
		return probe.Errorf("%v", err)
	}
	defer c.Close()
	var out counter
	_, err = workspace.FormatChanges(&out, c, workspace.FormatOptions{})
	took, grown := time.Since(began), stop()
	switch {
	case err != nil:
		return probe.Errorf("%v", err)
	case took > 10*time.Second || grown > mostGrowth || out.n > 8*mib:
		return probe.Breachf("the diff took %v, %d MiB of memory, and has %d bytes", took, grown/mib, out.n)
	}
	return probe.Heldf("a diff of %d bytes in %d ms and %d MiB", out.n, took.Milliseconds(), grown/mib)
}
