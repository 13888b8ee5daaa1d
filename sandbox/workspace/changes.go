package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"kintsugi/sandbox/workspace/beneath"
)

var (
	errStop  = errors.New("the reader stopped")
	errLayer = errors.New("a layer cannot be read")
)

// walker compares two parts of a stack: the trees of top, as a merged view,
// against the trees of below. With record it looks only where below has
// something, and reports also what the top part touched but left the same. Memory is bounded by the depth of the tree and a
// batch of names, not by the number of changes.
type walker struct {
	s      stack
	below  []int
	record bool
	yield  func(Change) bool
}

// walk compares the first n trees of s with the rest.
func (s stack) walk(n int, record bool) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		w := walker{s: s, record: record, yield: func(c Change) bool { return yield(c, nil) }}
		top := make([]int, n)
		for i := range top {
			top[i] = i
		}
		for i := n; i < len(s); i++ {
			w.below = append(w.below, i)
		}
		err := w.compare(".", top, w.below, false)
		if err != nil && !errors.Is(err, errStop) {
			yield(Change{}, err)
		}
	}
}

func (w *walker) emit(c Change) error {
	if !w.yield(c) {
		return errStop
	}
	return nil
}

func (w *walker) skip(path string, n node, notice string) error {
	return w.emit(Change{Path: path, Kind: Skipped, New: n.Entry, Notice: notice, from: n.tree})
}

// pair is one name as both parts have it.
type pair struct {
	path     string
	top, old node
	closed   bool // top hides what below has in the directory of path
	twin     bool // another name in the directory differs only in case
}

// compare reports the changes in the directory rel. closed says that top hides
// what below has there.
func (w *walker) compare(rel string, top, below []int, closed bool) error {
	t, err := w.s.level(rel, top)
	if err != nil {
		return w.unreadable(rel, err)
	}
	defer t.close()
	b, err := w.s.level(rel, below)
	if err != nil {
		return w.unreadable(rel, err)
	}
	defer b.close()
	err = t.names(func(names []string, last bool) error {
		pairs, err := w.pairs(rel, names, t, b)
		if err != nil {
			return err
		}
		if last {
			t.close()
			b.close()
		}
		for i := range pairs {
			pairs[i].closed = closed
		}
		return w.each(pairs)
	})
	if err != nil || !closed {
		return err
	}
	return w.hidden(rel, top, below)
}

func (w *walker) unreadable(rel string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return w.skip(rel, node{}, "may not be read: "+err.Error())
	}
	return fmt.Errorf("compare %q: %w", rel, err)
}

func (w *walker) pairs(rel string, names []string, t, b *level) ([]pair, error) {
	pairs := make([]pair, 0, len(names))
	for _, name := range names {
		p := pair{path: beneath.Join(rel, name)}
		var err error
		if p.top, err = t.lookup(name); err != nil {
			return nil, err
		}
		if p.old, err = b.lookup(name); err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	markTwins(names, pairs)
	return pairs, nil
}

// markTwins finds names of one batch that some systems take for the same.
func markTwins(names []string, pairs []pair) {
	seen := make(map[string]int, len(names))
	for i, name := range names {
		if pairs[i].top.Kind == beneath.Absent {
			continue
		}
		key := strings.ToLower(name)
		if j, ok := seen[key]; ok {
			pairs[i].twin, pairs[j].twin = true, true
		}
		seen[key] = i
	}
}

func (w *walker) each(pairs []pair) error {
	for _, p := range pairs {
		if err := w.pair(p); err != nil {
			return err
		}
	}
	return nil
}

// hidden reports as deleted what below has in rel and top neither shows nor
// touches, because an opaque directory covers it.
func (w *walker) hidden(rel string, top, below []int) error {
	t, err := w.s.level(rel, top)
	if err != nil {
		return err
	}
	defer t.close()
	return w.eachBelow(rel, below, func(name string) bool { return !t.has(name, len(t.dirs)) })
}

// eachBelow reports as deleted the names that below has in rel and want picks.
func (w *walker) eachBelow(rel string, below []int, want func(name string) bool) error {
	b, err := w.s.level(rel, below)
	if err != nil {
		return w.unreadable(rel, err)
	}
	defer b.close()
	return b.names(func(names []string, last bool) error {
		var gone []pair
		for _, name := range names {
			if !want(name) {
				continue
			}
			old, err := b.lookup(name)
			if err != nil {
				return err
			}
			gone = append(gone, pair{path: beneath.Join(rel, name), old: old})
		}
		if last {
			b.close()
		}
		return w.each(gone)
	})
}

// pair reports how one name differs.
func (w *walker) pair(p pair) error {
	switch {
	case p.top.Kind == beneath.Absent && p.old.Kind == beneath.Absent:
		return nil
	case p.top.Kind == beneath.Absent:
		return w.deleted(p)
	case p.top.Kind == beneath.Other || p.top.Kind == beneath.Whiteout:
		return w.skip(p.path, p.top, "fifos, sockets and devices are not carried over")
	case p.old.Kind == beneath.Absent && w.record:
		return nil
	case p.old.Kind == beneath.Absent:
		return w.shown(p, Added)
	case p.top.Kind != p.old.Kind:
		return w.retyped(p)
	case p.top.Kind == beneath.Directory:
		return w.directory(p)
	}
	return w.same(p)
}

func (p pair) change(k Kind) Change {
	c := Change{Path: p.path, Kind: k, Old: p.old.Entry, New: p.top.Entry, from: p.top.tree, base: p.old.tree}
	c.New.Mode = p.mode()
	c.hides = p.top.Kind == beneath.Directory && (p.top.closed || p.closed)
	c.twin = p.twin
	if n := len(p.old.dirs); n > 0 {
		c.base = p.old.dirs[n-1] // a directory is the project's too when any of it is
	}
	return c
}

// mode is the mode that the new side may have in the project: setuid, setgid,
// sticky and writable-by-all only where the old side has them already.
func (p pair) mode() uint32 {
	const special = 0o7002
	return p.top.Mode & (^uint32(special) | p.old.Mode)
}

// shown reports p, then what is in it when it is a directory.
func (w *walker) shown(p pair, k Kind) error {
	if err := w.emit(p.change(k)); err != nil || p.top.Kind != beneath.Directory || w.record {
		return err
	}
	return w.compare(p.path, p.top.dirs, nil, false)
}

func (w *walker) retyped(p pair) error {
	if p.old.Kind == beneath.Directory {
		if err := w.contentsDeleted(p); err != nil {
			return err
		}
	}
	return w.shown(p, Retyped)
}

func (w *walker) directory(p pair) error {
	if p.mode() != p.old.Mode || w.record {
		k := Remoded
		if p.mode() == p.old.Mode {
			k = Unchanged
		}
		if err := w.emit(p.change(k)); err != nil {
			return err
		}
	}
	return w.compare(p.path, p.top.dirs, p.old.dirs, p.top.closed || p.closed)
}

// deleted reports what is in a directory before the directory itself.
func (w *walker) deleted(p pair) error {
	switch p.old.Kind {
	case beneath.Other, beneath.Whiteout:
		return w.emit(Change{Path: p.path, Kind: Skipped, Old: p.old.Entry, Notice: "deleted in the box; special files are left alone"})
	case beneath.Directory:
		if err := w.contentsDeleted(p); err != nil {
			return err
		}
	}
	return w.emit(p.change(Deleted))
}

func (w *walker) contentsDeleted(p pair) error {
	return w.eachBelow(p.path, p.old.dirs, func(string) bool { return true })
}

// same compares two files or two links.
func (w *walker) same(p pair) error {
	same := p.top.Target == p.old.Target
	if p.top.Kind == beneath.File {
		var err error
		if same, err = w.sameContent(p); err != nil {
			return w.skip(p.path, p.top, "may not be read: "+err.Error())
		}
	}
	switch {
	case !same:
		return w.emit(p.change(Modified))
	case p.top.Kind == beneath.File && p.mode() != p.old.Mode:
		return w.emit(p.change(Remoded))
	case w.record:
		return w.emit(p.change(Unchanged))
	}
	return nil
}

func (w *walker) sameContent(p pair) (bool, error) {
	if p.top.Size != p.old.Size {
		return false, nil
	}
	a, err := w.s.open(p.top.tree, p.path)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := w.s.open(p.old.tree, p.path)
	if err != nil {
		return false, err
	}
	defer b.Close()
	return equal(a, b, p.top.Size)
}
