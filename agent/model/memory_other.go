//go:build !linux && !darwin

package model

// MachineMemory is not asked for on this platform: 0, unknown.
func MachineMemory() int64 { return 0 }
