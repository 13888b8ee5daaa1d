package model

import "golang.org/x/sys/unix"

// MachineMemory is the memory of this machine in bytes; 0 when unknown.
func MachineMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
