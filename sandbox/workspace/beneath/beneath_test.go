//go:build unix

package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestSubNeverLeaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := t.TempDir()
	d := open(t, dir)
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must(t, os.Symlink("a", filepath.Join(dir, "in")))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for _, rel := range []string{"a", "a/b", "."} {
		sub, err := d.Sub(rel)
		if err != nil {
			t.Errorf("Sub(%q): %v", rel, err)
			continue
		}
		sub.Close()
	}
	for _, rel := range []string{"out", "in", "in/b", "dangling", "file", "file/x", "..", "a/../..", "a/", "/etc", "", "./a", "a//b", "a\x00"} {
		sub, err := d.Sub(rel)
		if err == nil {
			sub.Close()
		}
		if !errors.Is(err, ErrLeaves) {
			t.Errorf("Sub(%q): %v, want ErrLeaves", rel, err)
		}
	}
}

func TestNamesAreSingle(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	for _, name := range []string{"", ".", "..", "a/b", "../x", "/etc/passwd", "a\x00b"} {
		_, err1 := d.Create(name, 0o600)
		_, err2 := d.OpenFile(name)
		_, err3 := d.Lstat(name)
		for i, err := range []error{err1, err2, err3, d.Mkdir(name, 0o700), d.Remove(name), d.Rmdir(name),
			d.Symlink("x", name), d.Chmod(name, 0o600), d.Rename("x", d, name, Replace), d.Rename(name, d, "x", Replace), d.Link("x", d, name)} {
			if !errors.Is(err, ErrLeaves) {
				t.Errorf("%q, operation %d: %v, want ErrLeaves", name, i, err)
			}
		}
	}
}

func TestOpenFileTakesRegularFilesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("hi"), 0o644))
	must(t, os.Symlink("file", filepath.Join(dir, "link")))
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o755))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	f, err := d.OpenFile("file")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(f)
	f.Close()
	if string(b) != "hi" {
		t.Errorf("read %q", b)
	}
	for _, name := range []string{"link", "dir", "fifo"} {
		if _, err := d.OpenFile(name); !errors.Is(err, ErrNotRegular) {
			t.Errorf("OpenFile(%q): %v, want ErrNotRegular", name, err)
		}
	}
	if _, err := d.OpenFile("gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

func TestChmodDoesNotFollow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	must(t, os.Symlink("file", filepath.Join(dir, "link")))
	if err := d.Chmod("link", 0o777); err == nil {
		t.Error("chmod of a link worked")
	}
	must(t, d.Chmod("file", 0o640))
	if st, _ := d.Lstat("file"); st.Mode != 0o640 {
		t.Errorf("mode %o, want 640", st.Mode)
	}
}

func TestRenameWays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "b"), []byte("b"), 0o644))
	if err := d.Rename("a", d, "b", NoReplace); !errors.Is(err, fs.ErrExist) {
		t.Errorf("NoReplace: %v, want ErrExist", err)
	}
	if err := d.Rename("a", d, "b", Exchange); err != nil {
		t.Fatalf("Exchange: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a")); string(b) != "b" {
		t.Errorf("after exchange a holds %q", b)
	}
	must(t, d.Rename("a", d, "b", Replace))
	if st, err := d.Lstat("a"); err != nil || st.Kind != Absent {
		t.Errorf("a is still there: %v %v", st, err)
	}
}

func TestDeeperThanPathMax(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	rel := buildDeep(t, d, 3000)
	sub, err := d.Sub(rel)
	if err != nil {
		t.Fatalf("Sub of a path of %d bytes: %v", len(rel), err)
	}
	f, err := sub.Create("bottom", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	sub.Close()
	must(t, RemoveTree(d, "d"))
	if names, err := d.Names(10); !errors.Is(err, io.EOF) {
		t.Errorf("left over: %q %v", names, err)
	}
}

// buildDeep makes n directories inside each other and returns the whole path.
func buildDeep(t *testing.T, d *Dir, n int) string {
	t.Helper()
	rel := make([]string, n)
	at := d
	for i := range n {
		rel[i] = "d"
		must(t, at.Mkdir("d", 0o755))
		next, err := at.Sub("d")
		if err != nil {
			t.Fatal(err)
		}
		if at != d {
			at.Close()
		}
		at = next
	}
	at.Close()
	return strings.Join(rel, "/")
}

func TestRemoveTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	kept := filepath.Join(dir, "kept")
	must(t, os.WriteFile(kept, []byte("x"), 0o644))
	for i := range 5000 {
		p := filepath.Join(dir, "tree", fmt.Sprint(i%7))
		must(t, os.MkdirAll(p, 0o755))
		must(t, os.WriteFile(filepath.Join(p, fmt.Sprint(i)), nil, 0o644))
	}
	must(t, os.Symlink(dir, filepath.Join(dir, "tree/up")))
	must(t, os.Symlink("../kept", filepath.Join(dir, "tree/link")))
	must(t, unix.Mkfifo(filepath.Join(dir, "tree/fifo"), 0))
	must(t, os.Chmod(filepath.Join(dir, "tree/3"), 0))
	must(t, RemoveTree(d, "tree"))
	if _, err := os.Lstat(filepath.Join(dir, "tree")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("tree is still there: %v", err)
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Errorf("removal followed a link: %v", err)
	}
	must(t, RemoveTree(d, "tree"))
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	must(t, a.Lock())
	if err := b.Lock(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second lock: %v, want ErrExist", err)
	}
	a.Close()
	must(t, b.Lock())
}

func TestHolesAreSeen(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	f, err := d.Create("sparse", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1 << 40
	must(t, f.Truncate(size))
	if _, err := f.WriteAt([]byte("x"), 1<<30); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	data := NextData(f, 0, size)
	hole := NextHole(f, data, size)
	if data > 1<<30 || hole <= 1<<30 || NextData(f, hole, size) != size {
		t.Skipf("the file system of the test directory does not report holes: data at %d to %d", data, hole)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %v", took)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
