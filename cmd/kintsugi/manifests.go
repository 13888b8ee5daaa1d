package main

import (
	"io/fs"
	"os"
	"path/filepath"
)

// userManifests are the user's own rules, which win over the built-in ones: the
// folders manifests, maps and lang in Kintsugi's configuration directory.
func userManifests(p places) []fs.FS {
	for _, folder := range []string{"manifests", "maps", "lang"} {
		if info, err := os.Stat(filepath.Join(p.config, folder)); err == nil && info.IsDir() {
			return []fs.FS{os.DirFS(p.config)}
		}
	}
	return nil
}
