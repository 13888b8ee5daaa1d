package namespace

import (
	"fmt"
	"strings"

	"kintsugi/sandbox"
)

// report says by what each promise is kept on this machine.
func report(h *host, c *cgroups) sandbox.Report {
	kernel := func(p sandbox.Promise, mechanism string) sandbox.Kept {
		return sandbox.Kept{Promise: p, Strength: sandbox.KernelEnforced, Mechanism: mechanism}
	}
	return sandbox.Report{
		kernel(sandbox.PromiseNoNetwork, "a network name space with a loopback interface only"),
		kernel(sandbox.PromiseGateway, "a loopback socket made inside and served from outside"),
		kernel(sandbox.PromiseHostFiles, h.fileWalls()),
		kernel(sandbox.PromiseCopyOnWrite, "overlayfs"),
		kernel(sandbox.PromiseWall, "a timer of the box's process 1, which keeps it even when we are stopped"),
		c.keepsCPU(),
		c.keepsMemory(),
		c.keepsProcesses(),
		kernel(sandbox.PromiseDisk, "the size and inodes of the box's tmpfs"),
		{Promise: sandbox.PromiseWritten, Strength: sandbox.Watched, Mechanism: watchedDisk},
		kernel(sandbox.PromiseOutput, "pipes that only we read, up to the limit"),
		kernel(sandbox.PromiseSyscalls, "seccomp, no capabilities, no new privileges"),
		h.keepsQuotas(),
		kernel(sandbox.PromiseDiesWithUs, "a process name space whose process 1 ends when our end of a pipe closes"),
	}
}

func (h *host) fileWalls() string {
	walls := "read-only mounts, ids of nobody on the host"
	if !h.privileged {
		walls = "read-only mounts, the rights of an ordinary user"
	}
	if h.abi >= oldestLandlock {
		walls += fmt.Sprintf(", Landlock %d", h.abi)
	}
	return walls
}

// keepsQuotas: an ordinary user's box is that user to the kernel, which counts
// watches and pipes of the two together.
func (h *host) keepsQuotas() sandbox.Kept {
	k := sandbox.Kept{Promise: sandbox.PromiseQuotas, Strength: sandbox.NotKept, Mechanism: "a box shares the user's epoll watches and room for pipes while it lives"}
	if h.privileged {
		k.Strength, k.Mechanism = sandbox.KernelEnforced, "ids of nobody on the host"
	}
	return k
}

func (c *cgroups) has(controller string) bool { return c.bases[controller] != "" }

func (c *cgroups) mechanism(controller string) string {
	return fmt.Sprintf("cgroup v%d %s", c.version, controller)
}

func (c *cgroups) keepsCPU() sandbox.Kept {
	k := sandbox.Kept{Promise: sandbox.PromiseCPU, Strength: sandbox.NotKept, Mechanism: c.why}
	if c.has("cpu") {
		k.Strength, k.Mechanism = sandbox.KernelEnforced, c.mechanism("cpu")
	}
	return k
}

// watchedMemory is what bounds memory where there is no control group.
const watchedMemory = "a limit per process (RLIMIT_DATA), and the sum of resident memory watched"

func (c *cgroups) keepsMemory() sandbox.Kept {
	k := sandbox.Kept{Promise: sandbox.PromiseMemory, Strength: sandbox.Watched, Mechanism: watchedMemory}
	if c.has("memory") {
		k.Strength, k.Mechanism = sandbox.KernelEnforced, c.mechanism("memory")
	}
	return k
}

// rlimitProcesses is what bounds processes where there is no control group.
const rlimitProcesses = "RLIMIT_NPROC in the box's own user name space"

func (c *cgroups) keepsProcesses() sandbox.Kept {
	k := sandbox.Kept{Promise: sandbox.PromiseProcesses, Strength: sandbox.KernelEnforced, Mechanism: rlimitProcesses}
	if c.has("pids") {
		k.Mechanism = c.mechanism("pids")
	}
	return k
}

// unkept is the error for promises that a caller requires and the kernel
// cannot keep here.
func unkept(missing []sandbox.Kept) error {
	var words []string
	for _, k := range missing {
		words = append(words, fmt.Sprintf("%s (%s: %s)", k.Promise, k.Strength, k.Mechanism))
	}
	return fmt.Errorf("this machine cannot enforce: %s; run with --best-effort to accept that", strings.Join(words, "; "))
}
