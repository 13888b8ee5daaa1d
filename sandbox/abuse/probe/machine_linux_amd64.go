package probe

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// machineCalls are forbidden calls that only this architecture has.
func machineCalls(k *kit) []attempt {
	return []attempt{
		{"iopl", k.tryInChild(unix.SYS_IOPL, 3)},
		{"ioperm", k.tryInChild(unix.SYS_IOPERM, 0x80, 1, 1)},
		{"modify_ldt", k.tryInChild(unix.SYS_MODIFY_LDT, 0, make([]byte, 64), 64)},
		{"kexec_file_load", k.tryInChild(unix.SYS_KEXEC_FILE_LOAD, -1, -1, 0, "", 0)},
	}
}

// exitCode is what the foreign programs end with when their call worked.
const exitCode = 42

// foreign is machine code that asks for exit(42) by the 32-bit gate and, when
// it comes back from there, crashes.
var foreign = []byte{0xb8, 1, 0, 0, 0, 0xbb, exitCode, 0, 0, 0, 0xcd, 0x80, 0x0f, 0x0b}

// foreignCalls makes system calls by conventions for which the filter has
// other numbers: x32, the 32-bit gate, and a 32-bit program.
func foreignCalls(Args) Verdict {
	k := &kit{}
	const x32 = 0x40000000
	return Worst(
		expectErrno([]syscall.Errno{unix.ENOSYS, unix.EPERM},
			attempt{"x32 getpid", k.tryInChild(x32 + unix.SYS_GETPID)},
			attempt{"x32 ptrace", k.tryInChild(x32+521, 0, 0, 0, 0)}),
		runForeign("the 32-bit gate", program64(foreign)),
		runForeign("a 32-bit program", program32(foreign)),
	)
}

func runForeign(name string, image []byte) Verdict {
	const path = "/tmp/foreign"
	if err := os.WriteFile(path, image, 0o755); err != nil {
		return Errorf("%v", err)
	}
	defer os.Remove(path)
	err := exec.Command(path).Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return Heldf("%s: %s", name, short(err))
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	if status.ExitStatus() == exitCode {
		return Breachf("%s works", name)
	}
	return Heldf("%s: %s", name, unix.SignalName(status.Signal()))
}

// program32 and program64 wrap code in the smallest static executable.
func program32(code []byte) []byte {
	const base, head = 0x08048000, 84
	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x01\x01\x01"), make([]byte, head-7)...)
	le.PutUint16(b[16:], 2)
	le.PutUint16(b[18:], 3)
	le.PutUint32(b[20:], 1)
	le.PutUint32(b[24:], base+head)
	le.PutUint32(b[28:], 52)
	le.PutUint16(b[40:], 52)
	le.PutUint16(b[42:], 32)
	le.PutUint16(b[44:], 1)
	size := uint32(head + len(code))
	for i, v := range []uint32{1, 0, base, base, size, size, 5, 0x1000} {
		le.PutUint32(b[52+4*i:], v)
	}
	return append(b, code...)
}

func program64(code []byte) []byte {
	const base, head = 0x400000, 120
	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, head-7)...)
	le.PutUint16(b[16:], 2)
	le.PutUint16(b[18:], 62)
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[24:], base+head)
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[64:], 1)
	le.PutUint32(b[68:], 5)
	size := uint64(head + len(code))
	for i, v := range []uint64{0, base, base, size, size, 0x1000} {
		le.PutUint64(b[72+8*i:], v)
	}
	return append(b, code...)
}
