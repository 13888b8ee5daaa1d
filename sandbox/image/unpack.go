package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// unpacker lays layers into a folder.
type unpacker struct {
	root    *os.Root
	bytes   int64
	entries int64
	// modes of folders are set when all is unpacked: one may forbid writing.
	modes map[string]fs.FileMode
	// made is what the present layer has brought: its whiteouts do not hide it.
	made map[string]bool
}

func newUnpacker(tree string, l Limits) (*unpacker, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	u := &unpacker{root: root, bytes: l.Bytes, entries: l.Entries, modes: map[string]fs.FileMode{}}
	if u.bytes == 0 {
		u.bytes = DefaultLimits.Bytes
	}
	if u.entries == 0 {
		u.entries = DefaultLimits.Entries
	}
	return u, nil
}

func (u *unpacker) close() { u.root.Close() }

// layer unpacks one layer and checks that it is the one that the image names.
// The registry's client checks the packed bytes against the manifest.
func (u *unpacker) layer(l v1.Layer, want v1.Hash) error {
	stream, err := l.Uncompressed()
	if err != nil {
		return err
	}
	defer stream.Close()
	h := sha256.New()
	whole := io.TeeReader(stream, h)
	u.made = map[string]bool{}
	if err := u.archive(tar.NewReader(whole)); err != nil {
		return err
	}
	// What stands behind the archive's end counts for the hash, and is bounded.
	if n, err := io.Copy(io.Discard, io.LimitReader(whole, 1<<20)); err != nil || n == 1<<20 {
		return errors.Join(errors.New("the archive does not end where it says"), err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); want.Algorithm != "sha256" || got != want.Hex {
		return fmt.Errorf("its content is not what the image names (%s instead of %s)", got, want.Hex)
	}
	return nil
}

func (u *unpacker) archive(in *tar.Reader) error {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if u.entries--; u.entries < 0 {
			return errors.New("it has more entries than an image may have")
		}
		if u.bytes -= max(h.Size, 0); u.bytes < 0 || h.Size < 0 {
			return errors.New("it is larger than an image may be")
		}
		if err := u.entry(h, in); err != nil {
			return fmt.Errorf("%q: %w", h.Name, err)
		}
	}
}

// errOutside is for names that lead out of the image.
var errOutside = errors.New("the name leads out of the image")

// local is a name of an archive as a path below the root: "." is the root.
func local(name string) (string, error) {
	if strings.HasPrefix(name, "/") || strings.Contains(name, "\x00") {
		return "", errOutside
	}
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errOutside
	}
	return clean, nil
}

// The names by which a layer says that something below is gone.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

func (u *unpacker) entry(h *tar.Header, in io.Reader) error {
	name, err := local(h.Name)
	if err != nil {
		return err
	}
	if name == "." {
		return nil
	}
	dir, err := u.folder(path.Dir(name), 0)
	if err != nil {
		return err
	}
	base := path.Base(name)
	if strings.HasPrefix(base, whiteout) {
		return u.gone(dir, base)
	}
	at := path.Join(dir, base)
	u.made[at] = true
	switch h.Typeflag {
	case tar.TypeDir:
		return u.mkdir(at, h)
	case tar.TypeReg:
		return u.file(at, h, in)
	case tar.TypeSymlink:
		if err := u.root.RemoveAll(at); err != nil {
			return err
		}
		return u.root.Symlink(h.Linkname, at)
	case tar.TypeLink:
		return u.link(at, h.Linkname)
	}
	return nil // devices and pipes are of no use in a box
}

// folder gives the real path of a folder, making what is missing. Links on the
// way are followed as they would be inside the image: an absolute one begins
// at the image's root, and ".." ends there.
func (u *unpacker) folder(dir string, followed int) (string, error) {
	at := "."
	rest := strings.Split(dir, "/")
	for len(rest) > 0 {
		step := rest[0]
		rest = rest[1:]
		switch step {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, step)
		info, err := u.root.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := u.root.Mkdir(next, 0o755); err != nil {
				return "", err
			}
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if followed++; followed > 40 {
				return "", errors.New("too many links")
			}
			to, err := u.root.Readlink(next)
			if err != nil {
				return "", err
			}
			if path.IsAbs(to) {
				at = "."
			}
			rest = append(strings.Split(to, "/"), rest...)
			continue
		case !info.IsDir(): // a layer that puts a folder where a file was
			if err := errors.Join(u.root.Remove(next), u.root.Mkdir(next, 0o755)); err != nil {
				return "", err
			}
		}
		at = next
	}
	return at, nil
}

// gone removes what a layer says is gone, but nothing of that layer itself.
func (u *unpacker) gone(dir, base string) error {
	if base == opaque {
		return u.empty(dir)
	}
	name := strings.TrimPrefix(base, whiteout)
	if name == "" || name == "." || name == ".." {
		return errOutside
	}
	if at := path.Join(dir, name); !u.made[at] {
		return u.root.RemoveAll(at)
	}
	return nil
}

func (u *unpacker) empty(dir string) error {
	d, err := u.root.Open(dir)
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	for _, name := range names {
		if at := path.Join(dir, name); !u.made[at] {
			err = errors.Join(err, u.root.RemoveAll(at))
		}
	}
	return err
}

func (u *unpacker) mkdir(at string, h *tar.Header) error {
	info, err := u.root.Lstat(at)
	if err == nil && !info.IsDir() {
		if err := u.root.Remove(at); err != nil {
			return err
		}
	}
	if err != nil || !info.IsDir() {
		if err := u.root.Mkdir(at, 0o755); err != nil {
			return err
		}
	}
	// Its owner, who is the user, must be able to read and to remove it.
	u.modes[at] = fs.FileMode(h.Mode&0o777) | 0o700
	return nil
}

func (u *unpacker) file(at string, h *tar.Header, in io.Reader) error {
	if err := u.root.RemoveAll(at); err != nil {
		return err
	}
	f, err := u.root.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	err = errors.Join(err, f.Chmod(fs.FileMode(h.Mode&0o777)|0o400), f.Close())
	if err == nil {
		err = u.root.Chtimes(at, h.ModTime, h.ModTime)
	}
	return err
}

// link gives a file of the image another name; the file must be one, and in
// the image.
func (u *unpacker) link(at, to string) error {
	name, err := local(strings.TrimPrefix(to, "/"))
	if err != nil {
		return err
	}
	dir, err := u.folder(path.Dir(name), 0)
	if err != nil {
		return err
	}
	from := path.Join(dir, path.Base(name))
	info, err := u.root.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errors.New("a folder cannot have two names")
	}
	if from == at {
		return nil
	}
	if err := u.root.RemoveAll(at); err != nil {
		return err
	}
	return u.root.Link(from, at)
}

// finish sets the modes of folders.
func (u *unpacker) finish() error {
	for at, mode := range u.modes {
		info, err := u.root.Lstat(at)
		if err != nil || !info.IsDir() {
			continue // a later layer took it away
		}
		if err := u.root.Chmod(filepath.FromSlash(at), mode); err != nil {
			return err
		}
	}
	return nil
}
