package beneath

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openat opens rel beneath at; no part of rel may be a symbolic link.
func openat(at int, rel string, flags int, perm uint32) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Mode:    uint64(perm),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := retry(func() (int, error) { return unix.Openat2(at, rel, &how) })
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // old kernel, or a filter that knows no openat2
		return walk(at, rel, flags, perm)
	}
	return fd, err
}

// chmodat changes the mode of what is not a link, also when it is unreadable.
func chmodat(at int, name string, mode uint32) error {
	fd, err := openat(at, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.ELOOP
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}

func renameat(from int, name string, to int, newname string, how How) error {
	flags := map[How]uint{NoReplace: unix.RENAME_NOREPLACE, Exchange: unix.RENAME_EXCHANGE}[how]
	err := unix.Renameat2(from, name, to, newname, flags)
	if how != Replace && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)) {
		return ErrUnsupported
	}
	return err
}

// Sync makes everything written to the file system durable.
func (d *Dir) Sync() error { return unix.Syncfs(d.fd) }

// marks are the two names spaces of overlay attributes. A program in a box can
// set neither: the kernel keeps the first from it in an overlay mounted with
// userxattr, the second needs privilege on the host.
var marks = [2]string{"user.overlay.", "trusted.overlay."}

// Opaque says whether the overlay hides what lies beneath this directory.
func (d *Dir) Opaque() bool {
	value, ok := attribute(d.fd, "opaque")
	return ok && value == "y"
}

// Redirected says whether the overlay takes the content of this directory from
// another name.
func (d *Dir) Redirected() bool {
	_, ok := attribute(d.fd, "redirect")
	return ok
}

// SetOpaque hides what lies beneath this directory from the overlay.
func (d *Dir) SetOpaque() error {
	yes := []byte("y")
	if err := unix.Fsetxattr(d.fd, marks[0]+"opaque", yes, 0); err != nil {
		return fmt.Errorf("mark directory as opaque: %w", err)
	}
	_ = unix.Fsetxattr(d.fd, marks[1]+"opaque", yes, 0) // for mounts by root; needs privilege
	return nil
}

// MarkedWhiteout says whether the empty regular file name is a whiteout in the
// form of an attribute.
func (d *Dir) MarkedWhiteout(name string) bool {
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	_, ok := attribute(fd, "whiteout")
	return ok
}

// MakeWhiteout marks name as deleted for the overlay.
func (d *Dir) MakeWhiteout(name string) error {
	return d.do("whiteout", name, func() error { return unix.Mknodat(d.fd, name, unix.S_IFCHR, 0) })
}

// MakeFifo makes a named pipe, which nobody should ever open.
func (d *Dir) MakeFifo(name string) error {
	return d.do("make fifo", name, func() error { return unix.Mknodat(d.fd, name, unix.S_IFIFO|0o600, 0) })
}

func attribute(fd int, key string) (string, bool) {
	var buf [256]byte
	for _, space := range marks {
		n, err := unix.Fgetxattr(fd, space+key, buf[:])
		if err == nil {
			return string(buf[:n]), true
		}
		if errors.Is(err, unix.ERANGE) {
			return "", true
		}
	}
	return "", false
}

// NextData returns the offset of the next data at or after off; size when only
// a hole follows.
func NextData(f *os.File, off, size int64) int64 {
	at, err := unix.Seek(int(f.Fd()), off, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return size
	}
	if err != nil {
		return off
	}
	return min(at, size)
}

// NextHole returns the offset of the next hole at or after off; at most size.
func NextHole(f *os.File, off, size int64) int64 {
	at, err := unix.Seek(int(f.Fd()), off, unix.SEEK_HOLE)
	if err != nil {
		return size
	}
	return min(at, size)
}

// Clone makes dst share the blocks of src where the file system can.
func Clone(dst, src *os.File) error {
	return unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
}
