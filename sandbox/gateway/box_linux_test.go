package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kintsugi/sandbox"
	"kintsugi/sandbox/listen"
	"kintsugi/sandbox/namespace"
)

// boxPort is where boxes of the tests see the gateway.
const boxPort = 3128

// leaving tries every other way out, and prints what worked.
const leaving = `import socket, sys, time, urllib.request
start, out = time.time(), []
def attempt(name, f):
    try: f()
    except Exception as e: return
    out.append(name)
attempt("host loopback", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2))
attempt("tcp", lambda: socket.create_connection(("198.51.100.1", 80), 2))
attempt("tcp6", lambda: socket.create_connection(("2001:db8::1", 80), 2))
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("198.51.100.1", 53)))
attempt("metadata", lambda: socket.create_connection(("169.254.169.254", 80), 2))
attempt("dns", lambda: socket.getaddrinfo("example.test", 80))
def through(request):
    c = socket.create_connection(("127.0.0.1", 3128), 2)
    c.sendall(request.encode())
    if c.recv(100).split()[1] not in (b"400", b"403", b"404", b"405"): return
    raise ValueError
attempt("connect", lambda: through("CONNECT example.test:443 HTTP/1.1\r\nHost: example.test:443\r\n\r\n"))
attempt("proxy", lambda: through("GET http://127.0.0.1:%s/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % sys.argv[1]))
attempt("publish", lambda: through("PUT /npm/x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\nx"))
print("left by:", out, "slow" if time.time() - start > 1.5 else "")
`

// A box whose network has nothing but the gateway installs a package, and
// finds no other way out.
func TestPipInABox(t *testing.T) {
	t.Parallel()
	m := realIndex(t, "pip")
	r := namespace.New(namespace.Options{StateDir: openDir(t)})
	if a := r.Probe(t.Context()); !a.OK {
		t.Skipf("no boxes here: %s", a.Reason)
	}
	reached := 0
	host := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	t.Cleanup(host.Close)
	dir := openDir(t)
	write(t, filepath.Join(dir, "leave.py"), leaving)
	python := strings.TrimSpace(run(t, dir, os.Environ(), "python3", "-c", "import sys; print(sys.executable)"))
	out := inBox(t, r, m, dir, python+" -m pip install -q --target /out/site --only-binary :all: --no-cache-dir six && "+
		"PYTHONPATH=/out/site "+python+" -c 'import six; print(six.__version__)' && "+python+" /out/leave.py "+port(host.URL))
	if !strings.Contains(out, "\nleft by: [] \n") {
		t.Errorf("the box said:\n%s", out)
	}
	m.mustHave(t, false, "six-")
	if reached != 0 {
		t.Errorf("the host's server was reached %d times", reached)
	}
}

// openDir is a temporary directory that a box may enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kintsugi-box-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func port(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// inBox runs a script in a box that has the gateway and /out.
func inBox(t *testing.T, r sandbox.Runtime, m *mirror, dir, script string) string {
	t.Helper()
	var out bytes.Buffer
	b, err := r.Start(context.Background(), sandbox.Spec{
		Argv: []string{"sh", "-c", "exec 2>&1\n" + script}, Dir: "/out", Stdout: &out,
		Env:       sandbox.BaseEnv(os.Environ(), m.Env("pip", fmt.Sprintf("http://127.0.0.1:%d", boxPort))...),
		Mounts:    []sandbox.Mount{{Source: dir, Target: "/out", Writable: true}},
		Listeners: []sandbox.Listener{{Port: boxPort, Serve: listen.Func(func(l net.Listener) { _ = m.Serve(l) })}},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.Wait()
	if err != nil || res.ExitCode != 0 {
		t.Errorf("the box ended with %d, %v", res.ExitCode, err)
	}
	return out.String()
}
