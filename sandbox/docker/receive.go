package docker

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/sandbox/docker/keeper"
	"kintsugi/sandbox/workspace/beneath"
)

// receiver unpacks the changes that a box hands back. It believes nothing: no
// name leads out of the folder, no device is made, and there is a bound to
// bytes and files.
type receiver struct {
	dir     string
	overlay bool
	bytes   int64
	files   int64

	top     *os.Root
	at      *os.Root // the folder that the last entry was in
	where   string   // its name
	folders []*tar.Header
}

// receive unpacks an archive of changes into dir.
func (x *receiver) receive(r io.Reader) error {
	var err error
	if x.top, err = os.OpenRoot(x.dir); err != nil {
		return err
	}
	x.at, x.where = x.top, "."
	defer func() {
		x.leave()
		x.top.Close()
	}()
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = x.take(h, in)
		}
		if err != nil {
			return fmt.Errorf("what the box changed cannot be kept: %w", err)
		}
	}
	for _, h := range slices.Backward(x.folders) {
		_ = x.top.Chmod(h.Name, fs.FileMode(h.Mode&0o777))
	}
	return nil
}

func (x *receiver) leave() {
	if x.at != x.top {
		x.at.Close()
	}
	x.at, x.where = x.top, "."
}

// enter goes to the folder that an entry is in. Archives list a folder before
// its content, so that it is mostly one step away; deep trees would else take
// the square of their depth.
func (x *receiver) enter(dir string) error {
	if dir == x.where {
		return nil
	}
	from, step := x.at, filepath.Base(dir)
	if filepath.Dir(dir) != x.where {
		from, step = x.top, dir
	}
	next, err := from.OpenRoot(step)
	if err != nil {
		return err
	}
	x.leave()
	x.at, x.where = next, dir
	return nil
}

func (x *receiver) take(h *tar.Header, in io.Reader) error {
	h.Name = filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
	x.bytes -= h.Size
	x.files--
	switch {
	case !filepath.IsLocal(h.Name) || h.Name == "." || filepath.Clean(h.Name) != h.Name:
		return fmt.Errorf("%q is no name in a folder", h.Name)
	case x.bytes < 0 || x.files < 0 || h.Size < 0:
		return errors.New("it is more than a box may write")
	}
	if err := x.enter(filepath.Dir(h.Name)); err != nil {
		return err
	}
	name := filepath.Base(h.Name)
	if h.PAXRecords[keeper.Gone] != "" {
		return x.remove(h.Name)
	}
	if h.Typeflag == tar.TypeDir {
		return x.folder(name, h)
	}
	if err := x.at.RemoveAll(name); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		return x.at.Symlink(h.Linkname, name)
	case tar.TypeReg:
		return x.file(name, h, in)
	case tar.TypeFifo: // so that the user is told that it is not carried over
		return x.special(h.Name, (*beneath.Dir).MakeFifo)
	}
	return nil
}

func (x *receiver) folder(name string, h *tar.Header) error {
	mode := fs.FileMode(h.Mode & 0o777)
	if mode&0o700 != 0o700 {
		x.folders = append(x.folders, h)
	}
	info, err := x.at.Lstat(name)
	if err == nil && !info.IsDir() {
		if err := x.at.Remove(name); err != nil {
			return err
		}
	}
	if err != nil || !info.IsDir() {
		if err := x.at.Mkdir(name, 0o700); err != nil {
			return err
		}
	}
	return x.at.Chmod(name, mode|0o700)
}

func (x *receiver) file(name string, h *tar.Header, in io.Reader) error {
	f, err := x.at.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	err = errors.Join(err, f.Chmod(fs.FileMode(h.Mode&0o777)), f.Close())
	if err == nil {
		err = x.at.Chtimes(name, h.ModTime, h.ModTime)
	}
	return err
}

// remove removes a name, or marks it as removed from what lies below.
func (x *receiver) remove(name string) error {
	if err := x.at.RemoveAll(filepath.Base(name)); err != nil || !x.overlay {
		return err
	}
	return x.special(name, (*beneath.Dir).MakeWhiteout)
}

// special makes a file of a special kind.
func (x *receiver) special(name string, mk func(*beneath.Dir, string) error) error {
	top, err := beneath.OpenOwn(x.dir)
	if err != nil {
		return err
	}
	defer top.Close()
	parent, err := top.Sub(filepath.ToSlash(filepath.Dir(name)))
	if err != nil {
		return err
	}
	defer parent.Close()
	return mk(parent, filepath.Base(name))
}
