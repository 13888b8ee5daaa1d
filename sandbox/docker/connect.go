package docker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/docker/cli/cli/connhelper"
	"github.com/docker/docker/client"
	"github.com/docker/go-connections/tlsconfig"
)

// engine is the way to an engine, and what was started for it.
type engine struct {
	*client.Client
	host    string
	podman  bool
	service *exec.Cmd // Podman's, when we started it
	dir     string    // of its socket
}

// connect finds the engine; it does not ask it anything.
func connect(o Options) (*engine, error) {
	if o.Engine == Podman {
		return connectPodman(o)
	}
	place, err := findDocker(o)
	if err != nil {
		return nil, err
	}
	c, err := place.client()
	if err != nil {
		return nil, err
	}
	return &engine{Client: c, host: place.host}, nil
}

func (e *engine) close() error {
	err := e.Client.Close()
	if e.service != nil {
		_ = e.service.Process.Signal(os.Interrupt)
		done := time.AfterFunc(3*time.Second, func() { _ = e.service.Process.Kill() })
		_ = e.service.Wait()
		done.Stop()
		_ = os.RemoveAll(e.dir)
	}
	return err
}

// place is where an engine answers and how it wants to be spoken to.
type place struct {
	host string
	// certs is a folder with ca.pem, cert.pem and key.pem; empty: no TLS.
	certs    string
	insecure bool // the server's certificate is not checked
}

func (p place) client() (*client.Client, error) {
	opts := []client.Opt{client.WithAPIVersionNegotiation()}
	if p.certs != "" {
		t := tlsconfig.Options{InsecureSkipVerify: p.insecure, ExclusiveRootPools: true}
		for _, f := range []struct {
			to   *string
			name string
		}{{&t.CAFile, "ca.pem"}, {&t.CertFile, "cert.pem"}, {&t.KeyFile, "key.pem"}} {
			if path := filepath.Join(p.certs, f.name); exists(path) {
				*f.to = path
			}
		}
		config, err := tlsconfig.Client(t)
		if err != nil {
			return nil, fmt.Errorf("the certificates in %s: %w", p.certs, err)
		}
		opts = append(opts, client.WithHTTPClient(&http.Client{Transport: &http.Transport{TLSClientConfig: config}, CheckRedirect: client.CheckRedirect}))
	}
	helper, err := connhelper.GetConnectionHelper(p.host)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the engine's address %s: %w", p.host, err)
	case helper != nil: // ssh
		opts = append(opts, client.WithHost(helper.Host), client.WithDialContext(helper.Dialer))
	default:
		opts = append(opts, client.WithHost(p.host))
	}
	c, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, fmt.Errorf("the engine's address %s: %w", p.host, err)
	}
	return c, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lookup reads a variable of the host's environment.
func (o Options) lookup(name string) string {
	for i := len(o.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(o.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// home is the user's home directory.
func (o Options) home() string {
	if h := o.lookup("HOME"); h != "" {
		return h
	}
	return o.lookup("USERPROFILE")
}

// findDocker goes where the options say, an address or the name of a context,
// and else does as Docker's own command: DOCKER_HOST, then the context that
// DOCKER_CONTEXT or the configuration names, then the usual places.
func findDocker(o Options) (place, error) {
	config := o.lookup("DOCKER_CONFIG")
	if config == "" {
		config = filepath.Join(o.home(), ".docker")
	}
	name := o.Host
	switch host := o.lookup("DOCKER_HOST"); {
	case strings.Contains(name, "://"):
		return fromEnvironment(o, name, config), nil
	case name != "":
	case host != "":
		return fromEnvironment(o, host, config), nil
	default:
		name = cmp.Or(o.lookup("DOCKER_CONTEXT"), currentContext(config))
	}
	if name != "" && name != "default" {
		return fromContext(config, name)
	}
	return place{host: usualPlace(o)}, nil
}

func fromEnvironment(o Options, host, config string) place {
	p := place{host: host}
	if strings.HasPrefix(host, "unix:") || strings.HasPrefix(host, "ssh:") {
		return p
	}
	if o.lookup("DOCKER_TLS_VERIFY") != "" || o.lookup("DOCKER_TLS") != "" {
		p.certs, p.insecure = o.lookup("DOCKER_CERT_PATH"), o.lookup("DOCKER_TLS_VERIFY") == ""
		if p.certs == "" {
			p.certs = config
		}
	}
	return p
}

func currentContext(config string) string {
	var c struct{ CurrentContext string }
	if data, err := os.ReadFile(filepath.Join(config, "config.json")); err == nil {
		_ = json.Unmarshal(data, &c)
	}
	return c.CurrentContext
}

// fromContext reads a context as Docker's command keeps it: below the hash of
// its name.
func fromContext(config, name string) (place, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	data, err := os.ReadFile(filepath.Join(config, "contexts", "meta", id, "meta.json"))
	if err != nil {
		return place{}, fmt.Errorf("the Docker context %q is not there; see: docker context ls", name)
	}
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err := json.Unmarshal(data, &meta); err != nil || meta.Endpoints[Docker].Host == "" {
		return place{}, fmt.Errorf("the Docker context %q cannot be read; see: docker context inspect %s", name, name)
	}
	p := place{host: meta.Endpoints[Docker].Host, insecure: meta.Endpoints[Docker].SkipTLSVerify}
	if certs := filepath.Join(config, "contexts", "tls", id, Docker); exists(certs) {
		p.certs = certs
	}
	return p, nil
}

// usualPlace is the socket of this system's engine, or of the user's own.
func usualPlace(o Options) string {
	if runtime.GOOS == "windows" {
		return client.DefaultDockerHost
	}
	for _, socket := range []string{
		"/var/run/docker.sock", filepath.Join(o.lookup("XDG_RUNTIME_DIR"), "docker.sock"),
		filepath.Join(o.home(), ".docker/run/docker.sock"), filepath.Join(o.home(), ".docker/desktop/docker.sock"),
		filepath.Join(o.home(), ".colima/default/docker.sock"), filepath.Join(o.home(), ".orbstack/run/docker.sock"),
	} {
		if filepath.IsAbs(socket) && exists(socket) {
			return "unix://" + socket
		}
	}
	return client.DefaultDockerHost
}

// connectPodman finds Podman's socket, or starts a service for as long as the
// runtime is open.
func connectPodman(o Options) (*engine, error) {
	host := o.Host
	if host == "" {
		host = o.lookup("CONTAINER_HOST")
	}
	for _, socket := range podmanSockets(o) {
		if host == "" && exists(socket) {
			host = "unix://" + socket
		}
	}
	if host == "" {
		return servePodman(o)
	}
	c, err := place{host: host}.client()
	if err != nil {
		return nil, err
	}
	return &engine{Client: c, host: host, podman: true}, nil
}

func podmanSockets(o Options) []string {
	var out []string
	if dir := o.lookup("XDG_RUNTIME_DIR"); dir != "" {
		out = append(out, filepath.Join(dir, "podman", "podman.sock"))
	}
	if os.Geteuid() == 0 {
		out = append(out, "/run/podman/podman.sock")
	}
	return append(out, filepath.Join(o.home(), ".local/share/containers/podman/machine/podman.sock"))
}

// servePodman starts Podman's service on a socket of our own.
func servePodman(o Options) (*engine, error) {
	argv := o.program
	if len(argv) == 0 {
		argv = []string{"podman"}
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, errNoPodman
	}
	dropSockets(os.TempDir(), time.Now())
	dir, err := os.MkdirTemp("", socketDirs)
	if err != nil {
		return nil, err
	}
	host := "unix://" + filepath.Join(dir, "podman.sock")
	cmd := exec.Command(argv[0], append(argv[1:], "system", "service", "--time=0", host)...)
	tail := &tail{}
	cmd.Stderr, cmd.WaitDelay = tail, time.Second // what it leaves running may keep its error stream
	cmd.Dir = dir                                 // its helpers leave marks where they are
	dieWithUs(cmd)
	if err := cmd.Start(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	c, err := place{host: host}.client()
	if err != nil {
		return nil, err
	}
	e := &engine{Client: c, host: host, podman: true, service: cmd, dir: dir}
	if err := e.await(tail); err != nil {
		_ = e.close()
		return nil, err
	}
	return e, nil
}

// socketDirs is how the folders of our own services' sockets begin.
const socketDirs = "kintsugi-podman-"

// dropSockets removes the folders of services that ended with a killed
// workbench: nobody listens there any more.
func dropSockets(in string, now time.Time) {
	dirs, _ := filepath.Glob(filepath.Join(in, socketDirs+"*"))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || now.Sub(info.ModTime()) < time.Minute {
			continue // or it is being started
		}
		c, err := net.Dial("unix", filepath.Join(dir, "podman.sock"))
		if err == nil {
			c.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(dir)
		}
	}
}

// await waits until the service answers.
func (e *engine) await(words *tail) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(pause*2, 200*time.Millisecond) {
		_, err := e.Ping(ctx)
		if err == nil {
			return nil
		}
		if e.service.ProcessState != nil || ctx.Err() != nil {
			return fmt.Errorf("podman's service does not start: %s", words.line())
		}
		time.Sleep(pause)
	}
}
