package probe

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// hostPaths tries to reach the planted files of the host by every name that
// leads out of a careless box.
func hostPaths(a Args) Verdict {
	var paths []string
	for _, file := range a.List("planted") {
		paths = append(paths, aliases(file)...)
	}
	return Worst(expectSecretHidden(a.Text("secret"), paths...),
		expectUnreadable("/etc/shadow", "/etc/gshadow", "/proc/1/root/etc/shadow", "/etc/sudoers"))
}

func aliases(file string) []string {
	up := strings.Repeat("../", 40)
	out := []string{file, up + file[1:], "/proc/self/root" + file, "/proc/thread-self/root" + file,
		"/proc/self/cwd/" + up + file[1:], "/dev/fd/../.." + file}
	for _, pid := range pids() {
		base := "/proc/" + strconv.Itoa(pid)
		out = append(out, base+"/root"+file, base+"/cwd/"+up+file[1:])
	}
	return out
}

// chrootEscape is the old way out: a directory opened before a second chroot.
func chrootEscape(a Args) Verdict {
	dir := "escape"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return Errorf("%v", err)
	}
	fd, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return Errorf("%v", err)
	}
	k := &kit{}
	calls := []call{k.call(unix.SYS_CHROOT, dir), k.call(unix.SYS_FCHDIR, fd)}
	for range 40 {
		calls = append(calls, k.call(unix.SYS_CHDIR, ".."))
	}
	calls = append(calls, k.call(unix.SYS_CHROOT, "."), k.call(unix.SYS_FACCESSAT, unix.AT_FDCWD, a.Text("file"), 0))
	return expectErrno([]syscall.Errno{unix.EPERM, unix.ENOSYS, unix.ENOENT, unix.EACCES},
		attempt{"chroot, fchdir, …", func() error { return k.inChild(calls...) }})
}

// leakedFiles looks for descriptors that the box was not meant to have.
func leakedFiles(Args) Verdict {
	fd, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Errorf("%v", err)
	}
	var wrong []string
	for n := range 4096 {
		if n == fd || harmless(n) {
			continue
		}
		to, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(n))
		wrong = append(wrong, strconv.Itoa(n)+" "+to)
	}
	if len(wrong) > 0 {
		return Breachf("open: %s", abridge(wrong))
	}
	return Heldf("only standard input, output and error are open")
}

// harmless says that n is closed, or a standard stream that is no directory
// and no terminal, or made by this process's own runtime.
func harmless(n int) bool {
	var st unix.Stat_t
	if unix.Fstat(n, &st) != nil {
		return true
	}
	to, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(n))
	if strings.HasPrefix(to, "anon_inode:[event") || strings.HasPrefix(to, "/sys/fs/cgroup/cpu") {
		return true
	}
	return n <= 2 && st.Mode&unix.S_IFMT != unix.S_IFDIR
}

// workingDir checks that the way up from the working directory ends at the
// box's own root.
func workingDir(Args) Verdict {
	cwd, err := os.Readlink("/proc/self/cwd")
	if err != nil || !filepath.IsAbs(cwd) || strings.HasPrefix(cwd, "(") {
		return Breachf("working directory %q is outside the root", cwd)
	}
	up, root := unix.Stat_t{}, unix.Stat_t{}
	if err := errors.Join(unix.Stat(strings.Repeat("../", 64), &up), unix.Stat("/", &root)); err != nil {
		return Errorf("%v", err)
	}
	if up.Ino != root.Ino || up.Dev != root.Dev {
		return Breachf("the way up from %s does not end at the root", cwd)
	}
	return Heldf("%s is below the box's root", cwd)
}

// fileHandle opens the planted file by the handle that the host took of it.
func fileHandle(a Args) Verdict {
	raw, err := hex.DecodeString(a.Text("handle"))
	if err != nil || len(raw) == 0 {
		return Errorf("no handle was given")
	}
	handle := unix.NewFileHandle(int32(a.Int("type")), raw)
	return expectErrno(denied, attempt{"open_by_handle_at", func() error {
		dir, err := unix.Open(".", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		_, err = unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
		return err
	}})
}

// mounts tries everything that changes what is mounted where.
func mounts(Args) Verdict {
	k := &kit{}
	return expectErrno(denied,
		attempt{"mount tmpfs", k.tryInChild(unix.SYS_MOUNT, "none", "/tmp", "tmpfs", 0, 0)},
		attempt{"mount proc", k.tryInChild(unix.SYS_MOUNT, "proc", "/tmp", "proc", 0, 0)},
		attempt{"bind", k.tryInChild(unix.SYS_MOUNT, "/usr", "/tmp", "", unix.MS_BIND, 0)},
		attempt{"remount writable", k.tryInChild(unix.SYS_MOUNT, "none", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, 0)},
		attempt{"umount2", k.tryInChild(unix.SYS_UMOUNT2, "/proc", unix.MNT_DETACH)},
		attempt{"pivot_root", k.tryInChild(unix.SYS_PIVOT_ROOT, "/tmp", "/tmp")},
		attempt{"open_tree", k.tryInChild(unix.SYS_OPEN_TREE, unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)},
		attempt{"move_mount", k.tryInChild(unix.SYS_MOVE_MOUNT, unix.AT_FDCWD, "/tmp", unix.AT_FDCWD, "/var", 0)},
		attempt{"fsopen", k.tryInChild(unix.SYS_FSOPEN, "tmpfs", 0)},
		attempt{"fspick", k.tryInChild(unix.SYS_FSPICK, unix.AT_FDCWD, "/", 0)},
		attempt{"mount_setattr", k.tryInChild(unix.SYS_MOUNT_SETATTR, unix.AT_FDCWD, "/usr", 0, make([]byte, 32), 32)},
		attempt{"fsmount", k.tryInChild(unix.SYS_FSMOUNT, -1, 0, 0)},
		attempt{"fsconfig", k.tryInChild(unix.SYS_FSCONFIG, -1, 6, 0, 0, 0)},
	)
}

// unmask tries to take away every mount, to see what lies beneath.
func unmask(Args) Verdict {
	k := &kit{}
	var attempts []attempt
	for _, point := range mountPoints() {
		attempts = append(attempts, attempt{point, k.tryInChild(unix.SYS_UMOUNT2, point, unix.MNT_DETACH)})
	}
	return expectErrno(append([]syscall.Errno{unix.EINVAL}, denied...), attempts...)
}

// nestedNamespaces tries to become root of something new.
func nestedNamespaces(Args) Verdict {
	k := &kit{}
	want := append([]syscall.Errno{unix.ENOSPC}, denied...)
	var attempts []attempt
	for name, flag := range map[string]int{
		"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID, "net": unix.CLONE_NEWNET,
		"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME,
	} {
		attempts = append(attempts, attempt{"unshare " + name, k.tryInChild(unix.SYS_UNSHARE, flag)})
		if flag != unix.CLONE_NEWTIME { // that bit means a signal number to clone
			attempts = append(attempts, attempt{"clone " + name,
				k.tryInChild(unix.SYS_CLONE, flag|int(unix.SIGCHLD), 0, 0, 0, 0)})
		}
	}
	return Worst(expectErrno(want, attempts...), joinNamespaces(k))
}

// joinNamespaces tries to enter the name spaces of process 1.
func joinNamespaces(k *kit) Verdict {
	want := append([]syscall.Errno{unix.ESRCH, unix.ENOENT}, denied...)
	var attempts []attempt
	for _, name := range []string{"user", "mnt", "pid", "net", "ipc", "uts"} {
		attempts = append(attempts, attempt{"setns " + name, func() error {
			fd, err := unix.Open("/proc/1/ns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return k.inChild(k.call(unix.SYS_SETNS, fd, 0))
		}})
	}
	return expectErrno(want, attempts...)
}

// clone3User asks for a user name space in the call that hides its flags.
func clone3User(Args) Verdict {
	k := &kit{}
	args := make([]byte, 88)
	args[3] = unix.CLONE_NEWUSER >> 24
	args[32] = byte(unix.SIGCHLD)
	return expectErrno([]syscall.Errno{unix.ENOSYS}, attempt{"clone3", k.tryInChild(unix.SYS_CLONE3, args, len(args))})
}
