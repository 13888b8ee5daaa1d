package namespace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"kintsugi/sandbox"
)

// workDir is the scratch directory of an overlay.
type workDir struct {
	path string
	own  bool // made for one box and removed after it
}

// written are the directories of the host that a box writes to through an
// overlay.
func written(spec *sandbox.Spec) []string {
	var out []string
	for _, dir := range []string{spec.Workspace.Upper, spec.Workspace.Work, spec.Capture} {
		if dir != "" {
			out = append(out, dir)
		}
	}
	return out
}

// overlaid are the directories of the host, other than the project, that a box
// has in overlays.
func overlaid(spec *sandbox.Spec) []string {
	return slices.Concat(written(spec), spec.Workspace.Lower, spec.Layers)
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

// makeWorks makes those that are the box's own, and clears what a killed box
// left: the kernel mounts no overlay over it.
func makeWorks(works []workDir) error {
	for _, w := range works {
		w.clear()
		if w.own {
			if err := os.MkdirAll(w.path, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// clearWorks empties the directories and removes those that were the box's own.
func clearWorks(works []workDir) {
	for _, w := range works {
		w.clear()
		if w.own {
			os.Remove(w.path)
			os.Remove(filepath.Dir(w.path)) // when it was the last one
		}
	}
}

// clear empties the directory, in which the kernel leaves directories that
// nobody may enter: one, and in it those of a volatile overlay's mark.
func (w workDir) clear() {
	inner := filepath.Join(w.path, "work")
	if err := os.Remove(inner); err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	for _, d := range []string{"", "incompat", "incompat/volatile"} {
		_ = os.Chmod(filepath.Join(inner, d), 0o700)
	}
	os.RemoveAll(inner)
}
