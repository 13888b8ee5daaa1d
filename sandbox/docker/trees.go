package docker

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kintsugi/sandbox/docker/keeper"
	"kintsugi/sandbox/workspace"
	"kintsugi/sandbox/workspace/beneath"
)

// send writes a tree's content as an archive.
func (s *source) send(to io.Writer) error {
	w := tar.NewWriter(to)
	var err error
	if s.view != nil {
		err = s.sendDir(w, ".")
	}
	for name, file := range s.files {
		err = errors.Join(err, sendFile(w, name, file))
	}
	return errors.Join(err, w.Close())
}

func sendFile(w *tar.Writer, name, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return sendContent(w, header(name, uint32(info.Mode().Perm()), info.ModTime()), f, info.Size())
}

func header(name string, mode uint32, modified time.Time) *tar.Header {
	return &tar.Header{Name: name, Mode: int64(mode & 0o777), ModTime: modified, Format: tar.FormatPAX}
}

// sendContent writes exactly the size that was announced, whatever happens to
// the file meanwhile.
func sendContent(w *tar.Writer, h *tar.Header, f io.Reader, size int64) error {
	h.Typeflag, h.Size = tar.TypeReg, size
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.CopyN(w, f, size)
	if errors.Is(err, io.EOF) {
		_, err = io.CopyN(w, zeros{}, size-n)
	}
	return err
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (s *source) sendDir(w *tar.Writer, dir string) error {
	for e, err := range s.view.List(dir) {
		if err != nil {
			return err
		}
		if s.hide && dir == "." && strings.HasPrefix(e.Name, ".") {
			continue
		}
		if err := s.sendEntry(w, path.Join(dir, e.Name), e.Entry); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) sendEntry(w *tar.Writer, name string, e workspace.Entry) error {
	h := header(name, e.Mode, time.Unix(0, e.Mtime))
	switch e.Kind {
	case beneath.Directory:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if err := s.sendDir(w, name); !errors.Is(err, fs.ErrPermission) {
			return err
		}
	case beneath.Symlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Target
		return w.WriteHeader(h)
	case beneath.File:
		f, _, err := s.view.Open(name)
		if errors.Is(err, fs.ErrPermission) {
			return nil // what its owner may not read, no box may
		}
		if err != nil {
			return err
		}
		defer f.Close()
		return sendContent(w, h, f, e.Size)
	}
	return nil
}

// receiver unpacks the changes that a box hands back. It believes nothing: no
// name leads out of the folder, no special file is made, and there is a bound
// to bytes and files.
type receiver struct {
	dir     string
	overlay bool
	bytes   int64
	files   int64
	root    *os.Root
	folders []*tar.Header
}

// receive unpacks an archive of changes into dir.
func (x *receiver) receive(r io.Reader) error {
	var err error
	if x.root, err = os.OpenRoot(x.dir); err != nil {
		return err
	}
	defer x.root.Close()
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
		_ = x.root.Chmod(h.Name, fs.FileMode(h.Mode&0o777))
	}
	return nil
}

func (x *receiver) take(h *tar.Header, in io.Reader) error {
	h.Name = filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
	x.bytes -= h.Size
	x.files--
	switch {
	case !filepath.IsLocal(h.Name) || h.Name == ".":
		return fmt.Errorf("%q is no name in a folder", h.Name)
	case x.bytes < 0 || x.files < 0 || h.Size < 0:
		return errors.New("it is more than a box may write")
	case h.PAXRecords[keeper.Gone] != "":
		return x.remove(h.Name)
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return x.folder(h)
	case tar.TypeSymlink:
		if err := x.root.RemoveAll(h.Name); err != nil {
			return err
		}
		return x.root.Symlink(h.Linkname, h.Name)
	case tar.TypeReg:
		return x.file(h, in)
	}
	return nil // fifos are of no use outside
}

func (x *receiver) folder(h *tar.Header) error {
	x.folders = append(x.folders, h)
	if info, err := x.root.Lstat(h.Name); err == nil {
		if info.IsDir() {
			return x.root.Chmod(h.Name, 0o700)
		}
		if err := x.root.Remove(h.Name); err != nil {
			return err
		}
	}
	return x.root.Mkdir(h.Name, 0o700)
}

func (x *receiver) file(h *tar.Header, in io.Reader) error {
	if err := x.root.RemoveAll(h.Name); err != nil {
		return err
	}
	f, err := x.root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	err = errors.Join(err, f.Chmod(fs.FileMode(h.Mode&0o777)), f.Close())
	if err == nil {
		err = x.root.Chtimes(h.Name, h.ModTime, h.ModTime)
	}
	return err
}

// remove removes a name, or marks it as removed from what lies below.
func (x *receiver) remove(name string) error {
	if err := x.root.RemoveAll(name); err != nil || !x.overlay {
		return err
	}
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
	return parent.MakeWhiteout(filepath.Base(name))
}
