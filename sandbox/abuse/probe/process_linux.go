package probe

import (
	"encoding/binary"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// otherProcesses tries to reach into process 1, the box's own supervisor, and
// into a process of the host.
func otherProcesses(a Args) Verdict {
	var all []Verdict
	for _, pid := range []int{1, a.Int("host"), os.Getppid()} {
		if pid != os.Getpid() && pid > 0 {
			all = append(all, untouchable(pid))
		}
	}
	return Worst(all...)
}

func untouchable(pid int) Verdict {
	k := &kit{}
	local, remote := iovec(addressOf(k.buffer(8))), iovec(1) // nothing lies at 1: a breach is an EFAULT
	want := append([]syscall.Errno{unix.ESRCH, unix.ENOENT, unix.EBADF}, denied...)
	return Worst(expectErrno(want,
		attempt{"trace", k.tryInChild(unix.SYS_PTRACE, unix.PTRACE_SEIZE, pid, 0, 0)},
		attempt{"process_vm_readv", k.tryInChild(unix.SYS_PROCESS_VM_READV, pid, local, 1, remote, 1, 0)},
		attempt{"process_vm_writev", k.tryInChild(unix.SYS_PROCESS_VM_WRITEV, pid, local, 1, remote, 1, 0)},
		attempt{"kcmp", k.tryInChild(unix.SYS_KCMP, os.Getpid(), pid, 0, 0, 0)},
		attempt{"pidfd_getfd", func() error { return stealFile(k, pid) }},
	), expectUnreadable(procFiles(pid, "mem", "environ", "stack", "syscall", "auxv")...))
}

func procFiles(pid int, names ...string) []string {
	var out []string
	for _, n := range names {
		out = append(out, "/proc/"+itoa(pid)+"/"+n)
	}
	return out
}

func stealFile(k *kit, pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = k.now(unix.SYS_PIDFD_GETFD, fd, 0, 0)
	return err
}

// iovec is a struct iovec of eight bytes.
func iovec(address int64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(address))
	return binary.LittleEndian.AppendUint64(b, 8)
}

// signals sends nothing at first: only when no process of the host can be
// reached does it signal all that it can reach.
func signals(a Args) Verdict {
	host := a.Int("host")
	missing := []syscall.Errno{unix.ESRCH, unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EINVAL}
	k := &kit{}
	v := Worst(expectErrno(missing,
		attempt{"kill", func() error { return unix.Kill(host, 0) }},
		attempt{"kill of the group", func() error { return unix.Kill(-host, 0) }},
		attempt{"pidfd_open", func() error { _, err := unix.PidfdOpen(host, 0); return err }},
		attempt{"tgkill", func() error { return unix.Tgkill(host, host, 0) }},
		attempt{"F_SETOWN", func() error { return own(host) }},
	), foreignProcesses(a.Token))
	if v.Verdict == Held {
		_ = k.inChild(k.call(unix.SYS_KILL, -1, int(unix.SIGCONT)))
	}
	return v
}

func own(pid int) error {
	fds := make([]int, 2)
	if err := unix.Pipe2(fds, unix.O_CLOEXEC); err != nil {
		return err
	}
	_, err := unix.FcntlInt(uintptr(fds[0]), unix.F_SETOWN, pid)
	return err
}

// foreignProcesses wants /proc to show this box's processes and no others.
func foreignProcesses(token string) Verdict {
	var foreign []string
	for _, pid := range pids() {
		line, _ := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
		if pid != 1 && len(line) > 0 && !strings.Contains(string(line), token) {
			foreign = append(foreign, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	if len(foreign) > 2 { // a supervisor and a relay may live beside us
		return Breachf("%d foreign processes: %.120s", len(foreign), foreign[0])
	}
	return Heldf("/proc shows %d processes", len(pids()))
}

// forbiddenCalls are the calls that change or read the kernel as a whole. The
// arguments are invalid, so that no call could do harm: an error about the
// arguments means that it got through.
func forbiddenCalls(Args) Verdict {
	k := &kit{}
	one := func(name string, nr uintptr, args ...any) attempt {
		return attempt{name, k.tryInChild(nr, args...)}
	}
	all := []attempt{
		one("bpf", unix.SYS_BPF, 0, make([]byte, 128), 128),
		one("bpf program", unix.SYS_BPF, 5, make([]byte, 128), 128),
		one("perf_event_open", unix.SYS_PERF_EVENT_OPEN, make([]byte, 128), 0, -1, -1, 0),
		one("userfaultfd", unix.SYS_USERFAULTFD, 1),
		one("kexec_load", unix.SYS_KEXEC_LOAD, 0, 0, 0, 0),
		one("init_module", unix.SYS_INIT_MODULE, make([]byte, 8), 8, ""),
		one("finit_module", unix.SYS_FINIT_MODULE, -1, "", 0),
		one("delete_module", unix.SYS_DELETE_MODULE, "kintsugi-absent", 0),
		one("acct", unix.SYS_ACCT, "/absent"),
		one("swapon", unix.SYS_SWAPON, "/absent", 0),
		one("swapoff", unix.SYS_SWAPOFF, "/absent"),
		one("reboot", unix.SYS_REBOOT, 0, 0, 0, 0),
		one("quotactl", unix.SYS_QUOTACTL, 0x800002<<8, "/dev/absent", 0, make([]byte, 256)),
		one("settimeofday", unix.SYS_SETTIMEOFDAY, 0, make([]byte, 8)),
		one("vhangup", unix.SYS_VHANGUP),
		one("fanotify_init", unix.SYS_FANOTIFY_INIT, 0, 0),
		one("name_to_handle through a mount", unix.SYS_OPEN_BY_HANDLE_AT, -1, make([]byte, 16), 0),
		one("nfsservctl", unix.SYS_NFSSERVCTL, 0, 0, 0),
		one("lookup_dcookie", unix.SYS_LOOKUP_DCOOKIE, 0, make([]byte, 8), 8),
	}
	return expectErrno(append([]syscall.Errno{unix.ENOSPC}, denied...), append(all, machineCalls(k)...)...)
}

// ioRing asks for the interface that does input and output unseen by filters.
func ioRing(Args) Verdict {
	k := &kit{}
	return expectErrno([]syscall.Errno{unix.EPERM, unix.ENOSYS},
		attempt{"io_uring_setup", k.try(unix.SYS_IO_URING_SETUP, 4, make([]byte, 120))},
		attempt{"io_uring_enter", k.try(unix.SYS_IO_URING_ENTER, -1, 1, 0, 0, 0, 0)},
		attempt{"io_uring_register", k.try(unix.SYS_IO_URING_REGISTER, -1, 0, 0, 0)},
	)
}

// unknownCalls asks for calls that no kernel has yet: programs must be told
// that they do not exist.
func unknownCalls(Args) Verdict {
	k := &kit{}
	var all []attempt
	for _, nr := range []uintptr{500, 600, 1000, 4000, 100000} {
		all = append(all, attempt{itoa(int(nr)), k.tryInChild(nr)})
	}
	return expectErrno([]syscall.Errno{unix.ENOSYS}, all...)
}

// families opens sockets of every family that no program needs.
func families(Args) Verdict {
	want := []syscall.Errno{unix.EAFNOSUPPORT, unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EPROTONOSUPPORT,
		unix.ESOCKTNOSUPPORT}
	open := func(name string, family, kind, protocol int) attempt {
		return attempt{name, func() error {
			fd, err := unix.Socket(family, kind, protocol)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}}
	}
	return expectErrno(want,
		open("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		open("packet", unix.AF_PACKET, unix.SOCK_RAW, 0),
		open("alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		open("xdp", unix.AF_XDP, unix.SOCK_RAW, 0),
		open("bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1),
		open("tipc", unix.AF_TIPC, unix.SOCK_RDM, 0),
		open("can", unix.AF_CAN, unix.SOCK_RAW, 1),
		open("rds", unix.AF_RDS, unix.SOCK_SEQPACKET, 0),
		open("smc", unix.AF_SMC, unix.SOCK_STREAM, 0),
		open("kcm", unix.AF_KCM, unix.SOCK_DGRAM, 0),
		open("key", unix.AF_KEY, unix.SOCK_RAW, 2),
		open("raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		open("raw six", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6),
		open("netlink audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT),
		open("netlink netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER),
		open("netlink uevents", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
		open("netlink crypto", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_CRYPTO),
	)
}

// clocks tries to change what the whole machine shares.
func clocks(Args) Verdict {
	k := &kit{}
	adjust := make([]byte, 208)
	adjust[0] = 2 // ADJ_FREQUENCY
	return Worst(expectErrno(denied,
		attempt{"clock_settime", k.tryInChild(unix.SYS_CLOCK_SETTIME, 0, make([]byte, 16))},
		attempt{"settimeofday", k.tryInChild(unix.SYS_SETTIMEOFDAY, 0, make([]byte, 8))},
		attempt{"adjtimex", k.tryInChild(unix.SYS_ADJTIMEX, adjust)},
		attempt{"clock_adjtime", k.tryInChild(unix.SYS_CLOCK_ADJTIME, 0, adjust)},
	), Heldf("host name: %s", short(k.try(unix.SYS_SETHOSTNAME, "owned", 5)())))
}

// irreversible tries to take back what was given up for good.
func irreversible(Args) Verdict {
	k := &kit{}
	want := append([]syscall.Errno{unix.EINVAL, unix.EBUSY}, denied...)
	v := expectErrno(want,
		attempt{"no_new_privs off", k.tryInChild(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0)},
		attempt{"filter off", k.tryInChild(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, 0, 0, 0, 0)},
		attempt{"fixed addresses", k.tryInChild(unix.SYS_PERSONALITY, 0x0040000)},
		attempt{"read implies execute", k.tryInChild(unix.SYS_PERSONALITY, 0x0400000)},
		attempt{"bounding set", k.tryInChild(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, 21, 0, 0)},
		attempt{"keep capabilities", func() error { return regain(k) }},
	)
	if mode := statusField("Seccomp"); mode != "2" {
		v = Worst(v, Breachf("no system call filter: Seccomp is %q", mode))
	}
	return v
}

// regain asks for every capability.
func regain(k *kit) error {
	header := []byte{0x22, 0x05, 0x08, 0x20, 0, 0, 0, 0}
	all := make([]byte, 24)
	for i := range all {
		all[i] = 0xff
	}
	return k.inChild(k.call(unix.SYS_CAPSET, header, all))
}

// coreDump looks for limits on dumps and then crashes a child.
func coreDump(a Args) Verdict {
	more := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &more)
	var is unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &is); err != nil {
		return Errorf("%v", err)
	}
	k := &kit{}
	err := k.inChild(k.call(unix.SYS_SETPGID, 0, 0),
		k.call(unix.SYS_RT_SIGACTION, int(unix.SIGQUIT), make([]byte, 32), 0, 8),
		k.call(unix.SYS_KILL, 0, int(unix.SIGQUIT)))
	time.Sleep(20 * time.Millisecond)
	if a.Text("piped") == "true" && is.Max != 1 {
		return Breachf("this machine pipes core dumps to a program outside; only a limit of 1 stops that, it is %d", is.Max)
	}
	if is.Max > 1 {
		return Breachf("core files of up to %d bytes", is.Max)
	}
	return Heldf("limit %d; the child ended with %s", is.Max, short(err))
}
