package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// store is the cache on disk:
//
//	blobs/ALGO/HH/HEX     artefacts by the hash of the index ("url" for those
//	                      that their client checks itself)
//	files/ECOSYSTEM/NAME  what is known of an artefact: JSON, naming its blob
//	pages/ECOSYSTEM/NAME  index pages: a line of JSON, then the body
//	parts/                downloads under way, each locked by its process
//
// Every file appears whole, by a rename. The time of a file is that of its
// last use (blobs) or last confirmation (pages).
type store struct {
	dir   string
	max   int64
	now   func() time.Time
	added atomic.Int64 // bytes since the last look at the whole size
}

func openStore(dir string, max int64, now func() time.Time) (*store, error) {
	for _, sub := range []string{"blobs", "files", "pages", "parts"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("cannot make the package cache: %w", err)
		}
	}
	return &store{dir: dir, max: max, now: now}, nil
}

// sum is a checksum: "sha256", "sha384", "sha512", "sha1", or "url" for a
// blob that is named by its address.
type sum struct{ Algo, Hex string }

func (s sum) String() string { return s.Algo + ":" + s.Hex }

func (s sum) none() bool { return s.Algo == "" }

// byURL names the blob of an artefact whose index gives no hash.
func byURL(addr string) sum {
	h := sha256.Sum256([]byte(addr))
	return sum{"url", hex.EncodeToString(h[:])}
}

func (s *store) blobPath(b sum) string {
	return filepath.Join(s.dir, "blobs", b.Algo, b.Hex[:2], b.Hex)
}

// blob opens an artefact and marks it as used.
func (s *store) blob(b sum) (*os.File, fs.FileInfo, error) {
	path := s.blobPath(b)
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if s.now().Sub(info.ModTime()) > time.Minute {
		_ = os.Chtimes(path, s.now(), s.now())
	}
	return f, info, nil
}

// forget removes an artefact, so that it is fetched again.
func (s *store) forget(b sum) { _ = os.Remove(s.blobPath(b)) }

func (s *store) has(b sum) bool {
	if b.none() {
		return false
	}
	_, err := os.Stat(s.blobPath(b))
	return err == nil
}

// record is what is kept about an artefact.
type record struct {
	Ecosystem string    `json:"ecosystem"`
	Name      string    `json:"name"`
	Version   string    `json:"version,omitempty"`
	File      string    `json:"file"`
	Blob      sum       `json:"blob"`
	Size      int64     `json:"size"`
	Verified  string    `json:"verified,omitempty"`
	Stored    time.Time `json:"stored"`
}

// fileName makes one path element of a name and a key that tells apart what
// has the same name.
func fileName(name, key string) string {
	h := sha256.Sum256([]byte(key))
	if len(name) > 120 {
		name = name[:120]
	}
	return url.PathEscape(name) + "@" + hex.EncodeToString(h[:6])
}

func (s *store) recordPath(eco, file string, b sum) string {
	return filepath.Join(s.dir, "files", eco, fileName(file, b.String()))
}

func (s *store) record(eco, file string, b sum) (record, bool) {
	var r record
	data, err := os.ReadFile(s.recordPath(eco, file, b))
	if err != nil || json.Unmarshal(data, &r) != nil {
		return record{}, false
	}
	return r, true
}

// writeWhole makes a file appear with its whole content or not at all.
func (s *store) writeWhole(path string, parts ...[]byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Join(s.dir, "parts"), "whole-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	for _, p := range parts {
		if _, err := tmp.Write(p); err != nil {
			tmp.Close()
			return err
		}
		s.added.Add(int64(len(p)))
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// part is an artefact being downloaded. While one process writes it, others
// wait for its lock.
type part struct {
	*os.File
	store *store
	blob  sum
}

// begin waits until nobody else downloads the blob and gives an empty part.
func (s *store) begin(ctx context.Context, b sum) (*part, error) {
	f, err := lockPart(ctx, filepath.Join(s.dir, "parts", b.Algo+"-"+b.Hex))
	if err != nil {
		return nil, fmt.Errorf("cannot write to the package cache: %w", err)
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	return &part{File: f, store: s, blob: b}, nil
}

// keep publishes the part as a blob.
func (p *part) keep(r record) error {
	final := p.store.blobPath(p.blob)
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return err
	}
	info, err := p.Stat()
	if err != nil {
		return err
	}
	r.Size, r.Blob, r.Stored = info.Size(), p.blob, p.store.now()
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := p.store.writeWhole(p.store.recordPath(r.Ecosystem, r.File, p.blob), data); err != nil {
		return err
	}
	p.store.added.Add(info.Size())
	return errors.Join(publish(p.File, final), os.Chtimes(final, p.store.now(), p.store.now()))
}

// drop removes the part; after keep it only lets go of the lock.
func (p *part) drop() { dropPart(p.File) }

// names lists the packages of an ecosystem whose artefacts are here.
func (s *store) names(eco string) []string {
	seen := map[string]bool{}
	for r := range s.records(eco) {
		if s.has(r.Blob) {
			seen[strings.TrimSpace(r.Name+" "+r.Version)] = true
		}
	}
	out := make([]string, 0, len(seen))
	for n := range seen {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func (s *store) records(eco string) func(yield func(record) bool) {
	return func(yield func(record) bool) {
		dir := filepath.Join(s.dir, "files", eco)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			var r record
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err == nil && json.Unmarshal(data, &r) == nil && len(r.Blob.Hex) > 2 && !yield(r) {
				return
			}
		}
	}
}
