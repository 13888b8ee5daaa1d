package image

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kintsugi/sandbox/shelf"
)

// Kept is an unpacked image.
type Kept struct {
	Digest string   `json:"digest"`
	Names  []string `json:"names"`
	Bytes  int64    `json:"bytes"`
	// Used is when it was used last.
	Used time.Time `json:"used"`
}

// List tells which images are unpacked, by digest.
func (s *Store) List() ([]Kept, error) {
	names := s.names()
	dirs, err := filepath.Glob(filepath.Join(s.Dir, "roots", "*", configFile))
	var out []Kept
	for _, file := range dirs {
		var c config
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &c) != nil || s.path(c.Digest) != filepath.Dir(file) {
			continue // or it is half made, or half removed
		}
		k := Kept{Digest: c.Digest, Names: names[c.Digest], Bytes: shelf.Size(filepath.Join(filepath.Dir(file), "tree"))}
		if info, err := os.Stat(file); err == nil {
			k.Used = info.ModTime()
		}
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Kept) int { return strings.Compare(a.Digest, b.Digest) })
	return out, err
}

// names are the pinned names by digest.
func (s *Store) names() map[string][]string {
	out := map[string][]string{}
	files, _ := filepath.Glob(filepath.Join(s.Dir, "names", "*.json"))
	for _, file := range files {
		var p pin
		if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &p) == nil {
			out[p.Digest] = append(out[p.Digest], p.Name)
		}
	}
	return out
}
