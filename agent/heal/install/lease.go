package install

import (
	"os"
	"path/filepath"
	"sync"
	"time"
)

// leases keep the layers that this process uses from being pruned by another.
// They go with the process.
type leases struct {
	mu   sync.Mutex
	held map[string]*os.File
}

// hold marks a layer as used, and as in use until this process ends. It is
// false when the layer is gone.
func (h *leases) hold(dir, key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held[key] != nil {
		return true
	}
	path := filepath.Join(dir, key, layerFile)
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	if !share(f) || !same(f, path) {
		f.Close()
		return false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	if h.held == nil {
		h.held = map[string]*os.File{}
	}
	h.held[key] = f
	return true
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

// Find returns the finished layer of that key, and keeps it from being pruned
// while this process lives.
func (in *Installer) Find(key string) (Layer, bool) {
	l, ok := in.Store.Find(key)
	if !ok || !in.hold(key) {
		return Layer{}, false
	}
	return l, true
}
