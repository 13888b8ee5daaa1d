//go:build !unix

package main

import (
	"os/exec"
	"syscall"
)

// detach starts a process without this one's console.
func detach(cmd *exec.Cmd) {
	const createNewProcessGroup, detachedProcess = 0x200, 0x8
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: createNewProcessGroup | detachedProcess}
}
