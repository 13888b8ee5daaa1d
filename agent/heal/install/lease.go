package install

import (
	"os"
	"path/filepath"
	"sync"

	"kintsugi/sandbox/shelf"
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
	f, ok := shelf.Hold(filepath.Join(dir, key, layerFile))
	if !ok {
		return false
	}
	if h.held == nil {
		h.held = map[string]*os.File{}
	}
	h.held[key] = f
	return true
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
