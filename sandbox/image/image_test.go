package image

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// entry is one entry of a layer: a file unless it says otherwise.
type entry struct {
	tar.Header
	text string
}

func file(name, text string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, text}
}
func folder(name string) entry {
	return entry{tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}, ""}
}
func symlink(name, to string) entry {
	return entry{tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777}, ""}
}
func hardlink(name, to string) entry {
	return entry{tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}, ""}
}

func layer(t *testing.T, entries ...entry) v1.Layer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		e.Size = int64(len(e.text))
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// image makes an image for this machine.
func image(t *testing.T, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	img, err = mutate.Config(img, v1.Config{Env: []string{"PATH=/image/bin", "LANG=x"}})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// push serves an image and gives its name.
func push(t *testing.T, server *httptest.Server, img v1.Image) string {
	t.Helper()
	ref := strings.TrimPrefix(server.URL, "http://") + "/class/pots:1"
	parsed, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(parsed, img); err != nil {
		t.Fatal(err)
	}
	return ref
}

func serve(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return s
}

// unpacked pulls an image of these layers.
func unpacked(t *testing.T, s *Store, layers ...v1.Layer) (Root, error) {
	t.Helper()
	return s.Get(context.Background(), push(t, serve(t), image(t, layers...)))
}

func TestPull(t *testing.T) {
	t.Parallel()
	root, err := unpacked(t, &Store{Dir: t.TempDir()},
		layer(t, folder("usr"), folder("usr/lib"), symlink("lib", "usr/lib"), file("usr/lib/old", "old"), file("etc/gone", ""), file("etc/stays", "s"),
			symlink("run", "/var/run"), file("sub/a", "a"), file("sub/b", "b")),
		layer(t, file("lib/new", "new"), file("etc/.wh.gone", ""), file("run/x", "x"), file("sub/c", "c"), file("sub/.wh..wh..opq", ""), hardlink("twin", "usr/lib/old")))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"usr/lib/old": "old", "usr/lib/new": "new", "etc/stays": "s", "var/run/x": "x", "sub/c": "c", "twin": "old"} {
		if text, err := os.ReadFile(filepath.Join(root.Tree, path)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	for _, path := range []string{"etc/gone", "sub/a", "sub/b", "etc/.wh.gone", "sub/.wh..wh..opq"} {
		if exists(filepath.Join(root.Tree, path)) {
			t.Errorf("%s is there", path)
		}
	}
	if !slices.Equal(root.Env, []string{"PATH=/image/bin", "LANG=x"}) || !strings.HasPrefix(root.Digest, "sha256:") {
		t.Errorf("got %+v", root)
	}
}

func TestHostileLayers(t *testing.T) {
	t.Parallel()
	device := entry{tar.Header{Typeflag: tar.TypeChar, Name: "dev/mem", Devmajor: 1, Devminor: 1, Mode: 0o666}, ""}
	fifo := entry{tar.Header{Typeflag: tar.TypeFifo, Name: "fifo", Mode: 0o666}, ""}
	setuid := entry{tar.Header{Typeflag: tar.TypeReg, Name: "bin/su", Mode: 0o6755}, "x"}
	for what, c := range map[string]struct {
		refused string
		entries []entry
	}{
		"absolute":                 {"leads out", []entry{file("/etc/x", "hostile")}},
		"dot-dot":                  {"leads out", []entry{file("a/../../victim", "hostile")}},
		"whiteout of the top":      {"leads out", []entry{file("a/.wh...", "")}},
		"whiteout outside":         {"", []entry{symlink("a", "../.."), file("a/.wh.victim", "")}},
		"opaque outside":           {"", []entry{symlink("a", "../../.."), file("a/.wh..wh..opq", "")}},
		"link then write":          {"", []entry{symlink("a", "../../.."), file("a/victim", "hostile")}},
		"absolute link then write": {"", []entry{symlink("a", "/"), file("a/victim", "hostile")}},
		"link to a file":           {"", []entry{symlink("a", "../../../victim"), file("a", "hostile")}},
		"folder over a link":       {"", []entry{symlink("a", "../../.."), folder("a"), file("a/victim", "hostile")}},
		"circle of links":          {"too many links", []entry{symlink("a", "b"), symlink("b", "a"), file("a/x", "")}},
		"hard link out":            {"leads out", []entry{hardlink("a", "../../../victim"), file("a", "hostile")}},
		"hard link through link":   {"no such file", []entry{symlink("l", "../../.."), hardlink("a", "l/victim"), file("a", "hostile")}},
		"hard link to a folder":    {"two names", []entry{folder("d"), hardlink("a", "d")}},
		"device":                   {"", []entry{device, fifo}},
		"set-user-id":              {"", []entry{setuid}},
		"many entries":             {"more entries", []entry{folder("1"), folder("2"), folder("3"), folder("4"), folder("5"), folder("6")}},
		"many bytes":               {"larger", []entry{file("a", strings.Repeat("x", 2000))}},
	} {
		top := t.TempDir()
		victim := filepath.Join(top, "victim")
		if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &Store{Dir: filepath.Join(top, "images"), Limits: Limits{Bytes: 1000, Entries: 5}}
		root, err := unpacked(t, s, layer(t, c.entries...))
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", what, err, c.refused)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
			t.Errorf("%s: the file outside is %q, %v", what, text, err)
		}
		if left, _ := os.ReadDir(top); len(left) != 2 {
			t.Errorf("%s: made outside: %v", what, left)
		}
		wantPlain(t, what, root.Tree)
	}
}

// wantPlain wants nothing but files, folders and links, without special bits.
func wantPlain(t *testing.T, what, tree string) {
	t.Helper()
	if tree == "" {
		return
	}
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if m := info.Mode(); m&^(fs.ModeDir|fs.ModeSymlink|fs.ModePerm) != 0 {
			return fmt.Errorf("%s is %v", path, m)
		}
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// lying gives another content than the image names.
type lying struct {
	v1.Layer
	other v1.Layer
}

func (l lying) Uncompressed() (io.ReadCloser, error) { return l.other.Uncompressed() }

func TestTamperedLayer(t *testing.T) {
	t.Parallel()
	good, bad := layer(t, file("a", "good")), layer(t, file("a", "evil"))
	u, err := newUnpacker(t.TempDir(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer u.close()
	want, err := good.DiffID()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.layer(lying{good, bad}, want); err == nil || !strings.Contains(err.Error(), "not what the image names") {
		t.Errorf("got %v", err)
	}
	if err := u.layer(good, want); err != nil {
		t.Errorf("the true one: %v", err)
	}
}
