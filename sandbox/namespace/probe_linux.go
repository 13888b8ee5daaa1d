package namespace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// probe makes a box, unless a mark says that boxes work, and if that fails,
// finds out why.
func (r *Runtime) probe(ctx context.Context) sandbox.Availability {
	if !launch.Supported {
		return sandbox.Availability{Reason: "the embedded runtime knows amd64 and arm64 only", Remedy: "use --runtime docker"}
	}
	h, err := r.host()
	if err != nil {
		return sandbox.Availability{Reason: err.Error()}
	}
	known := h.marked()
	if !known {
		if err := r.tryOne(ctx); err != nil {
			return classify(err, gather())
		}
	}
	c, err := r.groups()
	if err != nil {
		return sandbox.Availability{Reason: err.Error()}
	}
	if !known {
		h.mark(c)
	}
	return sandbox.Availability{OK: true, Report: report(h, c)}
}

func (r *Runtime) tryOne(ctx context.Context) error {
	b, err := r.start(ctx, sandbox.Spec{Argv: []string{"/bin/sh", "-c", ":"}})
	if err != nil {
		return err
	}
	result, err := b.Wait()
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("a box that does nothing ended with %d %s", result.ExitCode, result.Limit)
	}
	return err
}

// signs are what the machine says about itself, for telling failures apart.
type signs struct {
	root         bool
	apparmor     bool // AppArmor restricts unprivileged user name spaces
	cloneOff     bool // a hardened kernel forbids unprivileged ones
	noneAllowed  bool // user.max_user_namespaces is 0
	container    string
	wsl1         bool
	kernel       string
	executable   string
	oldKernel    bool // before 5.12, when mount_setattr came
	overflowGone bool // a hardened service hides /proc/sys/kernel
}

func gather() signs {
	s := signs{root: os.Geteuid() == 0}
	s.apparmor = sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1"
	s.cloneOff = sysctl("kernel/unprivileged_userns_clone") == "0"
	s.noneAllowed = sysctl("user/max_user_namespaces") == "0"
	s.overflowGone = sysctl("kernel/overflowuid") == ""
	s.container = containerKind(os.Getenv)
	s.executable, _ = os.Executable()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		s.kernel = unix.ByteSliceToString(name.Release[:])
	}
	var major, minor int
	_, _ = fmt.Sscanf(s.kernel, "%d.%d", &major, &minor)
	s.oldKernel = major < 5 || major == 5 && minor < 12
	s.wsl1 = strings.HasSuffix(s.kernel, "-Microsoft")
	return s
}

func sysctl(name string) string {
	text, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// containerKind names the container that we run in, if any.
func containerKind(env func(string) string) string {
	switch {
	case env("KUBERNETES_SERVICE_HOST") != "":
		return "Kubernetes"
	case exists("/.dockerenv"):
		return "Docker"
	case exists("/run/.containerenv"):
		return "Podman"
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// profile is an AppArmor profile that allows one program to make user name
// spaces.
const profile = `printf 'abi <abi/4.0>,\nprofile kintsugi "%s" flags=(unconfined) {\n  userns,\n}\n' | sudo tee /etc/apparmor.d/kintsugi && sudo apparmor_parser -r /etc/apparmor.d/kintsugi`

// classify turns a failure into one line and a remedy.
func classify(err error, s signs) sandbox.Availability {
	refused := errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
	a := sandbox.Availability{}
	switch {
	case s.wsl1:
		a.Reason = "WSL 1 has no name spaces"
		a.Remedy = "in Windows: wsl --set-version <distribution> 2"
	case s.oldKernel:
		a.Reason = "the kernel " + s.kernel + " is older than 5.12, which boxes need"
		a.Remedy = "update the kernel, or use --runtime docker"
	case !s.root && s.cloneOff:
		a.Reason = "the kernel forbids user name spaces to ordinary users"
		a.Remedy = "sudo sysctl kernel.unprivileged_userns_clone=1"
	case s.noneAllowed:
		a.Reason = "the kernel allows no user name spaces (user.max_user_namespaces is 0)"
		a.Remedy = "sudo sysctl user.max_user_namespaces=15000"
	case errors.Is(err, unix.ENOSPC):
		a.Reason = "the limit of user name spaces is reached"
		a.Remedy = "sudo sysctl user.max_user_namespaces=15000, or end programs that use them"
	case refused && !s.root && s.apparmor:
		a.Reason = "AppArmor takes the rights away from user name spaces of ordinary users"
		a.Remedy = fmt.Sprintf(profile, s.executable)
	case refused && s.container != "":
		a.Reason = "we run inside " + s.container + ", which forbids making name spaces"
		a.Remedy = insideContainer(s.container)
	case errors.Is(err, unix.EAGAIN):
		a.Reason = "this user has too many processes to start another (ulimit -u)"
		a.Remedy = "end some, or raise the limit with: ulimit -u unlimited"
	default:
		a.Reason, a.Remedy = err.Error(), "use --runtime docker"
	}
	return a
}

func insideContainer(kind string) string {
	if kind == "Kubernetes" {
		return "give the pod hostUsers: false and seccompProfile Unconfined, or run outside of it"
	}
	return "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, or run outside of it"
}
