package callfilter

import (
	"encoding/binary"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// decide runs the filter for one call, as the kernel would.
func decide(t *testing.T, filter []byte, audit, nr uint32, args ...uint64) uint32 {
	t.Helper()
	var program []bpf.RawInstruction
	for i := 0; i < len(filter); i += 8 {
		program = append(program, bpf.RawInstruction{Op: binary.LittleEndian.Uint16(filter[i:]), Jt: filter[i+2], Jf: filter[i+3], K: binary.LittleEndian.Uint32(filter[i+4:])})
	}
	instructions, _ := bpf.Disassemble(program)
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	// The emulated machine loads big-endian words, the kernel native ones.
	data := make([]byte, 64)
	put := func(at int, v uint32) { binary.BigEndian.PutUint32(data[at:], v) }
	put(0, nr)
	put(4, audit)
	for i, a := range args {
		put(16+8*i, uint32(a))
		put(20+8*i, uint32(a>>32))
	}
	out, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(out)
}

// here is the filter of this architecture, and its calls.
func here(t *testing.T) ([]byte, *arch.Info) {
	t.Helper()
	filter, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	return filter, info
}

func TestFilterOverEveryCall(t *testing.T) {
	t.Parallel()
	filter, info := here(t)
	const allow, kill, errno = 0x7fff0000, 0x80000000, 0x00050000
	want := map[int]uint32{}
	for nr := range info.SyscallNumbers {
		want[nr] = allow
	}
	for _, name := range forbidden {
		if nr, has := info.SyscallNames[name]; has {
			want[nr] = errno | uint32(unix.EPERM)
		}
	}
	for _, name := range absent {
		if nr, has := info.SyscallNames[name]; has {
			want[nr] = errno | uint32(unix.ENOSYS)
		}
	}
	for _, name := range []string{"socket", "socketpair"} {
		want[info.SyscallNames[name]] = errno | uint32(unix.EAFNOSUPPORT)
	}
	for _, name := range []string{"sync", "syncfs"} {
		want[info.SyscallNames[name]] = errno // 0: done, without anything being done
	}
	for nr, w := range want {
		if got := decide(t, filter, uint32(info.ID), uint32(nr)); got != w {
			t.Errorf("%s: %#x, want %#x", info.SyscallNumbers[nr], got, w)
		}
	}
	for _, nr := range []uint32{newest(info) + 1, 0x3fffffff} {
		if got := decide(t, filter, uint32(info.ID), nr); got != errno|uint32(unix.ENOSYS) {
			t.Errorf("call %d: %#x", nr, got)
		}
	}
	if got := decide(t, filter, uint32(info.ID), 0x40000000); got != kill {
		t.Errorf("x32: %#x", got)
	}
	for command, w := range map[uint64]uint32{unix.F_GETFL: allow, unix.F_SETLK: allow, unix.F_SETLEASE: errno | uint32(unix.EPERM)} {
		if got := decide(t, filter, uint32(info.ID), uint32(unix.SYS_FCNTL), 3, command); got != w {
			t.Errorf("fcntl %d: %#x, want %#x", command, got, w)
		}
	}
	if got := decide(t, filter, 0x40000003, 1); got != kill {
		t.Errorf("i386: %#x", got)
	}
}

func TestFilterOverArguments(t *testing.T) {
	t.Parallel()
	filter, info := here(t)
	const allow, errno = uint32(0x7fff0000), uint32(0x00050000)
	const perm, family = errno | uint32(unix.EPERM), errno | uint32(unix.EAFNOSUPPORT)
	const high = 1 << 40 // the kernel looks at 32 bits of some arguments only
	for _, c := range []struct {
		name string
		args []uint64
		want uint32
	}{
		{"clone", []uint64{uint64(unix.SIGCHLD)}, allow},
		{"clone", []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, allow},
		{"clone", []uint64{unix.CLONE_NEWUSER}, perm},
		{"clone", []uint64{unix.CLONE_NEWNET | uint64(unix.SIGCHLD)}, perm},
		{"mknodat", []uint64{0, 0, unix.S_IFIFO | 0o644}, allow},
		{"mknodat", []uint64{0, 0, unix.S_IFCHR | 0o644}, perm},
		{"mknodat", []uint64{0, 0, unix.S_IFBLK | 0o644}, perm},
		{"personality", []uint64{0}, allow},
		{"personality", []uint64{8}, allow},
		{"personality", []uint64{0xffffffff}, allow},
		{"personality", []uint64{0x40000}, perm},
		{"socket", []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, allow},
		{"socket", []uint64{unix.AF_INET, unix.SOCK_DGRAM}, allow},
		{"socket", []uint64{unix.AF_INET6, unix.SOCK_STREAM}, allow},
		{"socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
		{"socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, family},
		{"socket", []uint64{unix.AF_PACKET, unix.SOCK_RAW}, family},
		{"socket", []uint64{unix.AF_VSOCK | high, unix.SOCK_STREAM}, family},
		{"socketpair", []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, allow},
		{"socketpair", []uint64{unix.AF_TIPC, unix.SOCK_STREAM}, family},
		{"ioctl", []uint64{0, unix.TCGETS}, allow},
		{"ioctl", []uint64{0, unix.TIOCSTI}, perm},
		{"ioctl", []uint64{0, unix.TIOCSTI | high}, perm},
		{"ioctl", []uint64{0, unix.TIOCLINUX | high}, perm},
	} {
		if got := decide(t, filter, uint32(info.ID), uint32(info.SyscallNames[c.name]), c.args...); got != c.want {
			t.Errorf("%s%#x: %#x, want %#x", c.name, c.args, got, c.want)
		}
	}
}
