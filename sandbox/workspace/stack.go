package workspace

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"kintsugi/sandbox/workspace/beneath"
)

// tree is one member of a stack: the upper directory of a layer, or the
// project at the bottom.
type tree struct {
	dir   *beneath.Dir
	layer string // id of the layer; empty for the project
}

// stack are trees laid over each other, newest first.
type stack []tree

// openStack opens the upper directories of the layers, newest first, and the
// project below them.
func openStack(uppers []layerDir, project string) (stack, error) {
	var s stack
	for _, u := range uppers {
		d, err := beneath.OpenOwn(u.upper)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("layer %s is gone: %w", u.id, err)
		}
		s = append(s, tree{dir: d, layer: u.id})
	}
	d, err := beneath.Open(project)
	if err != nil {
		s.close()
		return nil, fmt.Errorf("the project cannot be opened: %w", err)
	}
	return append(s, tree{dir: d}), nil
}

func (s stack) close() {
	for _, t := range s {
		t.dir.Close()
	}
}

// bottom is the index of the project.
func (s stack) bottom() int { return len(s) - 1 }

// open opens the file that tree t has at path.
func (s stack) open(t int, path string) (*openFile, error) {
	parent, name := beneath.Split(path)
	d, err := s[t].dir.Sub(parent)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f, err := d.OpenFile(name)
	if err != nil {
		return nil, err
	}
	return &openFile{File: f}, nil
}

// node is a name as a part of a stack shows it.
type node struct {
	Entry
	tree int   // index of the tree that gives it
	dirs []int // for a directory, the trees that merge into it, newest first
	// closed says that the trees below the looked-at part do not show through:
	// there was a whiteout, an opaque directory or a non-directory.
	closed bool
}

// level is one directory of a part of a stack, opened in each tree that
// merges into it.
type level struct {
	s     stack
	trees []int
	dirs  []*beneath.Dir
}

func (s stack) level(rel string, trees []int) (*level, error) {
	l := &level{s: s, trees: trees}
	for _, t := range trees {
		d, err := s[t].dir.Sub(rel)
		if err != nil {
			l.close()
			return nil, err
		}
		l.dirs = append(l.dirs, d)
	}
	return l, nil
}

func (l *level) close() {
	for _, d := range l.dirs {
		d.Close()
	}
	l.dirs = nil
}

// lookup finds what the level shows at name.
func (l *level) lookup(name string) (node, error) {
	var n node
	for i, d := range l.dirs {
		st, err := d.Lstat(name)
		if err != nil {
			return node{}, err
		}
		if st.Kind == beneath.Absent {
			continue
		}
		more, err := l.add(&n, i, name, st)
		if err != nil || !more {
			return n, err
		}
	}
	return n, nil
}

// add merges what tree i has at name into n, and says whether trees below may
// add more.
func (l *level) add(n *node, i int, name string, st beneath.Stat) (more bool, err error) {
	d, isLayer := l.dirs[i], l.s[l.trees[i]].layer != ""
	if isLayer && whiteout(d, name, st) || n.Kind == beneath.Directory && st.Kind != beneath.Directory {
		n.closed = true
		return false, nil
	}
	if n.Kind == beneath.Absent {
		n.Stat, n.tree = st, l.trees[i]
	}
	if st.Kind != beneath.Directory {
		n.closed = true
		if st.Kind == beneath.Symlink {
			n.Target, err = d.Readlink(name)
		}
		return false, err
	}
	n.dirs = append(n.dirs, l.trees[i])
	if isLayer {
		n.closed, err = opaque(d, name)
	}
	return !n.closed, err
}

func whiteout(d *beneath.Dir, name string, st beneath.Stat) bool {
	return st.Kind == beneath.Whiteout || st.Kind == beneath.File && st.Size == 0 && d.MarkedWhiteout(name)
}

func opaque(d *beneath.Dir, name string) (bool, error) {
	sub, err := d.Sub(name)
	if err != nil {
		return false, err
	}
	defer sub.Close()
	if sub.Redirected() {
		return false, fmt.Errorf("%w: the directory takes its content from another name", errLayer)
	}
	return sub.Opaque(), nil
}

// batchSize bounds the names held in memory for one directory.
const batchSize = 8192

// names reads the names of the level in sorted batches, each name once.
func (l *level) names(yield func(batch []string, last bool) error) error {
	var batch []string
	for i, d := range l.dirs {
		for {
			names, err := d.Names(1024)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			batch = l.appendNew(batch, i, names)
			if len(batch) < batchSize {
				continue
			}
			if err := flush(batch, false, yield); err != nil {
				return err
			}
			batch = nil
		}
	}
	return flush(batch, true, yield)
}

func flush(batch []string, last bool, yield func([]string, bool) error) error {
	slices.Sort(batch)
	return yield(batch, last)
}

// appendNew appends the names that no newer tree has.
func (l *level) appendNew(batch []string, i int, names []string) []string {
	for _, name := range names {
		if !l.has(name, i) {
			batch = append(batch, name)
		}
	}
	return batch
}

// has says whether one of the first n trees has something at name.
func (l *level) has(name string, n int) bool {
	for _, d := range l.dirs[:n] {
		if st, err := d.Lstat(name); err == nil && st.Kind != beneath.Absent {
			return true
		}
	}
	return false
}
