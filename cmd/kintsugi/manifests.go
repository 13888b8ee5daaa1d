package main

import (
	"io/fs"
	"os"
)

// userManifests are the user's own rules, which win over the built-in ones: the
// folders manifests, maps and lang in Kintsugi's configuration directory.
func userManifests(p places) []fs.FS {
	if info, err := os.Stat(p.config); err != nil || !info.IsDir() {
		return nil
	}
	return []fs.FS{os.DirFS(p.config)}
}
