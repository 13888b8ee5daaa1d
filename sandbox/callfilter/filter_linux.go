package callfilter

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
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
	leaves, err := leavesFor(info, slices.Concat(absent, gone))
	if err != nil {
		return nil, err
	}
	var t tree
	t.add(leaves)
	program, err := t.assemble()
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

// prologue kills foreign calling conventions and loads the call's number.
func prologue(info *arch.Info) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		end(seccomp.ActionKillProcess),
		bpf.LoadAbsolute{Off: 0, Size: 4},
	}
}

func end(a seccomp.Action) bpf.Instruction { return bpf.RetConstant{Val: uint32(a)} }

func newest(info *arch.Info) uint32 {
	last := 0
	for nr := range info.SyscallNumbers {
		last = max(last, nr)
	}
	return uint32(last)
}

// leaf is what is done about all calls from a number on, up to the next leaf.
type leaf struct {
	first uint32
	body  []bpf.Instruction
}

// tree finds a call's leaf by halving. The kernel tries every call against the
// filter when it is put up, and translates all of it: a tree of jumps to few
// ends takes it less time than comparing with one number after another.
type tree struct {
	nodes []node
	ends  [][]bpf.Instruction
}

// node parts the calls: those from first on go to high, the others to low. A
// place to go to is a node's index, or -1 and below for an end.
type node struct {
	first     uint32
	high, low int
}

// add adds the leaves and returns where their part of the tree begins.
func (t *tree) add(leaves []leaf) int {
	if len(leaves) == 1 {
		return t.end(leaves[0].body)
	}
	at, middle := len(t.nodes), len(leaves)/2
	t.nodes = append(t.nodes, node{first: leaves[middle].first})
	low, high := t.add(leaves[:middle]), t.add(leaves[middle:])
	t.nodes[at].low, t.nodes[at].high = low, high
	return at
}

func (t *tree) end(body []bpf.Instruction) int {
	same := func(e []bpf.Instruction) bool { return slices.Equal(e, body) }
	i := slices.IndexFunc(t.ends, same)
	if i < 0 {
		i = len(t.ends)
		t.ends = append(t.ends, body)
	}
	return -1 - i
}

// assemble lays the nodes out, and the ends after them, the short ones first.
func (t *tree) assemble() ([]bpf.Instruction, error) {
	order := make([]int, len(t.ends))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(t.ends[a]) - len(t.ends[b]) })
	places, last := make([]int, len(t.ends)), len(t.nodes)
	for _, i := range order {
		places[i] = last
		last += len(t.ends[i])
	}
	var out []bpf.Instruction
	for i, n := range t.nodes {
		high, low := place(n.high, places)-i-1, place(n.low, places)-i-1
		if max(high, low) > math.MaxUint8 {
			return nil, errors.New("the system call filter is too long for its jumps")
		}
		out = append(out, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: n.first, SkipTrue: uint8(high), SkipFalse: uint8(low)})
	}
	for _, i := range order {
		out = append(out, t.ends[i]...)
	}
	return out, nil
}

// place is where a node or an end lies.
func place(to int, ends []int) int {
	if to < 0 {
		return ends[-1-to]
	}
	return to
}

// leavesFor decides about every call number. Calls newer than the table do not
// exist, those of the x32 convention end the process.
func leavesFor(info *arch.Info, gone []string) ([]leaf, error) {
	bodies, err := bodiesFor(info, gone)
	if err != nil {
		return nil, err
	}
	const x32 = 0x40000000
	last := newest(info)
	bodies[last+1] = []bpf.Instruction{end(noSuchCall)}
	bodies[x32] = []bpf.Instruction{end(seccomp.ActionKillProcess)}
	allowed := []bpf.Instruction{end(seccomp.ActionAllow)}
	out := []leaf{{0, allowed}}
	for _, nr := range slices.Sorted(maps.Keys(bodies)) {
		before := &out[len(out)-1]
		switch {
		case before.first == nr:
			before.body = bodies[nr]
		case !slices.Equal(before.body, bodies[nr]):
			out = append(out, leaf{nr, bodies[nr]})
		}
		if nr < last && bodies[nr+1] == nil {
			out = append(out, leaf{nr + 1, allowed})
		}
	}
	return out, nil
}

// noSuchCall is how the kernel answers a call that it does not have.
const noSuchCall = seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)

// bodiesFor are the calls that are not simply allowed, by number.
func bodiesFor(info *arch.Info, gone []string) (map[uint32][]bpf.Instruction, error) {
	out := map[uint32][]bpf.Instruction{
		// Whoever wants all of a disk written out, which would be all of the host's,
		// is told that it is done.
		unix.SYS_SYNC:   {end(seccomp.ActionErrno)},
		unix.SYS_SYNCFS: {end(seccomp.ActionErrno)},
		// Nobody types into a terminal. The kernel looks at the low 32 bits of the
		// request only, and so must the filter.
		unix.SYS_IOCTL: {
			bpf.LoadAbsolute{Off: 24, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCLINUX, SkipTrue: 1},
			end(denied),
			end(seccomp.ActionAllow),
		},
	}
	for action, names := range map[seccomp.Action][]string{noSuchCall: gone, denied: forbidden} {
		for _, name := range names {
			if nr, known := info.SyscallNames[name]; known {
				out[uint32(nr)] = []bpf.Instruction{end(action)}
			}
		}
	}
	for name, group := range conditional() {
		nr, known := info.SyscallNames[name]
		if !known {
			continue
		}
		policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{group}}
		body, err := policy.Assemble()
		if err != nil {
			return nil, err
		}
		out[uint32(nr)] = body
	}
	return out, nil
}

// conditional are the calls that depend on an argument, by name: local,
// internet and routing sockets are had, everything else is an address family
// that the kernel does not have.
func conditional() map[string]seccomp.SyscallGroup {
	out := map[string]seccomp.SyscallGroup{}
	add := func(action seccomp.Action, name string, conditions ...seccomp.Condition) {
		g := out[name]
		g.Action = action
		g.NamesWithCondtions = append(g.NamesWithCondtions, seccomp.NameWithConditions{Name: name, Conditions: conditions})
		out[name] = g
	}
	bits := func(argument uint32, value uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: value}
	}
	equal := func(argument uint32, value uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.Equal, Value: value}
	}
	add(denied, "clone", bits(0, newNamespaces))
	add(denied, "mknod", bits(1, deviceBit))
	add(denied, "mknodat", bits(2, deviceBit))
	add(denied, "personality", noneOf(0, 0, perLinux32, 0xffffffff)...)
	// A lease on a file makes whoever opens it outside wait.
	add(denied, "fcntl", equal(1, unix.F_SETLEASE))
	const noFamily = seccomp.ActionErrno | seccomp.Action(unix.EAFNOSUPPORT)
	families := noneOf(0, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	add(noFamily, "socket", families...)
	add(noFamily, "socket", append([]seccomp.Condition{equal(0, unix.AF_NETLINK)}, noneOf(2, unix.NETLINK_ROUTE)...)...)
	add(noFamily, "socketpair", families...)
	return out
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
