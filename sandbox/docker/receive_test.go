package docker

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kintsugi/sandbox/docker/keeper"
)

// archive makes what a subverted box might hand back.
func archive(t *testing.T, entries ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range entries {
		h.Mode |= 0o7777
		if h.Typeflag == tar.TypeReg && h.PAXRecords == nil {
			h.Size = int64(len("hostile"))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte("hostile")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestHostileChanges(t *testing.T) {
	t.Parallel()
	gone := map[string]string{keeper.Gone: "1"}
	for name, entries := range map[string][]tar.Header{
		"absolute":        {{Typeflag: tar.TypeReg, Name: "/etc/x"}},
		"dot-dot":         {{Typeflag: tar.TypeReg, Name: "a/../../outside"}},
		"top":             {{Typeflag: tar.TypeDir, Name: "./"}},
		"link then write": {{Typeflag: tar.TypeSymlink, Name: "a", Linkname: ".."}, {Typeflag: tar.TypeReg, Name: "a/outside"}},
		"absolute link":   {{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/tmp"}, {Typeflag: tar.TypeReg, Name: "a/outside"}},
		"remove outside":  {{Typeflag: tar.TypeSymlink, Name: "a", Linkname: ".."}, {Typeflag: tar.TypeReg, Name: "a/victim", PAXRecords: gone}},
		"too many bytes":  {{Typeflag: tar.TypeReg, Name: "a"}, {Typeflag: tar.TypeReg, Name: "b"}},
		"too many files":  {{Typeflag: tar.TypeDir, Name: "a"}, {Typeflag: tar.TypeDir, Name: "b"}, {Typeflag: tar.TypeDir, Name: "c"}, {Typeflag: tar.TypeDir, Name: "d"}},
	} {
		top := t.TempDir()
		victim := filepath.Join(top, "victim")
		if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(top, "upper")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		x := receiver{dir: dir, overlay: true, bytes: 10, files: 3}
		if err := x.receive(archive(t, entries...)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
			t.Errorf("%s: the file outside is %q, %v", name, text, err)
		}
		if left, _ := os.ReadDir(top); len(left) != 2 {
			t.Errorf("%s: made outside: %v", name, left)
		}
	}
}

func TestHarmlessChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := receiver{dir: dir, bytes: 1000, files: 10}
	err := x.receive(archive(t, tar.Header{Typeflag: tar.TypeDir, Name: "a/"}, tar.Header{Typeflag: tar.TypeReg, Name: "a/f"},
		tar.Header{Typeflag: tar.TypeLink, Name: "hard", Linkname: "a/f"}, tar.Header{Typeflag: tar.TypeChar, Name: "null", Devmajor: 1, Devminor: 3}))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(dir, "a/f"))
	if err != nil || info.Mode() != 0o777 {
		t.Errorf("a/f is %v, %v: want plain permissions", info.Mode(), err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("more than the folder was made: %v", left)
	}
}
