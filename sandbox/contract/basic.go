package contract

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/listen"
)

func exits(t *trial) {
	for _, c := range []struct {
		argv   []string
		code   int
		signal string
		errs   string
	}{
		{[]string{"true"}, 0, "", ""},
		{[]string{"sh", "-c", "exit 7"}, 7, "", ""},
		{[]string{"sh", "-c", "kill -9 $$"}, 137, "SIGKILL", ""},
		{[]string{"sh", "-c", "kill -11 $$"}, 139, "SIGSEGV", ""},
		{[]string{"nonesuch"}, 127, "", "kintsugi: nonesuch: command not found\n"},
		{[]string{"/etc/passwd"}, 126, "", "kintsugi: /etc/passwd: permission denied\n"},
	} {
		o := t.run(sandbox.Spec{Argv: c.argv})
		if o.ExitCode != c.code || o.Signal != c.signal || o.err != c.errs || o.Limit != sandbox.LimitNone {
			t.Errorf("%v: got %+v %q", c.argv, o.Result, o.err)
		}
	}
}

func badSpecs(t *trial) {
	for want, spec := range map[string]sandbox.Spec{
		"no command":            {},
		"absolute path":         {Argv: []string{"true"}, Dir: "x"},
		"port from 1":           {Argv: []string{"true"}, Listeners: []sandbox.Listener{{Port: 0}}},
		"going to /nonexistent": {Argv: []string{"true"}, Dir: "/nonexistent"},
		"no such file":          {Argv: []string{"true"}, Workspace: sandbox.Workspace{Path: "/nonexistent"}},
		"folder's absolute":     {Argv: []string{"true"}, Workspace: sandbox.Workspace{Path: "/"}},
	} {
		_, err := t.rt.Start(context.Background(), spec)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func streams(t *trial) {
	spec := sh("cat; echo error >&2")
	spec.Stdin = strings.NewReader(strings.Repeat("line\n", 100_000))
	if o := t.run(spec); len(o.out) != 500_000 || o.err != "error\n" {
		t.Errorf("%d bytes out, errors %q", len(o.out), o.err)
	}
	spec = sh("head -c 3")
	spec.Stdin = endless{}
	if o := t.run(spec); o.out != "aaa" {
		t.Errorf("of an endless input: %q", o.out)
	}
	t.wants(sh("cat"), "")
}

// endless never runs dry.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func environment(t *trial) {
	spec := sh(`echo "$A-$B-$KINTSUGI"; env | grep -c SECRET`)
	spec.Env = []string{"A=1", "B=two words"}
	if o := t.run(spec); o.out != "1-two words-1\n0\n" {
		t.Errorf("saw %q", o.out)
	}
	t.wants(sh(`command -v sh >/dev/null && test -n "$PATH" && cd "$HOME"`), "")
}

// hostUnseen looks for files of the host that no box has business with.
func hostUnseen(t *trial) {
	secret := t.files(map[string]string{"token": "secret"})
	t.wants(sh("ls "+secret+" 2>/dev/null; ls /var/run/docker.sock /run/podman 2>/dev/null; echo none"), "none\n")
}

func noNetwork(t *trial) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	o := t.run(sh("busybox wget -T 2 -q -O - http://" + l.Addr().String() + "/ || echo closed; busybox wget -T 2 -q -O - http://198.51.100.1/ || echo closed; cat /proc/net/route | wc -l"))
	if o.out != "closed\nclosed\n1\n" {
		t.Errorf("got %q %q", o.out, o.err)
	}
	if took := time.Since(began); took > t.subject.Patience+3*time.Second {
		t.Errorf("found out only after %v", took)
	}
}

// walls tries what a program must not be able to do to its box.
func walls(t *trial) {
	t.wants(sh(`for f in /usr/x /etc/x /bin/x /x; do echo x 2>/dev/null >$f && echo wrote $f; done
mount -t tmpfs x /tmp 2>/dev/null && echo mounted
mknod /tmp/d c 1 3 2>/dev/null && echo made a device
grep -E '^(CapEff|CapPrm|CapBnd|CapAmb)' /proc/self/status | grep -v 0000000000000000
grep NoNewPrivs /proc/self/status | tr -d '\t '
test "$(id -u)" != 0 || grep -q '^ *0  *0 ' /proc/self/uid_map && test "$(id -u)" = 0 && echo host root
kill -9 1 2>/dev/null; echo alive`), "NoNewPrivs:1\nalive\n")
}

func listeners(t *trial) {
	served := make(chan error, 1)
	spec := sh("busybox wget -q -O - http://127.0.0.1:8901/hello; busybox wget -q -O - http://127.0.0.1:8901/hello")
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) })
	spec.Listeners = []sandbox.Listener{{Port: 8901, Serve: listen.Func(func(l net.Listener) { served <- http.Serve(l, page) })}}
	if o := t.run(spec); len(o.out) != 2<<20 || o.ExitCode != 0 {
		t.Errorf("got %d bytes, %+v %q", len(o.out), o.Result, o.err)
	}
	select {
	case err := <-served:
		if err == nil {
			t.Error("serving ended without a reason")
		}
	case <-time.After(5 * time.Second):
		t.Error("the server was not told that the box ended")
	}
}

func report(t *trial) {
	a := t.rt.Probe(context.Background())
	if !a.OK {
		t.Fatalf("not available: %s", a.Reason)
	}
	for _, p := range []sandbox.Promise{
		sandbox.PromiseNoNetwork, sandbox.PromiseGateway, sandbox.PromiseHostFiles, sandbox.PromiseCopyOnWrite, sandbox.PromiseWall,
		sandbox.PromiseCPU, sandbox.PromiseMemory, sandbox.PromiseProcesses, sandbox.PromiseDisk, sandbox.PromiseWritten,
		sandbox.PromiseOutput, sandbox.PromiseSyscalls, sandbox.PromiseDiesWithUs,
	} {
		if k := a.Report.Find(p); k.Mechanism == "" {
			t.Errorf("nothing is said about: %s", p)
		}
	}
	kept := a.Report.Find(sandbox.PromiseMemory)
	_, err := t.rt.Start(context.Background(), sandbox.Spec{Argv: []string{"true"}, Env: os.Environ(), Require: []sandbox.Promise{"telepathy"}})
	if err == nil || !strings.Contains(err.Error(), "--best-effort") {
		t.Errorf("an unkept promise: %v (memory is kept by %s)", err, kept.Mechanism)
	}
}
