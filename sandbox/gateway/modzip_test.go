package gateway

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"
)

// zipOf writes files of a zip, each twice the text "name: content".
func zipOf(t testing.TB, names []string, content func(i int) []byte) string {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i, name := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: []uint16{zip.Deflate, zip.Store}[i%2]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.zip")
	write(t, path, buf.String())
	return path
}

// The hash is the one that the go command computes, whatever the order of the
// files.
func TestZipHash(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // nothing secret
	for _, n := range []int{0, 1, 2, 300} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("example.test/m@v1.0.0/%x/%d-ä.go", rnd.Uint32(), i))
		}
		path := zipOf(t, names, func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(rnd.Uint32())}, rnd.IntN(100_000)) })
		want, err := dirhash.HashZip(path, dirhash.Hash1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := zipHash(t.Context(), path); got != want || err != nil {
			t.Errorf("%d files: %s %v, want %s", n, got, err, want)
		}
	}
}

func TestZipHashRefuses(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("kintsugi "), 50_000)
	names := []string{"m@v1.0.0/a.go", "m@v1.0.0/b.go", "m@v1.0.0/c.go"}
	good := zipOf(t, names, func(int) []byte { return long })
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(name string, at func([]byte) []byte) string {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, string(at(bytes.Clone(data))))
		return path
	}
	for what, path := range map[string]string{
		"twice":  zipOf(t, []string{"a", "b", "a"}, func(int) []byte { return long }),
		"broken": zipOf(t, []string{"a\nb"}, func(int) []byte { return long }),
		"":       filepath.Join(t.TempDir(), "missing.zip"),
		"zip":    changed("cut.zip", func(b []byte) []byte { return b[:len(b)/2] }),
		"zip: c": changed("flipped.zip", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }),
		"valid zip": changed("bomb.zip", func(b []byte) []byte { // says that it is smaller than it is
			i := bytes.LastIndex(b, []byte("PK\x01\x02"))
			copy(b[i+24:], []byte{1, 0, 0, 0})
			return b
		}),
		"more than": changed("large.zip", func(b []byte) []byte {
			i := bytes.LastIndex(b, []byte("PK\x01\x02"))
			copy(b[i+24:], []byte{0, 0, 0, 0x7f})
			return b
		}),
	} {
		if got, err := zipHash(t.Context(), path); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %s %v, want an error with %q", path, got, err, what)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := zipHash(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %s %v", got, err)
	}
}

func BenchmarkZipHash(b *testing.B) {
	var names []string
	for i := range 4_000 {
		names = append(names, fmt.Sprintf("example.test/m@v1.0.0/%d.go", i))
	}
	path := zipOf(b, names, func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d kintsugi ", i), 4_000) })
	for name, hash := range map[string]func() (string, error){
		"ours":  func() (string, error) { return zipHash(b.Context(), path) },
		"plain": func() (string, error) { return dirhash.HashZip(path, dirhash.Hash1) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := hash(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
