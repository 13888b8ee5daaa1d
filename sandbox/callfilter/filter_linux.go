package callfilter

import (
	"encoding/binary"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// forbidden are calls that no program in a box needs and that widen what it
// can reach of the kernel: they fail with EPERM.
var forbidden = []string{
	// kernel-wide state
	"acct", "adjtimex", "clock_adjtime", "clock_settime", "settimeofday", "stime", "reboot", "swapon", "swapoff",
	"sethostname", "setdomainname", "syslog", "vhangup", "quotactl", "quotactl_fd", "iopl", "ioperm", "modify_ldt",
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
	// mounts and name spaces
	"mount", "umount", "umount2", "pivot_root", "chroot", "unshare", "setns", "open_tree", "move_mount", "fsopen",
	"fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at", "statmount", "listmount",
	// large attack surface or side channels
	"bpf", "perf_event_open", "userfaultfd", "fanotify_init", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"add_key", "keyctl", "request_key", "kcmp", "pidfd_getfd", "move_pages", "migrate_pages", "lookup_dcookie",
	"vm86", "vm86old",
}

// absent are calls that programs must believe the kernel does not have, so
// that they fall back: clone3 hides its flags behind a pointer, io_setup takes
// from what the whole machine has once.
var absent = []string{
	"clone3", "io_setup", "memfd_secret", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl", "create_module", "query_module",
	"get_kernel_syms", "afs_syscall", "tuxcall", "security", "getpmsg", "putpmsg", "vserver",
}

const (
	// newNamespaces are the clone flags that make name spaces.
	newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME
	// deviceBit is set in the mode of character and block devices, and in no
	// other file type.
	deviceBit = 0x2000

	// perLinux32 is the personality of "uname -m" answering for 32 bits.
	perLinux32 = 8

	denied = seccomp.ActionErrno | seccomp.Action(unix.EPERM)
)

// Uncounted are calls that take memory which no process is seen to have. Where
// no control group counts it, they are absent too; programs then use files in
// /tmp or /dev/shm, whose size is limited.
func Uncounted() []string { return []string{"memfd_create"} }

// Program returns the filter in the form the kernel takes. What is in
// gone does not exist in the box, besides what never does.
func Program(gone ...string) ([]byte, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	program, err := assemble(info, slices.Concat(absent, gone))
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(append(prologue(info), program...))
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 8*len(raw))
	for _, ins := range raw {
		out = binary.LittleEndian.AppendUint16(out, ins.Op)
		out = append(out, ins.Jt, ins.Jf)
		out = binary.LittleEndian.AppendUint32(out, ins.K)
	}
	return out, nil
}

// prologue kills foreign calling conventions, hides calls newer than the
// table, answers who wants all of a disk written out that it is done (it would
// be all of the host's), and refuses to type into terminals (the kernel looks
// at the low 32 bits of the request only, and so must the filter).
func prologue(info *arch.Info) []bpf.Instruction {
	const x32 = 0x40000000
	kill := bpf.RetConstant{Val: uint32(seccomp.ActionKillProcess)}
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		kill,
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		kill,
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newest(info), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(unix.ENOSYS)},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SYNC, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SYNCFS, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionErrno)}, // error 0: done
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IOCTL, SkipTrue: 4},
		bpf.LoadAbsolute{Off: 24, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCLINUX, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(denied)},
	}
}

func newest(info *arch.Info) uint32 {
	last := 0
	for nr := range info.SyscallNumbers {
		last = max(last, nr)
	}
	return uint32(last)
}

// span is the number of calls that one policy decides. The kernel tries every
// call against the filter when it is put up, so short policies start faster
// than one long one.
const span = 64

// assemble makes one policy for each span of call numbers, each behind a jump
// that skips it for later numbers.
func assemble(info *arch.Info, gone []string) ([]bpf.Instruction, error) {
	var out []bpf.Instruction
	for first := 0; first <= int(newest(info)); first += span {
		policy := policyFor(info, first, gone)
		body := []bpf.Instruction{bpf.RetConstant{Val: uint32(seccomp.ActionAllow)}}
		if policy.Syscalls != nil {
			var err error
			if body, err = policy.Assemble(); err != nil {
				return nil, err
			}
		}
		out = append(out, bpf.LoadAbsolute{Off: 0, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpLessThan, Val: uint32(first + span), SkipTrue: 1},
			bpf.Jump{Skip: uint32(len(body))})
		out = append(out, body...)
	}
	return append(out, bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(unix.ENOSYS)}), nil // never reached
}

// policyFor is the policy for a span of call numbers; it has no groups when
// all of them are allowed.
func policyFor(info *arch.Info, first int, gone []string) seccomp.Policy {
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow}
	for _, g := range []seccomp.SyscallGroup{
		{Names: gone, Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
		{Names: forbidden, Action: denied, NamesWithCondtions: conditional()},
		{Action: seccomp.ActionErrno | seccomp.Action(unix.EAFNOSUPPORT), NamesWithCondtions: families()},
	} {
		in := func(name string) bool {
			nr, known := info.SyscallNames[name]
			return known && nr >= first && nr < first+span
		}
		g.Names = slices.DeleteFunc(slices.Clone(g.Names), func(name string) bool { return !in(name) })
		g.NamesWithCondtions = slices.DeleteFunc(g.NamesWithCondtions, func(n seccomp.NameWithConditions) bool { return !in(n.Name) })
		if len(g.Names)+len(g.NamesWithCondtions) > 0 {
			policy.Syscalls = append(policy.Syscalls, g)
		}
	}
	return policy
}

// conditional are the calls that depend on an argument.
func conditional() []seccomp.NameWithConditions {
	bits := func(argument uint32, value uint64) []seccomp.Condition {
		return []seccomp.Condition{{Argument: argument, Operation: seccomp.BitsSet, Value: value}}
	}
	return []seccomp.NameWithConditions{
		{Name: "clone", Conditions: bits(0, newNamespaces)},
		{Name: "mknod", Conditions: bits(1, deviceBit)},
		{Name: "mknodat", Conditions: bits(2, deviceBit)},
		{Name: "personality", Conditions: noneOf(0, 0, perLinux32, 0xffffffff)},
		// A lease on a file makes whoever opens it outside wait.
		{Name: "fcntl", Conditions: []seccomp.Condition{{Argument: 1, Operation: seccomp.Equal, Value: unix.F_SETLEASE}}},
	}
}

// families allows local, internet and routing sockets; everything else is an
// address family that the kernel does not have.
func families() []seccomp.NameWithConditions {
	only := noneOf(0, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	odd := append([]seccomp.Condition{{Argument: 0, Operation: seccomp.Equal, Value: unix.AF_NETLINK}},
		noneOf(2, unix.NETLINK_ROUTE)...)
	return []seccomp.NameWithConditions{
		{Name: "socket", Conditions: only},
		{Name: "socket", Conditions: odd},
		{Name: "socketpair", Conditions: only},
	}
}

func noneOf(argument uint32, values ...uint64) []seccomp.Condition {
	var out []seccomp.Condition
	for _, v := range values {
		out = append(out, seccomp.Condition{Argument: argument, Operation: seccomp.NotEqual, Value: v})
	}
	return out
}

// Install puts the filter up for this process and all that it starts. It
// cannot be taken down again.
func Install(gone ...string) error {
	program, err := Program(gone...)
	if err != nil {
		return err
	}
	var filters []unix.SockFilter
	for i := 0; i+8 <= len(program); i += 8 {
		filters = append(filters, unix.SockFilter{Code: binary.LittleEndian.Uint16(program[i:]), Jt: program[i+2], Jf: program[i+3],
			K: binary.LittleEndian.Uint32(program[i+4:])})
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}
