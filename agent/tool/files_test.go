package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// folder is Files over a real directory.
type folder struct{ root *os.Root }

func (f folder) Read(p string) ([]byte, error) { return f.root.ReadFile(p) }

func (f folder) Write(p string, data []byte) error {
	if err := f.root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	return f.root.WriteFile(p, data, 0o644)
}

func (f folder) List(p string) ([]Entry, error) {
	entries, err := fs.ReadDir(f.root.FS(), p)
	var out []Entry
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		out = append(out, Entry{Name: e.Name(), Dir: e.IsDir(), Size: info.Size()})
	}
	return out, err
}

// newDesk makes a desk over files given as path, content, path, content …
func newDesk(t *testing.T, files ...string) Desk {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	d := Desk{Files: folder{root}, Root: "/project"}
	for i := 0; i < len(files); i += 2 {
		if err := d.Files.Write(files[i], []byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func run(t *testing.T, d Desk, name string, args Args) Result {
	t.Helper()
	r, err := d.Run(name, args)
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return r
}

func refused(t *testing.T, d Desk, name string, args Args, want string) {
	t.Helper()
	_, err := d.Run(name, args)
	var b *Bad
	if !errors.As(err, &b) || !strings.Contains(b.Text, want) || strings.Contains(b.Text, "\n") {
		t.Errorf("%s %v: %v, want %q in it", name, args, err, want)
	}
}

func TestWriteReadEdit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if r := run(t, d, WriteFile, Args{"path": "src/a.py", "content": "one\ntwo"}); r.Changed != "src/a.py" || r.Text != "wrote src/a.py (2 lines)" {
		t.Errorf("%+v", r)
	}
	if r := run(t, d, EditFile, Args{"path": "/project/src/a.py", "old": "two", "new": "2"}); r.Changed != "src/a.py" || !strings.Contains(r.Show, "- two\n+ 2\n") {
		t.Errorf("%+v", r)
	}
	if r := run(t, d, ReadFile, Args{"path": "./src/../src/a.py"}); r.Text != "one\n2\n" || r.Changed != "" {
		t.Errorf("%+v", r)
	}
}

func TestNothingLeavesTheProject(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, p := range []string{"../x", "/etc/passwd", "a/../../x", "~/.ssh/id", "/projectile/x", "..", `..\x`, "/project/../x"} {
		for _, name := range []string{ReadFile, WriteFile, EditFile, ListFiles, Search} {
			_, err := d.Run(name, Args{"path": p, "content": "x", "old": "a", "new": "b", "text": "x"})
			var b *Bad
			if !errors.As(err, &b) || !strings.Contains(b.Text, "project") {
				t.Errorf("%s %s: %v", name, p, err)
			}
		}
	}
}

func TestEditIsExact(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "a.txt", "x = 1\nx = 1\ny = 2\n", "dos.txt", "a\r\nb\r\nc\r\n")
	refused(t, d, EditFile, Args{"path": "a.txt", "old": "x = 1", "new": "z"}, "2 times")
	refused(t, d, EditFile, Args{"path": "a.txt", "old": "y = 2\nmore", "new": "z"}, "line 3 is like")
	refused(t, d, EditFile, Args{"path": "a.txt", "old": "nowhere", "new": "z"}, "read_file")
	refused(t, d, EditFile, Args{"path": "a.txt", "old": "", "new": "z"}, "empty")
	refused(t, d, EditFile, Args{"path": "a.txt", "old": "y", "new": "y"}, "same")
	refused(t, d, EditFile, Args{"path": "none.txt", "old": "y", "new": "z"}, "there is no none.txt")
	run(t, d, EditFile, Args{"path": "dos.txt", "old": "a\nb", "new": "1\n2"})
	if data, err := d.Files.Read("dos.txt"); err != nil || string(data) != "1\r\n2\r\nc\r\n" {
		t.Errorf("%q %v", data, err)
	}
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	d := newDesk(t, "long", long.String(), "wide", strings.Repeat("w", 1<<20), "bin", "a\x00b", "empty", "")
	first := run(t, d, ReadFile, Args{"path": "long"}).Text
	if !strings.HasPrefix(first, "lines 1 to 250 of 1000:\nline 1\n") || !strings.HasSuffix(first, "(more: from_line 251)") {
		t.Errorf("%.80q … %q", first, first[len(first)-40:])
	}
	if next := run(t, d, ReadFile, Args{"path": "long", "from_line": "990"}).Text; !strings.HasPrefix(next, "lines 990 to 1000") || strings.Contains(next, "more") {
		t.Errorf("%q", next)
	}
	for p, want := range map[string]string{"wide": "line 1 of wide begins", "bin": "bin is no text: 3 bytes", "empty": "empty is empty"} {
		if got := run(t, d, ReadFile, Args{"path": p}).Text; !strings.HasPrefix(got, want) || len(got) > readBytes {
			t.Errorf("%s: %.60q (%d bytes)", p, got, len(got))
		}
	}
	if got := run(t, d, ReadFile, Args{"path": "long", "from_line": "5000"}).Text; got != "long has only 1000 lines" {
		t.Errorf("%q", got)
	}
	refused(t, d, ReadFile, Args{"path": "nope"}, "list_files")
	refused(t, d, ReadFile, Args{"path": "."}, "directory")
}

func TestListAndSearch(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "b.txt", "The Gold seam\n", "a/x.py", "print('gold')\n", ".git/x", "gold", "a/bin", "gold\x00")
	if got := run(t, d, ListFiles, Args{"path": "."}).Text; got != ".git/\na/\nb.txt  14 bytes\n" {
		t.Errorf("%q", got)
	}
	if got := run(t, d, Search, Args{"text": "GOLD"}).Text; got != "b.txt:1: The Gold seam\na/x.py:1: print('gold')" {
		t.Errorf("%q", got)
	}
	if got := run(t, d, Search, Args{"text": "gold", "path": "b.txt"}).Text; got != "b.txt:1: The Gold seam" {
		t.Errorf("%q", got)
	}
	if got := run(t, d, Search, Args{"text": "silver"}).Text; !strings.HasPrefix(got, "nothing in 3 files") {
		t.Errorf("%q", got)
	}
	refused(t, d, Search, Args{"text": " "}, "text to look for")
	refused(t, d, Search, Args{"text": "x", "path": "none"}, "there is no none")
}

func TestManyHitsAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "many", strings.Repeat("hit "+strings.Repeat("x", 300)+"\n", 500))
	got := run(t, d, Search, Args{"text": "hit"}).Text
	if n := strings.Count(got, "many:"); n != hitsMost || !strings.HasSuffix(got, "(there may be more)") || len(got) > 10_000 {
		t.Errorf("%d hits, %d bytes", n, len(got))
	}
}
