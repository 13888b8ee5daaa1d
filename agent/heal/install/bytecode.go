package install

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kintsugi/sandbox"
)

// compile makes the byte code on all cores, since boxes see a layer read-only
// and would compile at every start. Most of an installation from the cache is
// this, so what another layer has is taken from there. The packages' own tests,
// more than half of the files of pandas, are left out: nobody imports them. A
// file that does not compile is the package's own business. Python starts
// without site folders: a package may have files there that run at once, and the
// layer can be written to.
func (in *Installer) compile(ctx context.Context, r Request, p python, b *build, spec sandbox.Spec) error {
	r.Progress("compiling " + strings.Join(r.Packages, ", "))
	if err := dropCode(filepath.Join(b.tree, p.Site)); err != nil {
		return err
	}
	in.borrowCode(p, filepath.Join(b.tree, p.Site))
	spec.Argv, spec.Listeners = []string{p.Executable, "-I", "-S", "-m", "compileall", "-q", "-q", "-j", "0", "-x", "/tests?/", p.Site}, nil
	_, _, err := in.box(ctx, spec, r)
	return err
}

// dropCode removes byte code that came with packages: it could be of anything,
// and in other packages' folders.
func dropCode(site string) error {
	if _, err := os.Stat(site); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing but commands came
	}
	return filepath.WalkDir(site, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "__pycache__" {
			return err
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return fs.SkipDir
	})
}

// borrowCode links the byte code of distributions that another layer for the
// same Python has in the same version.
func (in *Installer) borrowCode(p python, site string) {
	want := map[string]bool{}
	for _, v := range distInfo(site) {
		want[v] = true
	}
	entries, _ := os.ReadDir(in.Store.Dir)
	for _, e := range entries {
		l, ok := in.Store.Find(e.Name())
		if !ok || l.Manager != "pip" || !l.OwnCode || l.For != p.String() {
			continue
		}
		for _, v := range l.Versions {
			if want[v] {
				linkCode(filepath.Join(l.Tree, p.Site), site, strings.Replace(v, " ", "-", 1)+".dist-info")
				delete(want, v)
			}
		}
	}
}

// linkCode links the byte code of the files that a distribution brought, where
// they are the same in both folders. Python compares the times of the two.
func linkCode(from, to, dist string) {
	data, err := os.ReadFile(filepath.Join(to, dist, "RECORD"))
	if err != nil {
		return
	}
	lines, _ := csv.NewReader(bytes.NewReader(data)).ReadAll()
	tag := ""
	for _, line := range lines {
		file := filepath.FromSlash(line[0])
		if filepath.Ext(file) != ".py" || !filepath.IsLocal(file) {
			continue
		}
		stem := filepath.Join(filepath.Dir(file), "__pycache__", strings.TrimSuffix(filepath.Base(file), "py"))
		if tag == "" {
			if found, _ := filepath.Glob(filepath.Join(from, stem+"*.pyc")); len(found) == 1 {
				tag = found[0][len(filepath.Join(from, stem)):]
			}
		}
		if tag != "" && sameText(filepath.Join(from, file), filepath.Join(to, file)) {
			_ = os.MkdirAll(filepath.Join(to, filepath.Dir(stem)), 0o755)
			_ = os.Link(filepath.Join(from, stem+tag), filepath.Join(to, stem+tag))
		}
	}
}

// sameText says whether two files say the same, and makes the second as old as
// the first.
func sameText(a, b string) bool {
	one, err1 := os.ReadFile(a)
	two, err2 := os.ReadFile(b)
	info, err3 := os.Stat(a)
	return err1 == nil && err2 == nil && err3 == nil && bytes.Equal(one, two) && os.Chtimes(b, info.ModTime(), info.ModTime()) == nil
}
