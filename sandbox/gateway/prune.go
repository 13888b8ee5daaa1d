package gateway

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Info describes the cache.
type Info struct {
	Dir       string          `json:"dir"`
	Bytes     int64           `json:"bytes"`
	Max       int64           `json:"max"`
	Artefacts int             `json:"artefacts"`
	Pages     int             `json:"pages"`
	By        []EcosystemInfo `json:"by"`
}

// EcosystemInfo is the share of one ecosystem.
type EcosystemInfo struct {
	Ecosystem string   `json:"ecosystem"`
	Artefacts int      `json:"artefacts"`
	Bytes     int64    `json:"bytes"`
	Packages  []string `json:"packages"` // "pandas 2.3.3"
}

// Info looks through the cache.
func (g *Gateway) Info() (Info, error) { return g.store.info() }

// CacheInfo is Info for a cache that no gateway has open.
func CacheInfo(dir string) (Info, error) {
	s, err := openStore(dir, DefaultLimits.Cache, time.Now)
	if err != nil {
		return Info{}, err
	}
	return s.info()
}

// Prune removes what was used longest ago until the cache has at most max
// bytes, and what killed downloads left. It gives the bytes that it freed.
func (g *Gateway) Prune(max int64) (int64, error) { return g.store.prune(max) }

// PruneCache is Prune for a cache that no gateway has open.
func PruneCache(dir string, max int64) (int64, error) {
	s, err := openStore(dir, max, time.Now)
	if err != nil {
		return 0, err
	}
	return s.prune(max)
}

// Used is one file of the cache and when it was used last.
type Used struct {
	Bytes int64
	At    time.Time
}

// CacheUse lists the files of a cache, for a bound that it shares with others:
// PruneCache then removes what was used longest ago.
func CacheUse(dir string) ([]Used, error) {
	s, err := openStore(dir, DefaultLimits.Cache, time.Now)
	if err != nil {
		return nil, err
	}
	var out []Used
	for _, sub := range []string{"blobs", "pages"} {
		list, err := s.walk(sub)
		if err != nil {
			return nil, err
		}
		for _, k := range list {
			out = append(out, Used{k.size, k.used})
		}
	}
	return out, nil
}

// kept is one file of the cache.
type kept struct {
	path string
	size int64
	used time.Time
}

func (s *store) walk(sub string) ([]kept, error) {
	var out []kept
	err := filepath.WalkDir(filepath.Join(s.dir, sub), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return skipMissing(err)
		}
		info, err := d.Info()
		if err == nil {
			out = append(out, kept{path, info.Size(), info.ModTime()})
		}
		return skipMissing(err)
	})
	return out, err
}

// skipMissing forgives files that another process removed meanwhile.
func skipMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *store) info() (Info, error) {
	blobs, err := s.walk("blobs")
	if err != nil {
		return Info{}, err
	}
	pages, err := s.walk("pages")
	if err != nil {
		return Info{}, err
	}
	in := Info{Dir: s.dir, Max: s.max, Artefacts: len(blobs), Pages: len(pages)}
	for _, k := range slices.Concat(blobs, pages) {
		in.Bytes += k.size
	}
	dirs, _ := os.ReadDir(filepath.Join(s.dir, "files"))
	for _, d := range dirs {
		e := EcosystemInfo{Ecosystem: d.Name(), Packages: s.names(d.Name())}
		for r := range s.records(d.Name()) {
			if s.has(r.Blob) {
				e.Artefacts++
				e.Bytes += r.Size
			}
		}
		in.By = append(in.By, e)
	}
	return in, nil
}

// pruneEvery is how many bytes are added before the whole is measured again.
const pruneEvery = 256 << 20

// pruneSometimes keeps the cache below its bound without measuring it at each
// download.
func (s *store) pruneSometimes() error {
	if s.added.Load() < min(pruneEvery, s.max/8) {
		return nil
	}
	s.added.Store(0)
	_, err := s.prune(s.max)
	return err
}

func (s *store) prune(max int64) (int64, error) {
	blobs, err := s.walk("blobs")
	if err != nil {
		return 0, err
	}
	pages, err := s.walk("pages")
	if err != nil {
		return 0, err
	}
	all := slices.Concat(blobs, pages)
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	var total, freed int64
	for _, k := range all {
		total += k.size
	}
	for _, k := range all {
		if total-freed <= max {
			break
		}
		if err := os.Remove(k.path); skipMissing(err) != nil {
			return freed, err
		}
		freed += k.size
	}
	return freed, errors.Join(s.dropRecords(), s.dropParts())
}

// dropRecords removes what is known of artefacts that are gone.
func (s *store) dropRecords() error {
	dirs, _ := os.ReadDir(filepath.Join(s.dir, "files"))
	for _, d := range dirs {
		for r := range s.records(d.Name()) {
			if s.has(r.Blob) {
				continue
			}
			if err := os.Remove(s.recordPath(r.Ecosystem, r.File, r.Blob)); skipMissing(err) != nil {
				return err
			}
		}
	}
	return nil
}

// partAge is how old a part without a lock must be to be nobody's; whole files
// are written within moments.
const partAge = time.Hour

func (s *store) dropParts() error {
	parts, err := s.walk("parts")
	if err != nil {
		return err
	}
	for _, p := range parts {
		if strings.HasPrefix(filepath.Base(p.path), "whole-") {
			if time.Since(p.used) > partAge {
				_ = os.Remove(p.path)
			}
			continue
		}
		abandoned(p.path)
	}
	return nil
}
