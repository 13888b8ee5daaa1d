package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"kintsugi/sandbox/workspace/beneath"
)

// Editor writes into a draft through the merged view, for the file tools of
// the agent. The draft must not be in use by a box at the same time.
type Editor struct {
	View
	serial int
}

// Edit opens a draft for writing. Close it before Commit.
func (s *Store) Edit(d *Draft) (*Editor, error) {
	below, err := s.uppers(d.Parent)
	if err != nil {
		return nil, err
	}
	st, err := openStack(append([]layerDir{{id: d.ID, upper: d.Upper}}, below...), s.project)
	if err != nil {
		return nil, err
	}
	return &Editor{View: View{s: st}}, nil
}

// upper is the tree that is written to.
func (e *Editor) upper() *beneath.Dir { return e.s[0].dir }

// Write makes or replaces a file; missing directories are made. A replaced file
// keeps its mode, a new one gets perm.
func (e *Editor) Write(path string, content io.Reader, perm uint32) error {
	n, err := e.s.resolve(path)
	if err != nil {
		return err
	}
	if n.Kind != beneath.Absent {
		if err := n.wantFile(path); err != nil {
			return err
		}
		perm = n.Mode & 0o777
	}
	dir, name := beneath.Split(path)
	if err := e.ensure(dir); err != nil {
		return fmt.Errorf("write %s: %w", Quote(path), err)
	}
	if err := e.replace(dir, name, content, perm); err != nil {
		return fmt.Errorf("write %s: %w", Quote(path), err)
	}
	return nil
}

// replace puts the content at name in one step.
func (e *Editor) replace(dir, name string, content io.Reader, perm uint32) error {
	d, err := e.upper().Sub(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	tmp := e.temporary(d)
	f, err := d.Create(tmp, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = e.dressLike(d, tmp, perm)
	}
	if err == nil {
		err = d.Rename(tmp, d, name, beneath.Replace)
	}
	if err != nil {
		_ = d.Remove(tmp)
	}
	return err
}

func (e *Editor) temporary(d *beneath.Dir) string {
	for {
		e.serial++
		name := fmt.Sprintf(".kintsugi-%d-%d", os.Getpid(), e.serial)
		if st, err := d.Lstat(name); err != nil || st.Kind == beneath.Absent {
			return name
		}
	}
}

// dressLike gives a new name the mode perm and, when we may, the owner of its
// directory.
func (e *Editor) dressLike(d *beneath.Dir, name string, perm uint32) error {
	st, err := d.Self()
	if err != nil {
		return err
	}
	st.Mode = perm
	return dress(d, name, st)
}

// Symlink makes a symbolic link in the place of nothing or of another link.
func (e *Editor) Symlink(target, path string) error {
	n, err := e.s.resolve(path)
	if err != nil {
		return err
	}
	if n.Kind != beneath.Absent && n.Kind != beneath.Symlink {
		return fmt.Errorf("%s is a %s, not a link", Quote(path), n.Kind)
	}
	dir, name := beneath.Split(path)
	if err := e.ensure(dir); err != nil {
		return fmt.Errorf("link %s: %w", Quote(path), err)
	}
	d, err := e.upper().Sub(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	tmp := e.temporary(d)
	if err := d.Symlink(target, tmp); err != nil {
		return err
	}
	return d.Rename(tmp, d, name, beneath.Replace)
}

// Chmod sets the permission bits of a file or directory.
func (e *Editor) Chmod(path string, perm uint32) error {
	n, err := e.s.resolve(path)
	if err != nil {
		return err
	}
	dir, name := beneath.Split(path)
	if n.Kind == beneath.Directory {
		err = e.ensure(path)
	} else if err = n.wantFile(path); err == nil && n.tree != 0 {
		err = e.copyUp(path)
	}
	if err != nil {
		return err
	}
	d, err := e.upper().Sub(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Chmod(name, perm&0o777)
}

// copyUp makes the draft have its own copy of a file.
func (e *Editor) copyUp(path string) error {
	f, _, err := e.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return e.Write(path, f, 0)
}

// Mkdir makes a directory and the ones above it.
func (e *Editor) Mkdir(path string) error {
	if err := beneath.CheckRel(path); err != nil {
		return fmt.Errorf("%s is not a path inside the project", Quote(path))
	}
	return e.ensure(path)
}

// ensure makes dir exist in the upper tree.
func (e *Editor) ensure(dir string) error {
	if dir == "." {
		return nil
	}
	rel := "."
	for part := range strings.SplitSeq(dir, "/") {
		next := beneath.Join(rel, part)
		n, err := e.s.resolve(next)
		if err != nil {
			return err
		}
		if err := e.ensureOne(rel, part, n); err != nil {
			return err
		}
		rel = next
	}
	return nil
}

func (e *Editor) ensureOne(rel, name string, n node) error {
	if n.Kind == beneath.Directory && len(n.dirs) > 0 && n.dirs[0] == 0 {
		return nil
	}
	d, err := e.upper().Sub(rel)
	if err != nil {
		return err
	}
	defer d.Close()
	switch n.Kind {
	case beneath.Directory:
		if err := makeDir(d, name, false); err != nil {
			return err
		}
		return dress(d, name, n.Stat)
	case beneath.Absent:
		return e.freshDir(d, name, n)
	}
	return fmt.Errorf("%s is a %s, not a directory", Quote(beneath.Join(rel, name)), n.Kind)
}

// freshDir makes a directory where the view shows none; one in the place of a
// deleted thing hides it.
func (e *Editor) freshDir(d *beneath.Dir, name string, n node) error {
	st, err := d.Lstat(name)
	if err != nil {
		return err
	}
	if st.Kind != beneath.Absent {
		if err := d.Remove(name); err != nil {
			return err
		}
	}
	if err := makeDir(d, name, n.closed); err != nil {
		return err
	}
	return e.dressLike(d, name, 0o755)
}

// Remove deletes a file, a link or a whole directory.
func (e *Editor) Remove(path string) error {
	n, err := e.s.resolve(path)
	if err != nil {
		return err
	}
	if n.Kind == beneath.Absent {
		return &fs.PathError{Op: "remove", Path: Quote(path), Err: fs.ErrNotExist}
	}
	dir, name := beneath.Split(path)
	if err := e.remove(dir, name); err != nil {
		return fmt.Errorf("remove %s: %w", Quote(path), err)
	}
	return nil
}

func (e *Editor) remove(dir, name string) error {
	parent, err := e.s.resolve(dir)
	if err != nil {
		return err
	}
	below := parent.dirs
	if len(below) > 0 && below[0] == 0 {
		below = below[1:]
	}
	l, err := e.s.level(dir, below)
	if err != nil {
		return err
	}
	defer l.close()
	n, err := l.lookup(name)
	if err != nil {
		return err
	}
	if err := e.ensure(dir); err != nil {
		return err
	}
	d, err := e.upper().Sub(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := beneath.RemoveTree(d, name); err != nil || n.Kind == beneath.Absent {
		return err
	}
	return d.MakeWhiteout(name)
}
