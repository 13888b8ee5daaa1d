//go:build unix

package docker

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// trusted says whether nobody owns a file or may write it but us, the system's
// administrator, or who had sudo start this program.
func trusted(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().Perm()&0o002 != 0 {
		return false
	}
	caller := os.Geteuid()
	if sudo, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil && caller == 0 {
		caller = sudo
	}
	return st.Uid == 0 || int(st.Uid) == caller
}
