//go:build unix

package modeltest

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the process the head of a group, which its children join.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
