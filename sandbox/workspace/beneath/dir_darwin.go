package beneath

import (
	"errors"

	"golang.org/x/sys/unix"
)

func renameat(from int, name string, to int, newname string, how How) error {
	flags := map[How]uint32{NoReplace: unix.RENAME_EXCL, Exchange: unix.RENAME_SWAP}[how]
	err := unix.RenameatxNp(from, name, to, newname, flags)
	if how != Replace && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP)) {
		return ErrUnsupported
	}
	return err
}
