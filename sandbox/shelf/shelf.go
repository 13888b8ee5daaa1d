// Package shelf keeps folders that several processes share: unpacked images,
// installed layers. A folder is whole from the moment it has its name; one file
// in it, the mark, is locked by who uses the folder, and its time is that of
// the last use. The package never decides what is kept and what goes.
package shelf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What the names of folders begin with that are being made, and being removed.
const (
	Making = ".new-"
	going  = ".old-"
)

// Hold marks a folder as used now, and as in use until the file is closed or
// this process ends. It is false when the folder is gone. Where the system has
// no such locks the file is closed already: it would be in the way of who
// removes the folder.
func Hold(mark string) (*os.File, bool) {
	f, err := os.Open(mark)
	if err != nil {
		return nil, false
	}
	if !share(f) || !same(f, mark) {
		f.Close()
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(mark, now, now)
	if !Locks {
		f.Close()
	}
	return f, true
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

// Remove removes the folder that the mark is in unless a process uses it, and
// says whether it did.
func Remove(mark string) (bool, error) {
	f, err := os.Open(mark)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	free := unused(f)
	if !Locks {
		f.Close()
	}
	folder := filepath.Dir(mark)
	gone := filepath.Join(filepath.Dir(folder), going+filepath.Base(folder))
	if free {
		err = os.Rename(folder, gone)
	}
	f.Close()
	if !free || err != nil {
		return false, err
	}
	return true, removeAll(gone)
}

// Sweep removes what killed processes left in dir half removed, and half made
// for longer than age. A dir that is not there is clean.
func Sweep(dir string, age time.Duration, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if strings.HasPrefix(e.Name(), going) || strings.HasPrefix(e.Name(), Making) && now.Sub(info.ModTime()) > age {
			if err := removeAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeAll removes a tree, also one with folders that forbid writing.
func removeAll(top string) error {
	if os.RemoveAll(top) == nil {
		return nil
	}
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder must be entered to be emptied
		}
		return nil
	})
	return os.RemoveAll(top)
}
