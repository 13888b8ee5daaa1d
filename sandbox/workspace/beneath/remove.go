package beneath

import (
	"errors"
	"fmt"
	"io/fs"
)

// maxDepth is how many directories a removal holds open. Deeper ones are moved
// up first, so that neither PATH_MAX nor the open-files limit matters.
const maxDepth = 64

// RemoveTree removes name and everything beneath it, whatever the modes, the
// depth and the number of entries. It goes on after an error and returns the
// first one. Names that start with "deep-" in top are used while it works.
func RemoveTree(top *Dir, name string) error {
	r := remover{top: top, queue: []string{name}}
	for len(r.queue) > 0 {
		next := r.queue[len(r.queue)-1]
		r.queue = r.queue[:len(r.queue)-1]
		r.remove(top, next, 0)
	}
	if r.failed > 1 {
		return fmt.Errorf("%w (and %d more)", r.first, r.failed-1)
	}
	return r.first
}

type remover struct {
	top    *Dir
	queue  []string // names in top that are still to be removed
	moved  int
	first  error
	failed int
}

func (r *remover) fail(err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	if r.first == nil {
		r.first = err
	}
	r.failed++
}

func (r *remover) remove(d *Dir, name string, depth int) {
	st, err := d.Lstat(name)
	switch {
	case err != nil:
		r.fail(err)
		return
	case st.Kind == Absent:
		return
	case st.Kind != Directory:
		r.fail(d.Remove(name))
		return
	}
	if d.Rmdir(name) == nil {
		return
	}
	if st.Mode&0o700 != 0o700 {
		_ = d.Chmod(name, 0o700) // if it fails, so does what follows
	}
	if depth >= maxDepth {
		r.moveUp(d, name)
		return
	}
	r.empty(d, name, depth)
}

// empty removes what is in a directory, then the directory.
func (r *remover) empty(d *Dir, name string, depth int) {
	const passes = 3 // a file system may skip entries while others vanish
	var err error
	for range passes {
		failed := r.failed
		r.fail(r.contents(d, name, depth))
		if err = d.Rmdir(name); err == nil || r.failed > failed {
			return
		}
	}
	r.fail(err)
}

func (r *remover) contents(d *Dir, name string, depth int) error {
	sub, err := d.Sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		names, err := sub.Names(1024)
		if err != nil {
			return nil
		}
		for _, n := range names {
			r.remove(sub, n, depth+1)
		}
	}
}

// moveUp moves a deep directory to the top and leaves it for later.
func (r *remover) moveUp(d *Dir, name string) {
	for {
		to := fmt.Sprintf("deep-%d", r.moved)
		r.moved++
		if st, err := r.top.Lstat(to); err != nil || st.Kind != Absent {
			continue
		}
		if err := d.Rename(name, r.top, to, Replace); err != nil {
			r.fail(err)
			return
		}
		r.queue = append(r.queue, to)
		return
	}
}
