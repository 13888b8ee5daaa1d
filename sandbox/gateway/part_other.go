//go:build !unix

package gateway

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// lockPart makes a part of its own for each download: without locks that die
// with their process, two processes download twice and the last one wins.
func lockPart(_ context.Context, path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-")
}

func publish(f *os.File, final string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), final)
}

func dropPart(f *os.File) {
	f.Close()
	_ = os.Remove(f.Name())
}

// abandoned says whether a part is older than any download, and removes it.
func abandoned(path string) bool {
	info, err := os.Stat(path)
	return err == nil && time.Since(info.ModTime()) > 24*time.Hour && os.Remove(path) == nil
}
