package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"kintsugi/sandbox/workspace/beneath"
)

// deepest is how many times MaxLayers a stack may grow when it cannot be
// flattened, for example because files in it belong to foreign ids. The kernel
// takes 500 layers.
const deepest = 10

// shorten gives the checkpoint id a flat layer when its stack is too long.
func (s *Store) shorten(id string) error {
	uppers, err := s.uppers(id)
	if err != nil || len(uppers) < s.opts.MaxLayers {
		return err
	}
	s.mu.Lock()
	flat := s.nextID("f")
	s.mu.Unlock()
	if err := s.flatten(uppers, flat); err != nil {
		if len(uppers) < deepest*s.opts.MaxLayers {
			return s.trash.throw(filepath.Join(s.dir, "drafts", flat))
		}
		return fmt.Errorf("merge %d layers into one: %w", len(uppers), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta.find(id).Flat = flat
	return s.meta.save(s.dir)
}

// flatten merges layers, newest first, into a new one. Files are not copied:
// they get a second name.
func (s *Store) flatten(uppers []layerDir, id string) error {
	home := filepath.Join(s.dir, "drafts", id)
	upper := filepath.Join(home, "upper")
	if err := os.MkdirAll(upper, 0o700); err != nil {
		return err
	}
	st, err := openStack(uppers, s.project)
	if err != nil {
		return err
	}
	defer st.close()
	to, err := beneath.OpenOwn(upper)
	if err != nil {
		return err
	}
	defer to.Close()
	all := make([]int, len(uppers))
	for i := range all {
		all[i] = i
	}
	m := merger{s: st, to: to}
	if err := m.directory(".", all, true); err != nil {
		return err
	}
	if err := m.likeOriginal(st[0].dir, home); err != nil {
		return err
	}
	if err := s.mergeRecords(uppers, filepath.Join(home, "base.jsonl")); err != nil {
		return err
	}
	return os.Rename(home, filepath.Join(s.dir, "layers", id))
}

// likeOriginal gives the merged root directory the looks of the newest one.
func (m *merger) likeOriginal(root *beneath.Dir, home string) error {
	st, err := root.Self()
	if err != nil {
		return err
	}
	d, err := beneath.Open(home)
	if err != nil {
		return err
	}
	defer d.Close()
	return dress(d, "upper", st)
}

// merger builds one layer out of several.
type merger struct {
	s  stack
	to *beneath.Dir
}

// named is a node with its name.
type named struct {
	node
	name string
}

// directory fills the directory rel of the new layer with what the trees show
// there. open says that the project's directory shows through.
func (m *merger) directory(rel string, trees []int, open bool) error {
	l, err := m.s.level(rel, trees)
	if err != nil {
		return err
	}
	defer l.close()
	return l.names(func(names []string, last bool) error {
		subs, err := m.batch(l, rel, names, open)
		if err != nil {
			return err
		}
		if last {
			l.close()
		}
		for _, n := range subs {
			if err := m.directory(beneath.Join(rel, n.name), n.dirs, open && !n.closed); err != nil {
				return err
			}
		}
		return m.dress(rel, subs)
	})
}

// batch makes the names in rel and returns those that are directories. A
// whiteout is made only where it hides something: in a directory that is not
// merged with another, the kernel would list it.
func (m *merger) batch(l *level, rel string, names []string, open bool) ([]named, error) {
	to, err := m.to.Sub(rel)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	project := m.project(rel, open)
	defer project.close()
	var subs []named
	for _, name := range names {
		n, err := l.lookup(name)
		switch {
		case err != nil:
		case n.Kind == beneath.Directory:
			subs = append(subs, named{n, name})
			err = makeDir(to, name, n.closed)
		case n.Kind != beneath.Absent || project.has(name, len(project.dirs)):
			err = m.link(l, name, to)
		}
		if err != nil {
			return nil, err
		}
	}
	return subs, nil
}

// project is the project's directory rel, when there is one that shows through.
func (m *merger) project(rel string, open bool) *level {
	if open {
		if l, err := m.s.level(rel, []int{m.s.bottom()}); err == nil {
			return l
		}
	}
	return &level{s: m.s}
}

// makeDir makes a directory of a layer; an opaque one hides what lies beneath.
func makeDir(in *beneath.Dir, name string, opaque bool) error {
	if err := in.Mkdir(name, 0o700); err != nil || !opaque {
		return err
	}
	sub, err := in.Sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return sub.SetOpaque()
}

// dress gives the directories their modes, once they are filled.
func (m *merger) dress(rel string, subs []named) error {
	to, err := m.to.Sub(rel)
	if err != nil {
		return err
	}
	defer to.Close()
	for _, n := range subs {
		if err := dress(to, n.name, n.Stat); err != nil {
			return err
		}
	}
	return nil
}

// link gives the newest thing at name, also a whiteout, a second name in to.
func (m *merger) link(l *level, name string, to *beneath.Dir) error {
	for _, d := range l.dirs {
		st, err := d.Lstat(name)
		if err != nil {
			return err
		}
		if st.Kind == beneath.Absent {
			continue
		}
		err = d.Link(name, to, name)
		if err != nil && st.Kind == beneath.Whiteout {
			return to.MakeWhiteout(name)
		}
		return err
	}
	return nil
}

// dress gives a directory the mode and, when we may, the owner of another.
func dress(d *beneath.Dir, name string, st beneath.Stat) error {
	if os.Geteuid() == 0 {
		if err := d.Lchown(name, st.UID, st.GID); err != nil {
			return err
		}
	}
	return d.Chmod(name, st.Mode)
}

// mergeRecords copies the base records of the layers.
func (s *Store) mergeRecords(uppers []layerDir, path string) error {
	out, err := createRecords(path)
	if err != nil {
		return err
	}
	for _, u := range uppers {
		var failed error
		err := readRecords(s.layerPath(u.id, "base.jsonl"), func(r record) {
			failed = errors.Join(failed, out.write(r))
		})
		if err = errors.Join(err, failed); err != nil {
			out.close()
			return err
		}
	}
	return out.close()
}
