package docker

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

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
		err = errors.Join(err, sendFile(w, file, func(info fs.FileInfo) *tar.Header {
			return header(name, uint32(info.Mode().Perm()), info.ModTime())
		}))
	}
	return errors.Join(err, w.Close())
}

// sendFile writes a file of this machine under the header that describe makes
// of it.
func sendFile(w *tar.Writer, file string, describe func(fs.FileInfo) *tar.Header) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return sendContent(w, describe(info), f, info.Size())
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
