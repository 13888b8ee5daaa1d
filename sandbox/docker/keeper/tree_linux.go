package keeper

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tree is a folder whose changes may be wanted.
type tree struct {
	Tree
	before map[string]mark
}

// mark is what changes when an entry does.
type mark struct {
	inode uint64
	ctime int64
	size  int64
	mode  uint32
}

func markOf(path string) (mark, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return mark{}, err
	}
	return mark{st.Ino, st.Ctim.Nano(), st.Size, st.Mode}, nil
}

func (m mark) kind() uint32 { return m.mode & unix.S_IFMT }

// unpack fills the tree from an archive that the host made.
func (t *tree) unpack(r io.Reader) error {
	root, err := os.OpenRoot(t.Path)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Path, reason(err))
	}
	defer root.Close()
	var folders []*tar.Header
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = unpackOne(root, h, in)
		}
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", t.Path, reason(err))
		}
		if h.Typeflag == tar.TypeDir {
			folders = append(folders, h)
		}
	}
	_, _ = io.Copy(io.Discard, r)
	for _, h := range slices.Backward(folders) {
		t.finish(root, h)
	}
	if t.Fixed {
		_ = os.Chmod(t.Path, 0o555)
	}
	return nil
}

// finish gives a folder its mode and time, once all is in it.
func (t *tree) finish(root *os.Root, h *tar.Header) {
	mode := fs.FileMode(h.Mode & 0o777)
	if t.Fixed {
		mode &^= 0o222
	}
	_ = root.Chmod(h.Name, mode)
	_ = root.Chtimes(h.Name, h.ModTime, h.ModTime)
}

func unpackOne(root *os.Root, h *tar.Header, in io.Reader) error {
	name := strings.TrimSuffix(h.Name, "/")
	switch h.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		return unpackFile(root, name, h, in)
	}
	return nil
}

func unpackFile(root *os.Root, name string, h *tar.Header, in io.Reader) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	err = errors.Join(err, f.Chmod(fs.FileMode(h.Mode&0o777)), f.Close())
	if err == nil {
		err = root.Chtimes(name, h.ModTime, h.ModTime)
	}
	return err
}

// each visits what is in the tree, a folder before its content, by paths
// relative to it. A folder that cannot be read is made readable first: the
// program is not running, and the tree ends with the container.
func (t *tree) each(visit func(rel string, m mark) error) error {
	var in func(dir string) error
	in = func(dir string) error {
		path := filepath.Join(t.Path, dir)
		entries, err := os.ReadDir(path)
		if errors.Is(err, fs.ErrPermission) && os.Chmod(path, 0o700) == nil {
			entries, err = os.ReadDir(path)
		}
		if err != nil {
			return nil // too deep, or not ours: not handed back
		}
		for _, e := range entries {
			rel := filepath.Join(dir, e.Name())
			m, err := markOf(filepath.Join(t.Path, rel))
			if err != nil {
				continue
			}
			if err := visit(rel, m); err != nil {
				return err
			}
			if m.kind() == unix.S_IFDIR {
				if err := in(rel); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return in(".")
}

// remember notes how the tree is.
func (t *tree) remember() error {
	t.before = map[string]mark{}
	return t.each(func(rel string, m mark) error {
		t.before[rel] = m
		return nil
	})
}

// grown is the size of what is new or changed. The program may be running.
func (t *tree) grown() int64 {
	var size int64
	_ = filepath.WalkDir(t.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		rel, _ := filepath.Rel(t.Path, path)
		if m, err := markOf(path); err == nil && t.before[rel] != m {
			size += m.size
		}
		return nil
	})
	return size
}

// budget bounds what is handed back, of all trees together.
type budget struct {
	bytes, files int64
	spent        bool
}

func (b *budget) take(size int64) bool {
	b.bytes -= size
	b.files--
	b.spent = b.spent || b.bytes < 0 || b.files < 0
	return !b.spent
}

// changes writes an archive of what differs from what was remembered.
func (t *tree) changes(w io.Writer, b *budget) error {
	out := tar.NewWriter(w)
	c := &changer{tree: t, out: out, budget: b, sent: map[string]bool{}, seen: map[string]uint32{}}
	err := t.each(c.visit)
	if err == nil {
		err = c.gone()
	}
	if errors.Is(err, errSpent) {
		err = nil
	}
	return errors.Join(err, out.Close())
}

var errSpent = errors.New("more was changed than may be handed back")

// changer writes the changes of one tree.
type changer struct {
	tree   *tree
	out    *tar.Writer
	budget *budget
	sent   map[string]bool   // folders that are in the archive
	seen   map[string]uint32 // what is there now, by kind
}

func (c *changer) visit(rel string, m mark) error {
	c.seen[rel] = m.kind()
	before, known := c.tree.before[rel]
	if m.kind() == unix.S_IFDIR && known && before.kind() == m.kind() && before.mode == m.mode {
		return nil // only what is in it may have changed
	}
	if known && before == m {
		return nil
	}
	return c.send(rel, m)
}

// send puts an entry, and before it the folders that lead to it, into the
// archive.
func (c *changer) send(rel string, m mark) error {
	if err := c.lead(filepath.Dir(rel)); err != nil {
		return err
	}
	h := &tar.Header{Name: rel, Mode: int64(m.mode & 0o777), Format: tar.FormatPAX}
	path := filepath.Join(c.tree.Path, rel)
	if info, err := os.Lstat(path); err == nil {
		h.ModTime = info.ModTime().Truncate(time.Microsecond)
	}
	switch m.kind() {
	case unix.S_IFDIR:
		h.Typeflag, h.Name = tar.TypeDir, rel+"/"
		c.sent[rel] = true
	case unix.S_IFLNK:
		to, err := os.Readlink(path)
		if err != nil {
			return nil
		}
		h.Typeflag, h.Linkname = tar.TypeSymlink, to
	case unix.S_IFREG:
		return c.file(path, h, m)
	case unix.S_IFIFO, unix.S_IFSOCK:
		h.Typeflag = tar.TypeFifo
	default:
		return nil // devices are never handed back
	}
	if !c.budget.take(0) {
		return errSpent
	}
	return c.out.WriteHeader(h)
}

func (c *changer) file(path string, h *tar.Header, m mark) error {
	if !c.budget.take(m.size) {
		return errSpent
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) && os.Chmod(path, 0o600) == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil
	}
	defer f.Close()
	h.Typeflag, h.Size = tar.TypeReg, m.size
	if err := c.out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(c.out, f, m.size)
	return err
}

// lead writes the folders on the way to an entry, as they are.
func (c *changer) lead(dir string) error {
	if dir == "." || c.sent[dir] {
		return nil
	}
	m, err := markOf(filepath.Join(c.tree.Path, dir))
	if err != nil {
		return err
	}
	return c.send(dir, m)
}

// gone writes what was there before and is no more, but not what was in
// folders that are gone themselves.
func (c *changer) gone() error {
	var names []string
	for rel := range c.tree.before {
		if _, still := c.seen[rel]; !still {
			names = append(names, rel)
		}
	}
	sort.Strings(names)
	for _, rel := range names {
		parent := filepath.Dir(rel)
		if parent != "." && c.seen[parent] != unix.S_IFDIR {
			continue
		}
		if !c.budget.take(0) {
			return errSpent
		}
		if err := c.lead(parent); err != nil {
			return err
		}
		h := &tar.Header{Name: rel, Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{Gone: "1"}}
		if err := c.out.WriteHeader(h); err != nil {
			return err
		}
	}
	return nil
}
