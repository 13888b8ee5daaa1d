package namespace

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// call is a probe that makes a raw system call and prints its error's name.
func call(nr uintptr, args ...uintptr) func() string {
	return func() string {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		return errnoName(errno)
	}
}

func errnoName(errno unix.Errno) string {
	if errno == 0 {
		return "ok"
	}
	return unix.ErrnoName(errno)
}

// highBits is added to arguments of which the kernel looks at 32 bits only.
const highBits = 1 << 40

var probes = map[string]func() string{
	"unshare user":     call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
	"unshare mounts":   call(unix.SYS_UNSHARE, unix.CLONE_NEWNS),
	"setns":            call(unix.SYS_SETNS, 0, 0),
	"clone user":       call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)),
	"clone3":           call(unix.SYS_CLONE3, 0, 0),
	"mount":            call(unix.SYS_MOUNT, 0, 0, 0, 0, 0),
	"umount":           call(unix.SYS_UMOUNT2, 0, 0),
	"fsopen":           call(unix.SYS_FSOPEN, 0, 0),
	"open_tree":        call(unix.SYS_OPEN_TREE, 0, 0, 0),
	"move_mount":       call(unix.SYS_MOVE_MOUNT, 0, 0, 0, 0, 0),
	"mount_setattr":    call(unix.SYS_MOUNT_SETATTR, 0, 0, 0, 0, 0),
	"pivot_root":       call(unix.SYS_PIVOT_ROOT, 0, 0),
	"chroot":           call(unix.SYS_CHROOT, 0),
	"io_uring":         call(unix.SYS_IO_URING_SETUP, 1, 0),
	"keyctl":           call(unix.SYS_KEYCTL, 0, 0),
	"add_key":          call(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0),
	"bpf":              call(unix.SYS_BPF, 0, 0, 0),
	"perf":             call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0),
	"userfaultfd":      call(unix.SYS_USERFAULTFD, 1),
	"handle":           call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0),
	"kexec":            call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0),
	"module":           call(unix.SYS_FINIT_MODULE, 0, 0, 0),
	"reboot":           call(unix.SYS_REBOOT, 0, 0, 0, 0),
	"settimeofday":     call(unix.SYS_SETTIMEOFDAY, 0, 0),
	"hostname":         call(unix.SYS_SETHOSTNAME, 0, 0),
	"unknown":          call(800),
	"vsock":            call(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0),
	"vsock, high bits": call(unix.SYS_SOCKET, unix.AF_VSOCK|highBits, unix.SOCK_STREAM, 0),
	"packet":           call(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0),
	"alg":              call(unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
	"netlink audit":    call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT),
	"netlink route":    call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE),
	"raw":              call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
	"inet":             call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0),
	"unix":             call(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0),
	"tiocsti":          call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0),
	"tiocsti, high":    call(unix.SYS_IOCTL, 0, unix.TIOCSTI|highBits, 0),
	"tioclinux, high":  call(unix.SYS_IOCTL, 0, unix.TIOCLINUX|highBits, 0),
	"aslr off":         call(unix.SYS_PERSONALITY, 0x40000),
	"personality":      call(unix.SYS_PERSONALITY, 0xffffffff),
	"init's memory": func() string {
		_, err := os.Open("/proc/1/mem")
		return fmt.Sprint(err)
	},
	"ptrace init": call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1, 0, 0),
	"x32":         call(0x40000000 | 39),
	"device node": func() string { return fmt.Sprint(unix.Mknod("/tmp/d", unix.S_IFCHR|0o666, 0)) },
	"fifo":        func() string { return fmt.Sprint(unix.Mknod("/tmp/f", unix.S_IFIFO|0o666, 0)) },
	"abstract socket": func() string {
		_, err := net.Dial("unix", os.Getenv("TARGET"))
		return fmt.Sprint(err)
	},
	"inotify":     countInotify,
	"descriptors": openDescriptors,
}

// countInotify says how many inotify instances can be had.
func countInotify() string {
	for n := range 1000 {
		if _, err := unix.InotifyInit1(0); err != nil {
			return fmt.Sprintf("%d %v", n, err)
		}
	}
	return "no limit"
}

// openDescriptors lists the descriptors a program starts with.
func openDescriptors() string {
	out := ""
	for fd := range 1024 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			if link, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); fd < 3 || link != "anon_inode:[eventpoll]" && link != "anon_inode:[eventfd]" {
				out += fmt.Sprint(fd, " ")
			}
		}
	}
	return out
}
