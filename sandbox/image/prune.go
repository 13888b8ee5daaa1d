package image

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"kintsugi/sandbox/shelf"
)

// buildAge is after how long a folder that is being made was given up.
const buildAge = 24 * time.Hour

// hold reads what is kept beside a tree, and keeps the tree from being removed
// as long as the file is open. Its time tells when the image was used last.
func hold(dir string) (config, *os.File, bool) {
	var c config
	mark := filepath.Join(dir, configFile)
	f, ok := shelf.Hold(mark)
	if !ok {
		return c, nil, false
	}
	if data, err := os.ReadFile(mark); err != nil || json.Unmarshal(data, &c) != nil {
		f.Close()
		return c, nil, false
	}
	return c, f, true
}

// Remove removes an image unless a process uses it, and says whether it did.
func (s *Store) Remove(digest string) (bool, error) {
	dir := s.path(digest)
	if dir == "" {
		return false, nil
	}
	gone, err := shelf.Remove(filepath.Join(dir, configFile))
	if gone {
		s.unpin(digest)
	}
	return gone, err
}

// unpin forgets the names that stand for a digest.
func (s *Store) unpin(digest string) {
	files, _ := filepath.Glob(filepath.Join(s.Dir, "names", "*.json"))
	for _, file := range files {
		var p pin
		if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &p) == nil && p.Digest == digest {
			_ = os.Remove(file)
		}
	}
}

// Sweep removes what killed processes left half made or half removed.
func (s *Store) Sweep(now time.Time) error {
	return shelf.Sweep(filepath.Join(s.Dir, "roots"), buildAge, now)
}
