package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"kintsugi/sandbox"
)

var errNoPodman = errors.New("podman is not installed")

// worded is an error that says already what to do.
type worded string

func (w worded) Error() string { return string(w) }

// explain puts an engine's failure into one line that says what to do.
func (r *Runtime) explain(err error) error {
	if _, ok := errors.AsType[worded](err); err == nil || ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	a := r.classify(err)
	if a.Remedy == "" {
		return errors.New(a.Reason)
	}
	return fmt.Errorf("%s; %s", a.Reason, a.Remedy)
}

// classify finds out what kind of failure it is.
func (r *Runtime) classify(err error) sandbox.Availability {
	text := plain(err)
	host := r.host()
	a := sandbox.Availability{Reason: text}
	switch {
	case errors.Is(err, errNoPodman):
		a.Remedy = installCommand(Podman, osRelease())
	case errors.Is(err, errOldAPI):
		a.Remedy = "update the engine to " + map[string]string{Docker: "Docker 19.03", Podman: "Podman 3"}[r.Name()] + " or newer"
	case strings.Contains(text, "permission denied") && strings.Contains(text, "socket"), errors.Is(err, fs.ErrPermission):
		a.Reason = fmt.Sprintf("you may not use the engine's socket (%s)", host)
		a.Remedy = "sudo usermod -aG docker \"$USER\", then log in again"
		if r.Name() == Podman {
			a.Remedy = "use your own Podman: unset CONTAINER_HOST"
		}
	case strings.Contains(text, "tls: ") || strings.Contains(text, "x509: "):
		a.Reason = fmt.Sprintf("the engine at %s and this machine do not accept each other's certificates (%s)", host, cause(err))
		a.Remedy = "set DOCKER_CERT_PATH to the folder with that engine's ca.pem, cert.pem and key.pem, or make a context of them: docker context create"
	case strings.Contains(text, "HTTP request to an HTTPS server"):
		a.Reason = fmt.Sprintf("the engine at %s wants to be spoken to with TLS", host)
		a.Remedy = "set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the folder with its ca.pem, cert.pem and key.pem"
	case strings.Contains(text, "no space left on device"):
		a.Reason = "the engine's disk is full (" + text + ")"
		a.Remedy = "make room, for example with: " + r.Name() + " system prune"
	case client.IsErrConnectionFailed(err), strings.Contains(text, "connection refused"), strings.Contains(text, "no such file or directory") && strings.Contains(text, "dial"):
		a.Reason = fmt.Sprintf("no engine answers at %s", host)
		a.Remedy = startCommand(r.Name(), osRelease())
		if elsewhere(host) {
			a.Reason += " (" + cause(err) + ")"
			a.Remedy = "see whether it runs there and can be reached from here, for example with: docker --host " + host + " version"
		}
	}
	return a
}

// elsewhere says whether an address is, or may be, another machine's.
func elsewhere(host string) bool {
	return strings.HasPrefix(host, "tcp:") || strings.HasPrefix(host, "ssh:")
}

// cause is the innermost of an error's reasons.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return plain(err)
		}
		err = inner
	}
}

// host is where the engine is looked for.
func (r *Runtime) host() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened == nil {
		return "the usual place"
	}
	return r.opened.host
}

// plain is an engine's message without its frame, on one line.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	return strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' }), "; ")
}

func notFound(err error) bool { return cerrdefs.IsNotFound(err) }
func conflict(err error) bool { return cerrdefs.IsConflict(err) }

// osRelease is how this distribution calls itself, and what it is like.
func osRelease() string {
	if runtime.GOOS != "linux" {
		return runtime.GOOS
	}
	data, _ := os.ReadFile("/etc/os-release")
	var words []string
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key == "ID" || key == "ID_LIKE" {
			words = append(words, strings.Fields(strings.Trim(value, `"'`))...)
		}
	}
	return strings.Join(words, " ")
}

// installs are the commands that install an engine: distribution, Docker's,
// Podman's.
var installs = []struct{ system, docker, podman string }{
	{"debian", "sudo apt-get install docker.io", "sudo apt-get install podman"},
	{"ubuntu", "sudo apt-get install docker.io", "sudo apt-get install podman"},
	{"fedora", "sudo dnf install moby-engine && sudo systemctl enable --now docker", "sudo dnf install podman"},
	{"rhel", "sudo dnf install podman-docker", "sudo dnf install podman"},
	{"arch", "sudo pacman -S docker && sudo systemctl enable --now docker", "sudo pacman -S podman"},
	{"alpine", "sudo apk add docker && sudo rc-service docker start", "sudo apk add podman"},
	{"suse", "sudo zypper install docker && sudo systemctl enable --now docker", "sudo zypper install podman"},
	{"nixos", "set virtualisation.docker.enable = true", "set virtualisation.podman.enable = true"},
	{"darwin", "brew install --cask docker, then open Docker", "brew install podman && podman machine init --now"},
	{"windows", "winget install Docker.DockerDesktop", "winget install RedHat.Podman"},
}

// installCommand is the exact command that installs an engine on a system.
func installCommand(engine, system string) string {
	for _, i := range installs {
		if !strings.Contains(system, i.system) {
			continue
		}
		if engine == Podman {
			return i.podman
		}
		return i.docker
	}
	return "install " + engine + " with this system's package manager"
}

// startCommand is the exact command that makes an engine answer.
func startCommand(engine, system string) string {
	if !installed(engine) {
		return installCommand(engine, system)
	}
	switch {
	case engine == Podman:
		return "systemctl --user start podman.socket"
	case system == "darwin" || system == "windows":
		return "start Docker Desktop"
	case exists("/run/systemd/system"):
		return "sudo systemctl start docker"
	}
	return "sudo service docker start"
}

// tail keeps the end of what a program says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-4096):]
	return len(p), nil
}

// line is the last line.
func (t *tail) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return lines[len(lines)-1]
}
