package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Dir is an open directory. Its methods take single names unless they say
// otherwise.
type Dir struct {
	root *os.Root
	rel  string // path of the directory within root
	own  bool   // whether Close closes root
	list *os.File
}

// checkPlatformName refuses names that this system reads as something else: a
// stream, another directory, a name it shortens.
func checkPlatformName(name string) error {
	if strings.ContainsAny(name, `\:*?"<>|`) || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return fmt.Errorf("the name is not possible on this system: %w", ErrUnsupported)
	}
	return nil
}

// Open opens a directory by a path that the caller trusts.
func Open(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, rel: ".", own: true}, nil
}

// OpenOwn is Open here.
func OpenOwn(path string) (*Dir, error) { return Open(path) }

// Close releases the handle.
func (d *Dir) Close() error {
	if d.list != nil {
		d.list.Close()
	}
	if d.own {
		return d.root.Close()
	}
	return nil
}

// Sub opens the directory at the relative path rel, links not followed.
func (d *Dir) Sub(rel string) (*Dir, error) {
	if err := CheckRel(rel); err != nil {
		return nil, err
	}
	at := d.rel
	for part := range strings.SplitSeq(rel, "/") {
		at = path.Join(at, part)
		fi, err := d.root.Lstat(at)
		if err != nil {
			return nil, err
		}
		if !fi.IsDir() {
			return nil, &os.PathError{Op: "open", Path: rel, Err: ErrLeaves}
		}
	}
	return &Dir{root: d.root, rel: at}, nil
}

func (d *Dir) at(name string) string { return path.Join(d.rel, name) }

// Lstat describes name. A name that is not there gives Absent and no error.
func (d *Dir) Lstat(name string) (Stat, error) {
	if err := checkName(name); err != nil {
		return Stat{}, nil
	}
	fi, err := d.root.Lstat(d.at(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Stat{}, nil
	}
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(fi), nil
}

// Self describes the directory.
func (d *Dir) Self() (Stat, error) {
	fi, err := d.root.Lstat(d.rel)
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(fi), nil
}

// FileStat describes an open file.
func FileStat(f *os.File) (Stat, error) {
	fi, err := f.Stat()
	if err != nil {
		return Stat{}, err
	}
	return fromInfo(fi), nil
}

func fromInfo(fi os.FileInfo) Stat {
	st := Stat{Mode: uint32(fi.Mode().Perm()), Size: fi.Size(), Mtime: fi.ModTime().UnixNano(), Nlink: 1}
	switch {
	case fi.Mode().IsRegular():
		st.Kind = File
	case fi.IsDir():
		st.Kind = Directory
	case fi.Mode()&fs.ModeSymlink != 0:
		st.Kind = Symlink
	default:
		st.Kind = Other
	}
	return st
}

// Readlink reads the target of a symbolic link.
func (d *Dir) Readlink(name string) (string, error) { return d.root.Readlink(d.at(name)) }

// OpenFile opens a regular file for reading; anything else is ErrNotRegular.
func (d *Dir) OpenFile(name string) (*os.File, error) {
	st, err := d.Lstat(name)
	if err == nil && st.Kind == Absent {
		err = fs.ErrNotExist
	}
	if err == nil && st.Kind != File {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return d.root.Open(d.at(name))
}

// Create makes a new regular file for writing; an existing name is an error.
func (d *Dir) Create(name string, perm uint32) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return d.root.OpenFile(d.at(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, os.FileMode(perm&0o777))
}

// Names reads the next names, about n, in no order; io.EOF after the last.
func (d *Dir) Names(n int) ([]string, error) {
	if d.list == nil {
		f, err := d.root.Open(d.rel)
		if err != nil {
			return nil, err
		}
		d.list = f
	}
	names, err := d.list.Readdirnames(n)
	if len(names) > 0 {
		return names, nil
	}
	if err == nil {
		err = io.EOF
	}
	return nil, err
}

// Mkdir makes a directory.
func (d *Dir) Mkdir(name string, perm uint32) error {
	return d.do(name, func() error { return d.root.Mkdir(d.at(name), os.FileMode(perm&0o777)) })
}

// Symlink makes a symbolic link; target is any text.
func (d *Dir) Symlink(target, name string) error {
	return d.do(name, func() error { return d.root.Symlink(target, d.at(name)) })
}

// Remove removes anything but a directory.
func (d *Dir) Remove(name string) error {
	return d.do(name, func() error { return d.root.Remove(d.at(name)) })
}

// Rmdir removes an empty directory.
func (d *Dir) Rmdir(name string) error { return d.Remove(name) }

// Chmod sets what this system has of the permission bits.
func (d *Dir) Chmod(name string, mode uint32) error {
	return d.do(name, func() error { return d.root.Chmod(d.at(name), os.FileMode(mode&0o777)) })
}

// Chtimes sets the modification time in nanoseconds.
func (d *Dir) Chtimes(name string, mtime int64) error {
	t := time.Unix(0, mtime)
	return d.do(name, func() error { return d.root.Chtimes(d.at(name), t, t) })
}

// Lchown does nothing here.
func (d *Dir) Lchown(string, uint32, uint32) error { return nil }

// Link gives the file name another name in to, a directory of the same tree.
func (d *Dir) Link(name string, to *Dir, newname string) error {
	return d.do(name, func() error { return d.root.Link(d.at(name), to.at(newname)) })
}

// Rename moves name to newname in to, a directory of the same tree.
func (d *Dir) Rename(name string, to *Dir, newname string, how How) error {
	if how != Replace {
		return ErrUnsupported
	}
	if err := checkName(newname); err != nil {
		return err
	}
	return d.do(name, func() error { return d.root.Rename(d.at(name), to.at(newname)) })
}

// Lock does nothing here.
func (d *Dir) Lock() error { return nil }

func (d *Dir) do(name string, f func() error) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return f()
}

// Sync does nothing here.
func (d *Dir) Sync() error { return nil }

// Opaque is false: this system has no overlays.
func (d *Dir) Opaque() bool { return false }

// Redirected is false: this system has no overlays.
func (d *Dir) Redirected() bool { return false }

// SetOpaque is not supported here.
func (d *Dir) SetOpaque() error { return ErrUnsupported }

// MarkedWhiteout is false: this system has no overlays.
func (d *Dir) MarkedWhiteout(string) bool { return false }

// MakeWhiteout is not supported here.
func (d *Dir) MakeWhiteout(string) error { return ErrUnsupported }

// MakeFifo is not supported here.
func (d *Dir) MakeFifo(string) error { return ErrUnsupported }

// NextData treats every file as one piece of data.
func NextData(_ *os.File, off, _ int64) int64 { return off }

// NextHole treats every file as one piece of data.
func NextHole(_ *os.File, _, size int64) int64 { return size }

// Clone is not supported here.
func Clone(_, _ *os.File) error { return errors.ErrUnsupported }

// SyncSelf does nothing here.
func (d *Dir) SyncSelf() error { return nil }
