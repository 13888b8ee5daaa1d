package image

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Folders beside the images: being made, and being removed.
const (
	newPrefix = "new-"
	oldPrefix = "gone-"
)

// buildAge is after how long a folder that is being made was given up.
const buildAge = 24 * time.Hour

// hold reads what is kept beside a tree, and keeps the tree from being removed
// as long as the file is open. Its time tells when the image was used last.
func hold(dir string) (config, *os.File, bool) {
	var c config
	path := filepath.Join(dir, configFile)
	f, err := os.Open(path)
	if err != nil {
		return c, nil, false
	}
	if !share(f) || !same(f, path) || json.NewDecoder(f).Decode(&c) != nil {
		f.Close()
		return c, nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	if !locksHold { // an open file would be in the way of who removes it
		f.Close()
	}
	return c, f, true
}

// same says whether path still leads to the open file.
func same(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// Remove removes an image unless a process uses it, and says whether it did.
func (s *Store) Remove(digest string) (bool, error) {
	dir := s.path(digest)
	f, err := os.Open(filepath.Join(dir, configFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	free := unused(f)
	gone := filepath.Join(filepath.Dir(dir), oldPrefix+filepath.Base(dir))
	if !locksHold {
		f.Close()
	}
	if free {
		err = os.Rename(dir, gone)
	}
	f.Close()
	if !free || err != nil {
		return false, err
	}
	s.unpin(digest)
	return true, removeTree(gone)
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
	dir := filepath.Join(s.Dir, "roots")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		old := strings.HasPrefix(e.Name(), oldPrefix)
		if old || strings.HasPrefix(e.Name(), newPrefix) && now.Sub(info.ModTime()) > buildAge {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeTree removes a tree with folders that its owner may not write to.
func removeTree(top string) error {
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder must be entered to be emptied
		}
		return nil
	})
	return os.RemoveAll(top)
}
