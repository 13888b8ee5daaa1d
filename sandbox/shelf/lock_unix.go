//go:build unix

package shelf

import (
	"os"
	"syscall"
)

// Locks says that an open file keeps others out, and that its folder may be
// renamed.
const Locks = true

// share takes a lock that others may share.
func share(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}

// unused takes the lock that nobody may share: false means that a process uses
// the folder.
func unused(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
