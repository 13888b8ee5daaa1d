package lesson

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"kintsugi/sandbox/lazyregexp"
)

// Wheel is a pure Python package that a lesson ships as source.
type Wheel struct {
	Name    string // of the distribution: "kintsugi-pottery"
	Version string
	Module  string // what programs import
	Summary string
	// Source is the folder that holds the package, in the lesson's folder.
	Source string
}

var (
	distName    = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	distVersion = lazyregexp.New(`^[0-9]+(\.[0-9]+)*$`)
	moduleName  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (w Wheel) check(dir fs.FS) error {
	switch {
	case !distName.MatchString(w.Name):
		return fmt.Errorf("wheel: %q is no name of a distribution", w.Name)
	case !distVersion.MatchString(w.Version):
		return fmt.Errorf("wheel %s: %q is no version such as 1.0.0", w.Name, w.Version)
	case !moduleName.MatchString(w.Module):
		return fmt.Errorf("wheel %s: %q is no name of a module", w.Name, w.Module)
	case strings.ContainsAny(w.Summary, "\r\n"):
		return fmt.Errorf("wheel %s: its summary has more than one line", w.Name)
	}
	files, err := w.files(dir)
	if err != nil {
		return err
	}
	if _, ok := files[w.Module+"/__init__.py"]; !ok && files[w.Module+".py"] == nil {
		return fmt.Errorf("wheel %s: %s holds no module %s", w.Name, w.Source, w.Module)
	}
	return nil
}

// base is the name as file names have it.
func (w Wheel) base() string {
	return strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(w.Name, "_")) + "-" + w.Version
}

// FileName is the wheel's file name: pure Python, for any version 3.
func (w Wheel) FileName() string { return w.base() + "-py3-none-any.whl" }

// files reads the source, without what Python or an editor leaves behind.
func (w Wheel) files(dir fs.FS) (map[string][]byte, error) {
	src, err := fs.Sub(dir, w.Source)
	if err != nil || w.Source == "" {
		return nil, fmt.Errorf("wheel %s: %q is no folder of the lesson", w.Name, w.Source)
	}
	files := map[string][]byte{}
	err = fs.WalkDir(src, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "__pycache__":
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(p, ".pyc"):
			return nil
		}
		files[p], err = fs.ReadFile(src, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("wheel %s: %s: %w", w.Name, w.Source, cause(err))
	}
	return files, nil
}

// build makes the wheel. The same source gives the same bytes: nothing is
// compressed, files are sorted, and all bear the first date that a zip knows.
func (w Wheel) build(dir fs.FS) ([]byte, error) {
	files, err := w.files(dir)
	if err != nil {
		return nil, err
	}
	info := w.base() + ".dist-info/"
	files[info+"METADATA"] = fmt.Appendf(nil, "Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: %s\nRequires-Python: >=3.6\n", w.Name, w.Version, w.Summary)
	files[info+"WHEEL"] = []byte("Wheel-Version: 1.0\nGenerator: kintsugi\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
	files[info+"RECORD"] = record(files, info+"RECORD")
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, name := range names(files) {
		h := &zip.FileHeader{Name: name, Method: zip.Store, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(0o644)
		f, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// record lists every file with its hash and size; itself comes without.
func record(files map[string][]byte, self string) []byte {
	var b bytes.Buffer
	for _, name := range names(files) {
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
	}
	fmt.Fprintf(&b, "%s,,\n", self)
	return b.Bytes()
}

func names(files map[string][]byte) []string {
	var out []string
	for name := range files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Wheelhouse writes the lesson's wheels into dir, which it makes: a place for
// pip to find them without a network. Wheels that are there already stay.
func (l *Lesson) Wheelhouse(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("lesson %s: %w", l.Name, err)
	}
	for _, w := range l.Wheels {
		data, err := w.build(l.dir)
		if err != nil {
			return fmt.Errorf("lesson %s: wheel %s: %w", l.Name, w.Name, err)
		}
		if err := place(filepath.Join(dir, w.FileName()), data); err != nil {
			return fmt.Errorf("lesson %s: %w", l.Name, err)
		}
	}
	return nil
}

// place writes a file whole or not at all.
func place(file string, data []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, data) {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".wheel-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// Rules are healing rules to lay over the embedded ones (heal.Load): they say
// which of the lesson's wheels brings which module.
func (l *Lesson) Rules() fs.FS {
	rows := "import\tpackages\talternative\ttag\tnote\n"
	for _, w := range l.Wheels {
		rows += fmt.Sprintf("%s\t%s\t\tlesson\tcomes with the lesson %s\n", w.Module, w.Name, l.Name)
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	f, err := z.Create(path.Join("maps", "import.tsv"))
	if err == nil {
		_, err = f.Write([]byte(rows))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err) // a zip in memory cannot fail
	}
	r, err := zip.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		panic(err)
	}
	return r
}
