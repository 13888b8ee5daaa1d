package probe

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is one raw system call, prepared.
type call struct {
	nr   uintptr
	args [6]uintptr
}

// kit prepares calls and keeps the memory that they point to.
type kit struct{ keep []any }

func (k *kit) call(nr uintptr, args ...any) call {
	c := call{nr: nr}
	for i, a := range args {
		c.args[i] = k.word(a)
	}
	return c
}

func (k *kit) word(a any) uintptr {
	switch v := a.(type) {
	case string:
		return k.bytes(append([]byte(v), 0))
	case []byte:
		return k.bytes(v)
	case int:
		return uintptr(v)
	case uint64:
		return uintptr(v)
	case uintptr:
		return v
	}
	panic(fmt.Sprintf("no argument of a system call: %T", a))
}

func (k *kit) bytes(b []byte) uintptr {
	k.keep = append(k.keep, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// buffer is memory that stays where it is.
func (k *kit) buffer(size int) []byte {
	b := make([]byte, size)
	k.keep = append(k.keep, b)
	return b
}

// now makes the call in this process.
func (k *kit) now(nr uintptr, args ...any) (uintptr, error) {
	c := k.call(nr, args...)
	r, _, errno := syscall.Syscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
	runtime.KeepAlive(k)
	if errno != 0 {
		return r, errno
	}
	return r, nil
}

// try is now for callers that only want to know whether it works.
func (k *kit) try(nr uintptr, args ...any) func() error {
	return func() error {
		_, err := k.now(nr, args...)
		return err
	}
}

// inChild makes the calls in a forked child, which has one thread only, until
// one fails. The error is that one's, or says which signal ended the child.
func (k *kit) inChild(calls ...call) error {
	pid, err := forkCalls(calls)
	runtime.KeepAlive(k)
	if err != nil {
		return fmt.Errorf("fork: %w", err)
	}
	return outcome(pid)
}

// tryInChild is try in a forked child.
func (k *kit) tryInChild(nr uintptr, args ...any) func() error {
	c := k.call(nr, args...)
	return func() error { return k.inChild(c) }
}

// killed is the error of a child that a signal ended.
type killed struct{ signal syscall.Signal }

func (e killed) Error() string { return unix.SignalName(e.signal) }

func outcome(pid int) error {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &status, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		break
	}
	if status.Signaled() {
		return killed{status.Signal()}
	}
	if code := status.ExitStatus(); code != 0 {
		return syscall.Errno(code)
	}
	return nil
}

// forkCalls starts a child that makes the calls and exits with the error
// number of the first that fails, or 0. The child runs no Go code that could
// need the runtime: it has no other threads.
//
//go:noinline
//go:norace
func forkCalls(calls []call) (int, error) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if pid != 0 {
		return int(pid), nil
	}
	for i := range calls {
		c := &calls[i]
		_, _, errno = syscall.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if errno != 0 {
			break
		}
	}
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	}
}

// pause is the call that waits for a signal.
func (k *kit) pause() call {
	return k.call(unix.SYS_PPOLL, 0, 0, 0, 0, 0)
}

func addressOf(b []byte) int64 { return int64(uintptr(unsafe.Pointer(&b[0]))) }
