package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"

	"kintsugi/sandbox"
)

var errOldAPI = errors.New("the engine is too old")

func installed(engine string) bool {
	_, err := exec.LookPath(engine)
	return err == nil
}

// Probe asks the engine what it is. A good answer is kept.
func (r *Runtime) Probe(ctx context.Context) sandbox.Availability {
	r.mu.Lock()
	known := r.answer
	r.mu.Unlock()
	if known != nil {
		return *known
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	info, err := r.ask(ctx)
	if err != nil {
		return r.classify(err)
	}
	bare := info.CgroupVersion == "1" && r.rootlessPodman(ctx)
	a := sandbox.Availability{OK: true, Report: r.report(info)}
	if bare {
		a.Report = unbound(a.Report)
	}
	r.mu.Lock()
	r.answer, r.bare = &a, bare
	r.mu.Unlock()
	return a
}

// keepsNothing says whether the engine is known to have no control groups.
func (r *Runtime) keepsNothing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bare
}

// rootlessPodman asks for what Podman adds to the answer of Docker's interface.
// Its own control groups of version 1 are those of the whole machine, which it
// does not say otherwise.
func (r *Runtime) rootlessPodman(ctx context.Context) bool {
	api, err := r.api()
	if err != nil || r.Name() != Podman {
		return false
	}
	at := "http://podman"
	if addr, ok := strings.CutPrefix(api.DaemonHost(), "tcp://"); ok {
		at = "http://" + addr
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/v"+api.ClientVersion()+"/info", nil)
	if err != nil {
		return false
	}
	answer, err := api.HTTPClient().Do(ask)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var info struct{ Rootless bool }
	return json.NewDecoder(answer.Body).Decode(&info) == nil && info.Rootless
}

// unbound says what is left of a report without control groups.
func unbound(r sandbox.Report) sandbox.Report {
	out := slices.Clone(r)
	for i, k := range out {
		switch k.Promise {
		case sandbox.PromiseCPU:
			out[i].Strength, out[i].Mechanism = sandbox.NotKept, "a rootless engine cannot limit it with cgroup v1"
		case sandbox.PromiseMemory:
			out[i].Strength, out[i].Mechanism = sandbox.Watched, "the sum of resident memory, watched by the box's process 1 (a rootless engine has no cgroup v1)"
		case sandbox.PromiseQuotas:
			out[i].Strength, out[i].Mechanism = sandbox.NotKept, "a box shares the inotify and epoll watches, and the room for pipes, of the engine's user"
		case sandbox.PromiseProcesses:
			out[i].Mechanism = "RLIMIT_NPROC of an id that only this box has"
		}
		out[i].Mechanism = strings.ReplaceAll(out[i].Mechanism, ", which counts as its memory", "")
	}
	return out
}

// ask gets to know the engine.
func (r *Runtime) ask(ctx context.Context) (system.Info, error) {
	if r.options.Host == "" && r.Name() == Podman && !installed(Podman) && r.options.lookup("CONTAINER_HOST") == "" && len(r.options.program) == 0 {
		return system.Info{}, errNoPodman
	}
	api, err := r.api()
	if err != nil {
		return system.Info{}, err
	}
	ping, err := api.Ping(ctx)
	if err != nil {
		return system.Info{}, err
	}
	if ping.APIVersion == "" || versions.LessThan(ping.APIVersion, oldestAPI) {
		return system.Info{}, fmt.Errorf("%w: it speaks version %s of the interface, boxes need %s", errOldAPI, ping.APIVersion, oldestAPI)
	}
	info, err := api.Info(ctx)
	if err == nil && info.OSType != "" && info.OSType != "linux" {
		err = fmt.Errorf("the engine runs %s containers; switch it to Linux containers", info.OSType)
	}
	return info, err
}

// report says by what each promise is kept by this engine.
func (r *Runtime) report(info system.Info) sandbox.Report {
	kernel := func(p sandbox.Promise, mechanism string) sandbox.Kept {
		return sandbox.Kept{Promise: p, Strength: sandbox.KernelEnforced, Mechanism: mechanism}
	}
	when := func(ok bool, p sandbox.Promise, mechanism string) sandbox.Kept {
		if !ok {
			return sandbox.Kept{Promise: p, Strength: sandbox.NotKept, Mechanism: "the engine cannot limit it here"}
		}
		return kernel(p, mechanism)
	}
	group := "cgroup v" + info.CgroupVersion + " of the engine, "
	if info.CgroupVersion == "" {
		group = "a cgroup of the engine, "
	}
	filtered := slices.ContainsFunc(info.SecurityOptions, func(s string) bool { return strings.Contains(s, "seccomp") })
	calls := "no capabilities, no new privileges, no seccomp in this engine"
	if filtered {
		calls = "the engine's seccomp filter, no capabilities, no new privileges"
	}
	const memory = "tmpfs of the box's own, which counts as its memory"
	return sandbox.Report{
		kernel(sandbox.PromiseNoNetwork, "a network name space with a loopback interface only"),
		kernel(sandbox.PromiseGateway, "a loopback socket made inside and served over the container's own input and output"),
		kernel(sandbox.PromiseHostFiles, "a read-only image; nothing of this machine is mounted"),
		kernel(sandbox.PromiseCopyOnWrite, "a copy in "+memory),
		kernel(sandbox.PromiseWall, "a timer of the box's process 1, which keeps it even when we are stopped"),
		when(info.CPUCfsQuota, sandbox.PromiseCPU, group+"cpu"),
		when(info.MemoryLimit, sandbox.PromiseMemory, group+"memory"),
		when(info.PidsLimit, sandbox.PromiseProcesses, group+"pids"),
		r.keepsFiles(sandbox.PromiseDisk, memory),
		r.keepsFiles(sandbox.PromiseWritten, memory),
		kernel(sandbox.PromiseOutput, "a stream that only we read, up to the limit"),
		{Promise: sandbox.PromiseSyscalls, Strength: map[bool]sandbox.Strength{true: sandbox.KernelEnforced, false: sandbox.Watched}[filtered], Mechanism: calls},
		kernel(sandbox.PromiseQuotas, "a user id that nobody else has"),
		kernel(sandbox.PromiseDiesWithUs, "the container's process 1 ends when its connection to us does"),
	}
}

// keepsFiles is about what is written. Podman's interface has no way to bound
// the number of files; a container's first process can, unless the engine
// forbids it.
func (r *Runtime) keepsFiles(p sandbox.Promise, memory string) sandbox.Kept {
	if r.Name() == Podman {
		return sandbox.Kept{Promise: p, Strength: sandbox.Watched, Mechanism: "the size, and as far as the engine lets it the number of files, of " + memory}
	}
	return sandbox.Kept{Promise: p, Strength: sandbox.KernelEnforced, Mechanism: "the size and inodes of " + memory}
}
