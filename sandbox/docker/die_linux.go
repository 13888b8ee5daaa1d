package docker

import (
	"os/exec"
	"syscall"
)

// dieWithUs ends a service when we are killed.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
}
