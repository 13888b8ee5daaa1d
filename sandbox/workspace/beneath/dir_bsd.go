//go:build unix && !linux && !darwin

package beneath

import "golang.org/x/sys/unix"

func renameat(from int, name string, to int, newname string, how How) error {
	if how != Replace {
		return ErrUnsupported
	}
	return unix.Renameat(from, name, to, newname)
}
