package docker

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"kintsugi/sandbox"
	"kintsugi/sandbox/listen"
)

// relay is a way to an engine that can be cut, as when the engine stops.
type relay struct {
	path, to string
	tls      *tls.Config // how it wants to be spoken to; nil: without TLS
	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func (r *relay) open(t *testing.T) {
	t.Helper()
	network := "unix"
	if !filepath.IsAbs(r.path) {
		network = "tcp"
	}
	l, err := net.Listen(network, r.path)
	if err != nil {
		t.Fatal(err)
	}
	r.listener = l
	if r.tls != nil {
		l = tls.NewListener(l, r.tls)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go r.join(c)
		}
	}()
}

func (r *relay) join(c net.Conn) {
	up, err := net.Dial("unix", r.to)
	if err != nil {
		c.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, c, up)
	r.mu.Unlock()
	go func() {
		_, _ = io.Copy(up, c)
		_ = up.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(c, up)
	c.Close()
}

func (r *relay) cut() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// TestEngineElsewhere reaches the engine over TCP, as one of another machine:
// the project, its changes and a gateway's connection all go that way.
func TestEngineElsewhere(t *testing.T) {
	t.Parallel()
	needDocker(t)
	way := &relay{path: "127.0.0.1:0", to: strings.TrimPrefix(dockerHost(), "unix://")}
	way.open(t)
	defer way.cut()
	rt := New(Options{Engine: Docker, Environ: append(os.Environ(), "DOCKER_HOST=tcp://"+way.listener.Addr().String()), Image: testImage, StateDir: t.TempDir()})
	defer rt.Close()
	giveImage(t, rt)
	project, upper := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "a"), []byte("A"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	b, err := rt.Start(context.Background(), sandbox.Spec{
		Argv: []string{"sh", "-c", "cat a; busybox wget -q -O - http://127.0.0.1:8901/; echo B >b"}, Dir: project, Stdout: &out,
		Env: sandbox.BaseEnv(os.Environ()), Workspace: sandbox.Workspace{Path: project, Upper: upper, Work: t.TempDir()},
		Listeners: []sandbox.Listener{{Port: 8901, Serve: listen.Func(func(l net.Listener) { _ = http.Serve(l, page) })}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := b.Wait(); err != nil || r.ExitCode != 0 || out.String() != "Apage" {
		t.Errorf("got %q, %+v, %v", out.String(), r, err)
	}
	if text, err := os.ReadFile(filepath.Join(upper, "b")); err != nil || string(text) != "B\n" {
		t.Errorf("the change is %q, %v", text, err)
	}
}

// TestEngineWithTLS reaches the engine as one of another machine that knows its
// users by their certificates, and tells what is wrong with them.
func TestEngineWithTLS(t *testing.T) {
	t.Parallel()
	needDocker(t)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	own := server.TLS.Certificates[0] // serves as everybody's
	way := &relay{path: "127.0.0.1:0", to: strings.TrimPrefix(dockerHost(), "unix://"), tls: &tls.Config{
		Certificates: server.TLS.Certificates, ClientCAs: known, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
	}}
	way.open(t)
	defer way.cut()
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	pems := map[string][]byte{"ca.pem": certificate(own.Certificate[0]), "cert.pem": certificate(own.Certificate[0]), "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})}
	certs := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), pems[name], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for _, c := range []struct{ verify, dir, want string }{
		{"1", certs("ca.pem", "cert.pem", "key.pem"), ""},
		{"1", certs("ca.pem"), "do not accept each other's certificates"},
		{"1", certs("cert.pem", "key.pem"), "do not accept each other's certificates"},
		{"", "", "no engine answers at tcp://127.0.0.1"},
	} {
		host := "tcp://" + way.listener.Addr().String()
		rt := New(Options{Engine: Docker, Image: testImage, StateDir: t.TempDir(), Environ: append(os.Environ(),
			"DOCKER_HOST="+host, "DOCKER_TLS_VERIFY="+c.verify, "DOCKER_CERT_PATH="+c.dir)})
		defer rt.Close()
		if c.want == "" {
			giveImage(t, rt)
			b, end := open(t, rt)
			end()
			if r, err := b.Wait(); err != nil || r.ExitCode != 0 {
				t.Errorf("over TLS: %+v, %v", r, err)
			}
			continue
		}
		if a := rt.Probe(t.Context()); a.OK || !strings.Contains(a.Reason, c.want) || strings.Contains(a.Remedy, "service docker start") {
			t.Errorf("%+v: %+v", c, a)
		}
	}
}

func certificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestEngineStopsInTheMiddle(t *testing.T) {
	t.Parallel()
	needDocker(t)
	path := filepath.Join(t.TempDir(), "engine.sock")
	way := &relay{path: path, to: strings.TrimPrefix(dockerHost(), "unix://")}
	way.open(t)
	rt := New(Options{Engine: Docker, Host: "unix://" + path, Image: testImage, StateDir: t.TempDir()})
	defer rt.Close()
	giveImage(t, rt)
	said := make(chan struct{}, 1)
	spec := sandbox.Spec{Argv: []string{"sh", "-c", "echo; sleep 100"}, Env: sandbox.BaseEnv(os.Environ()), Stdout: told(said)}
	b, err := rt.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	<-said
	way.cut()
	if _, err := b.Wait(); err == nil || !strings.Contains(err.Error(), "went away in the middle of the run") {
		t.Errorf("the run ended with: %v", err)
	}
	if _, err := rt.Start(context.Background(), spec); err == nil || !strings.Contains(err.Error(), "no engine answers at unix://"+path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a start without an engine: %v", err)
	}
	way.open(t)
	spec.Argv = []string{"true"}
	b, err = rt.Start(context.Background(), spec)
	if err != nil {
		t.Fatalf("once it is back: %v", err)
	}
	if r, err := b.Wait(); err != nil || r.ExitCode != 0 {
		t.Errorf("once it is back: %+v, %v", r, err)
	}
}

// told signals each write.
type told chan struct{}

func (c told) Write(p []byte) (int, error) {
	c <- struct{}{}
	return len(p), nil
}

// fake is an engine that answers what a test wants.
type fake struct {
	version string
	mu      sync.Mutex
	names   []string // of containers that were asked for
	create  func(n int) (int, string)
	vanish  int // how often an image goes while images are listed
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	w.Header().Set("API-Version", f.version)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/_ping"):
	case path == "images/json" && f.vanishes():
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"message": "retrieving size of image \"0\": locating image with ID \"0\": image not known"}`)
	case path == "images/json":
		_, _ = io.WriteString(w, `[{"Id":"sha256:1"}]`)
	case strings.HasPrefix(path, "images/"):
		_ = json.NewEncoder(w).Encode(map[string]any{"Id": "sha256:0", "Architecture": "amd64"})
	case path == "containers/create":
		f.mu.Lock()
		f.names = append(f.names, r.URL.Query().Get("name"))
		status, text := f.create(len(f.names))
		f.mu.Unlock()
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"message": text})
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) vanishes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.vanish--
	return f.vanish >= 0
}

// TestImageGoesMeanwhile: another workbench prunes while images are listed.
func TestImageGoesMeanwhile(t *testing.T) {
	t.Parallel()
	for times, want := range map[int]string{2: "enough", 100: "image not known"} {
		f := &fake{version: "1.41", vanish: times, create: func(int) (int, string) { return 500, "enough" }}
		if _, err := f.runtime(t).Start(t.Context(), sandbox.Spec{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("after %d times: %v", times, err)
		}
	}
}

func (f *fake) runtime(t *testing.T) *Runtime {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	rt := New(Options{Engine: Docker, Host: "unix://" + path, Image: "x", StateDir: t.TempDir()})
	t.Cleanup(func() { rt.Close() })
	return rt
}

func TestOldEngine(t *testing.T) {
	t.Parallel()
	a := (&fake{version: "1.30"}).runtime(t).Probe(context.Background())
	if a.OK || !strings.Contains(a.Reason, "1.30") || !strings.Contains(a.Remedy, "update the engine to Docker 19.03") {
		t.Errorf("got %+v", a)
	}
}

func TestFullEngine(t *testing.T) {
	t.Parallel()
	f := &fake{version: "1.41", create: func(int) (int, string) { return 500, "mkdir /var/lib/docker: no space left on device" }}
	_, err := f.runtime(t).Start(context.Background(), sandbox.Spec{Argv: []string{"true"}})
	if err == nil || !strings.Contains(err.Error(), "the engine's disk is full") || !strings.Contains(err.Error(), "docker system prune") {
		t.Errorf("got %v", err)
	}
}

func TestNameClash(t *testing.T) {
	t.Parallel()
	f := &fake{version: "1.41", create: func(n int) (int, string) {
		if n < 3 {
			return 409, "the name is in use"
		}
		return 500, "enough"
	}}
	_, err := f.runtime(t).Start(context.Background(), sandbox.Spec{Argv: []string{"true"}})
	if err == nil || err.Error() != "enough" || len(f.names) != 3 || f.names[0] == f.names[1] || f.names[1] == f.names[2] {
		t.Errorf("got %v after the names %v", err, f.names)
	}
}

func TestMissingImage(t *testing.T) {
	t.Parallel()
	needDocker(t)
	rt := New(Options{Engine: Docker, Host: dockerHost(), Image: "127.0.0.1:1/nonesuch:1", StateDir: t.TempDir()})
	defer rt.Close()
	_, err := rt.Start(context.Background(), sandbox.Spec{Argv: []string{"true"}})
	if err == nil || !strings.Contains(err.Error(), "has no image 127.0.0.1:1/nonesuch:1") || !strings.Contains(err.Error(), "--image") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestNoPermissionAndNoEngine(t *testing.T) {
	t.Parallel()
	rt := New(Options{Engine: Docker, Host: "unix:///nonexistent.sock", StateDir: t.TempDir()})
	defer rt.Close()
	if a := rt.Probe(context.Background()); a.OK || !strings.Contains(a.Reason, "no engine answers at unix:///nonexistent.sock") || a.Remedy == "" {
		t.Errorf("got %+v", a)
	}
	denied := &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
	if a := rt.classify(denied); !strings.Contains(a.Reason, "you may not use the engine's socket") || !strings.Contains(a.Remedy, "usermod -aG docker") {
		t.Errorf("got %+v", a)
	}
}

func TestCommandsForDistributions(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]string{
		"debian": "sudo apt-get install podman", "linuxmint ubuntu debian": "sudo apt-get install podman", "fedora": "sudo dnf install podman",
		"opensuse-leap suse opensuse": "sudo zypper install podman", "darwin": "brew install podman && podman machine init --now",
		"unheard-of": "install podman with this system's package manager",
	} {
		if got := installCommand(Podman, system); got != want {
			t.Errorf("%s: %q, want %q", system, got, want)
		}
	}
}

// TestImageThatAsksForMore makes an image that wants to be root, to keep
// volumes, to be looked after and to run something of its own.
func TestImageThatAsksForMore(t *testing.T) {
	t.Parallel()
	t.Run(Docker, func(t *testing.T) {
		t.Parallel()
		needDocker(t)
		asksForMore(t, Options{Engine: Docker, Host: dockerHost()}, "HEALTHCHECK --interval=1s CMD touch /tmp/healthy")
	})
	t.Run(Podman, func(t *testing.T) {
		t.Parallel()
		needPodman(t)
		asksForMore(t, Options{Engine: Podman})
	})
}

func asksForMore(t *testing.T, o Options, more ...string) {
	t.Helper()
	ctx := context.Background()
	o.Image, o.StateDir = testImage, t.TempDir()
	rt := New(o)
	defer rt.Close()
	giveImage(t, rt)
	api, err := rt.api()
	if err != nil {
		t.Fatal(err)
	}
	made, err := api.ContainerCreate(ctx, &container.Config{Image: testImage, Cmd: []string{"true"}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = remove(ctx, api, made.ID) }()
	greedy, err := api.ContainerCommit(ctx, made.ID, container.CommitOptions{Config: &container.Config{}, Changes: append(more,
		"USER root", "VOLUME /data", `ENTRYPOINT ["/bin/false"]`, "EXPOSE 80", "ENV PATH=/usr/bin:/bin",
	)})
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.Image = rt.host(), greedy.ID
	rt = New(o)
	defer rt.Close()
	var out bytes.Buffer
	b, err := rt.Start(ctx, sandbox.Spec{
		Argv: []string{"sh", "-c", `test "$(id -u)" != 0 || echo root; grep " /data " /proc/mounts | cut -d" " -f3; sleep 1.3; ls /tmp; echo over`},
		Env:  sandbox.BaseEnv(os.Environ()), Stdout: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := b.Wait(); err != nil || r.ExitCode != 0 || out.String() != "tmpfs\nover\n" {
		t.Errorf("got %q, %+v, %v", out.String(), r, err)
	}
}
