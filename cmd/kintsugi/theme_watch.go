package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// themeQuiet is how long a theme file must rest before it is read again:
// editors write in several steps.
const themeQuiet = 50 * time.Millisecond

// watchThemes tells when a file in the folder of the user's own themes has
// changed. Nothing runs while nothing changes. Without such a folder, or where
// folders cannot be watched, it never tells anything.
func watchThemes(ctx context.Context, dir string) <-chan struct{} {
	out := make(chan struct{}, 1)
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return out
	}
	if err := w.Add(dir); err != nil {
		_ = w.Close()
		return out
	}
	go func() {
		defer w.Close()
		tellThemes(ctx, w, out)
	}()
	return out
}

// tellThemes waits for changes until ctx ends; several in a row are one.
func tellThemes(ctx context.Context, w *fsnotify.Watcher, out chan<- struct{}) {
	var quiet <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if filepath.Ext(e.Name) == ".toml" {
				quiet = time.After(themeQuiet)
			}
		case _, ok := <-w.Errors:
			if !ok {
				return
			}
		case <-quiet:
			quiet = nil
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}
}
