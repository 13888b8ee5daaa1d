package namespace

import (
	"os"
	"path/filepath"
)

// workDir is the scratch directory of an overlay.
type workDir struct {
	path string
	own  bool // made for one box and removed after it
}

// makeWorks makes the work directories that are the box's own and lists all
// that its overlays use.
func (v *view) makeWorks() ([]workDir, error) {
	var out []workDir
	for i := range v.parts {
		p := &v.parts[i]
		if p.work == "" {
			continue
		}
		out = append(out, workDir{p.work, p.ownWork})
		if p.ownWork {
			if err := os.MkdirAll(p.work, 0o755); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// clear empties the directory: the kernel leaves one in it that nobody may
// enter.
func (w workDir) clear() {
	inner := filepath.Join(w.path, "work")
	if os.Remove(inner) != nil {
		os.Chmod(inner, 0o700)
		os.RemoveAll(inner)
	}
	if w.own {
		os.Remove(w.path)
	}
}
