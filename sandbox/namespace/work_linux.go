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

// works lists the work directories that a view's overlays use.
func (v *view) works() []workDir {
	var out []workDir
	for i := range v.parts {
		if p := &v.parts[i]; p.work != "" {
			out = append(out, workDir{p.work, p.ownWork})
		}
	}
	return out
}

// makeWorks makes those that are the box's own.
func makeWorks(works []workDir) error {
	for _, w := range works {
		if w.own {
			if err := os.MkdirAll(w.path, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// clearWorks empties the directories, in which the kernel leaves one that
// nobody may enter, and removes those that were the box's own.
func clearWorks(works []workDir) {
	for _, w := range works {
		inner := filepath.Join(w.path, "work")
		if os.Remove(inner) != nil {
			_ = os.Chmod(inner, 0o700)
			os.RemoveAll(inner)
		}
		if w.own {
			os.Remove(w.path)
			os.Remove(filepath.Dir(w.path)) // when it was the last one
		}
	}
}
