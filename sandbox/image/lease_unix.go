//go:build unix

package image

import (
	"os"
	"syscall"
)

// locksHold says that an open file keeps others out, and may be renamed.
const locksHold = true

// share takes a lock that others may share.
func share(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}

// unused takes the lock that nobody may share: false means that a process uses
// the image.
func unused(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
