package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kintsugi/sandbox/shelf"
)

// Kept is a layer on disk.
type Kept struct {
	Layer
	Bytes int64     `json:"bytes"`
	Used  time.Time `json:"used"` // last
}

// List gives all layers, the one used last first.
func (s Store) List() ([]Kept, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []Kept
	for _, e := range entries {
		l, ok := s.Find(e.Name())
		if !ok {
			continue
		}
		k := Kept{Layer: l, Bytes: shelf.Size(filepath.Join(s.Dir, e.Name()))}
		if info, err := os.Stat(filepath.Join(s.Dir, e.Name(), layerFile)); err == nil {
			k.Used = info.ModTime()
		}
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Kept) int { return b.Used.Compare(a.Used) })
	return out, nil
}

// Remove deletes a layer unless a process uses it; it tells whether it did.
func (s Store) Remove(key string) (bool, error) {
	return shelf.Remove(filepath.Join(s.Dir, key, layerFile))
}

// buildAge is how old a layer in the making must be to be nobody's: an
// installation has a time limit far below.
const buildAge = 3 * time.Hour

// Sweep removes what killed processes left.
func (s Store) Sweep(now time.Time) error { return shelf.Sweep(s.Dir, buildAge, now) }
