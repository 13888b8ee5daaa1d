//go:build unix && !linux

package beneath

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func openat(at int, rel string, flags int, perm uint32) (int, error) {
	return walk(at, rel, flags, perm)
}

func chmodat(at int, name string, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.ELOOP
	}
	return unix.Fchmodat(at, name, mode, unix.AT_SYMLINK_NOFOLLOW)
}

// Sync makes what was written to the directory durable.
func (d *Dir) Sync() error { return d.file.Sync() }

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
