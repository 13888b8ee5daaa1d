package keeper

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// narrow does, while this process is still root, what Podman's interface cannot
// ask for: it bounds the number of files in memory, hides where the container
// is in the host's tree of control groups, and has no name of the host left. An
// engine may forbid any of that (by an AppArmor profile); it goes without then.
func narrow(files string, folders []string) {
	if files != "0" {
		for _, dir := range folders {
			_ = unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, "nr_inodes="+files)
		}
		_ = unix.Mount("", "/dev/shm", "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "nr_inodes="+files)
	}
	_, _, _ = syscall.AllThreadsSyscall(unix.SYS_UNSHARE, unix.CLONE_NEWCGROUP, 0, 0)
	_ = ownHosts()
}

// ownHosts puts a list of names over the engine's, which tells the host's.
func ownHosts() error {
	const list, where = "/run/.hosts", "/etc/hosts"
	if err := os.WriteFile(list, []byte("127.0.0.1 localhost box\n::1 localhost\n"), 0o644); err != nil {
		return err
	}
	defer os.Remove(list)
	if err := unix.Mount(list, where, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", where, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}
