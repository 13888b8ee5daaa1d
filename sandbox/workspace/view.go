package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"

	"kintsugi/sandbox/workspace/beneath"
)

// View reads the project as it is at a checkpoint, without any mount. Paths
// are relative to the project with slashes. No symbolic link is followed, so
// no path leads out.
type View struct{ s stack }

// View opens the merged view of a checkpoint; Root is the project as it is.
func (s *Store) View(id string) (*View, error) {
	st, err := s.stack(id)
	if err != nil {
		return nil, err
	}
	return &View{s: st}, nil
}

// Close releases the view.
func (v *View) Close() { v.s.close() }

// Stat describes a path; the error of one that is not there is fs.ErrNotExist.
func (v *View) Stat(path string) (Entry, error) {
	n, err := v.s.resolve(path)
	if err == nil && n.Kind == beneath.Absent {
		err = &fs.PathError{Op: "stat", Path: Quote(path), Err: fs.ErrNotExist}
	}
	return n.Entry, err
}

// Open opens a regular file for reading.
func (v *View) Open(path string) (*os.File, Entry, error) {
	n, err := v.s.resolve(path)
	if err != nil {
		return nil, Entry{}, err
	}
	if err := n.wantFile(path); err != nil {
		return nil, Entry{}, err
	}
	f, err := v.s.open(n.tree, path)
	if err != nil {
		return nil, Entry{}, err
	}
	return f.File, n.Entry, nil
}

// wantFile says why path is not a file that can be read.
func (n node) wantFile(path string) error {
	switch n.Kind {
	case beneath.File:
		return nil
	case beneath.Absent:
		return &fs.PathError{Op: "open", Path: Quote(path), Err: fs.ErrNotExist}
	case beneath.Symlink:
		return fmt.Errorf("%s is a symbolic link to %s; name its target instead", Quote(path), Quote(n.Target))
	}
	return fmt.Errorf("%s is a %s, not a file", Quote(path), n.Kind)
}

// Named is an entry of a directory.
type Named struct {
	Name string
	Entry
}

// List lists a directory ("." is the project), sorted up to 8192 names and in
// sorted batches of that size beyond.
func (v *View) List(dir string) iter.Seq2[Named, error] {
	return func(yield func(Named, error) bool) {
		err := v.list(dir, func(n Named) bool { return yield(n, nil) })
		if err != nil && !errors.Is(err, errStop) {
			yield(Named{}, err)
		}
	}
}

func (v *View) list(dir string, yield func(Named) bool) error {
	n, err := v.s.resolve(dir)
	if err != nil {
		return err
	}
	if n.Kind != beneath.Directory {
		return &fs.PathError{Op: "list", Path: Quote(dir), Err: fs.ErrNotExist}
	}
	l, err := v.s.level(dir, n.dirs)
	if err != nil {
		return err
	}
	defer l.close()
	return l.names(func(names []string, _ bool) error {
		for _, name := range names {
			e, err := l.lookup(name)
			if err != nil {
				return err
			}
			if e.Kind != beneath.Absent && !yield(Named{name, e.Entry}) {
				return errStop
			}
		}
		return nil
	})
}

// resolve finds what the whole stack shows at path.
func (s stack) resolve(path string) (node, error) {
	all := make([]int, len(s))
	for i := range all {
		all[i] = i
	}
	if err := beneath.CheckRel(path); err != nil {
		return node{}, fmt.Errorf("%s is not a path inside the project", Quote(path))
	}
	st, err := s[s.bottom()].dir.Self()
	n := node{Entry: Entry{Stat: st}, dirs: all}
	if path == "." || err != nil {
		return n, err
	}
	rel := "."
	for part := range strings.SplitSeq(path, "/") {
		if n, err = s.child(n, rel, part); err != nil || n.Kind == beneath.Absent {
			return n, err
		}
		rel = beneath.Join(rel, part)
	}
	return n, nil
}

// child finds name in the directory rel, which n is.
func (s stack) child(n node, rel, name string) (node, error) {
	switch n.Kind {
	case beneath.Directory:
	case beneath.Symlink:
		return node{}, fmt.Errorf("%s is a symbolic link to %s; name its target instead", Quote(rel), Quote(n.Target))
	default:
		return node{}, nil
	}
	l, err := s.level(rel, n.dirs)
	if err != nil {
		return node{}, err
	}
	defer l.close()
	return l.lookup(name)
}

// Merge opens the merged view of upper directories, newest first, over the
// folder project, whoever keeps them.
func Merge(uppers []string, project string) (*View, error) {
	var layers []layerDir
	for _, dir := range uppers {
		layers = append(layers, layerDir{id: dir, upper: dir})
	}
	s, err := openStack(layers, project)
	if err != nil {
		return nil, err
	}
	return &View{s: s}, nil
}
