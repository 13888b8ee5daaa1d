package abuse

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
	"kintsugi/sandbox/inert"
	"kintsugi/sandbox/listen"
)

func networkPlans() map[string]plan {
	return map[string]plan{
		"host-services":   {setup: listenTCP},
		"host-sockets":    {setup: listenUnix},
		"name-leak":       {setup: nameServers},
		"kept-connection": {setup: serveInside, judge: connectionEnds},
		"network-past":    {alone: true, whole: oneAfterAnother},
	}
}

// oneAfterAnother runs the probe in some boxes, each after the end of the one
// before.
func oneAfterAnother(t *trial) probe.Verdict {
	boxes := 6
	if name := t.rt.Name(); name == "docker" || name == "podman" {
		boxes = 2 // which take far longer
	}
	for range boxes {
		t.out = newCapture()
		t.spec.Stdout, t.spec.Stderr = t.out, t.out
		if v := t.run(); v.Verdict != probe.Held {
			return v
		}
	}
	return probe.Heldf("%d boxes one after another found neither sockets nor traffic", boxes)
}

// listenTCP makes the host listen on all its addresses.
func listenTCP(t *trial) error {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return err
	}
	t.undo = append(t.undo, func() { l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	return with("port", port, "addresses", strings.Join(hostAddresses(), ","))(t)
}

func hostAddresses() []string {
	var out []string
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() && !n.IP.IsLoopback() {
			out = append(out, n.IP.String())
		}
	}
	return out
}

// listenUnix makes the host listen on an abstract name and on paths.
func listenUnix(t *trial) error {
	var paths []string
	names := []string{"@" + t.token + "abstract"}
	for _, dir := range []string{os.TempDir(), "/run", "/dev/shm", t.opts.Home, t.dir} {
		names = append(names, filepath.Join(dir, t.token+"s"))
	}
	for _, name := range names {
		l, err := net.Listen("unix", name)
		if err != nil {
			continue
		}
		t.undo = append(t.undo, func() { l.Close() })
		if name[0] != '@' {
			_ = os.Chmod(name, 0o777)
			paths = append(paths, name)
		}
	}
	return with("abstract", t.token+"abstract", "paths", strings.Join(paths, ","))(t)
}

// serveInside answers a port in the box from the host, as the gateway does,
// and keeps the connection open for as long as the other side does.
func serveInside(t *trial) error {
	const port = 7791
	ended := make(chan struct{})
	t.kept = ended
	t.spec.Listeners = []sandbox.Listener{{Port: port, Serve: listen.Func(func(l net.Listener) {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer close(ended)
		defer c.Close()
		_, _ = c.Write([]byte("hello"))
		_, _ = io.Copy(io.Discard, c)
	})}}
	return with("port", port)(t)
}

// connectionEnds wants the connection to end with the box.
func connectionEnds(t *trial) probe.Verdict {
	select {
	case <-t.kept.(chan struct{}):
		return worst(t.inside(), probe.Heldf("its connection ended with the box"))
	case <-time.After(time.Second):
		return worst(t.inside(), probe.Breachf("a connection outlives the box"))
	}
}

// nameServers tells the probe who resolves names for the host.
func nameServers(t *trial) error {
	b, _ := os.ReadFile("/etc/resolv.conf")
	var servers []string
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			servers = append(servers, f[1])
		}
	}
	return with("servers", strings.Join(servers, ","), "secret", strings.ToLower(rand.Text()))(t)
}

func secretPlans() map[string]plan {
	return map[string]plan{
		"environment":       {setup: plantEnvironment, judge: noOtherVariables},
		"home-secrets":      {setup: plantHome},
		"install-secrets":   {probe: "home-secrets", setup: func(t *trial) error { return errors.Join(t.capture(), plantHome(t)) }},
		"service-sockets":   {setup: plantSockets},
		"workbench-secrets": {setup: plantState},
		"earlier-box":       {whole: func(t *trial) probe.Verdict { return t.twoBoxes(false) }},
		"host-identity":     {setup: tellIdentity},
		"signals":           {setup: tellHost},
		"other-processes":   {setup: tellHost},
		"clocks":            {setup: tellIdentity, judge: sameName},
		"open-watch":        {during: openWatched, judge: knownWatch},
	}
}

// openWatched opens the program that the box watches.
func openWatched(*trial) probe.Verdict {
	f, err := os.Open(probe.Watched)
	if err != nil {
		return probe.Errorf("%v", err)
	}
	return probe.Heldf("opened on the host: %v", f.Close() == nil)
}

// knownWatch takes a watch that saw something for what the table says it is.
func knownWatch(t *trial) probe.Verdict {
	v := t.inside()
	if v.Verdict == probe.Breach && t.expectation(t.c).Kind == Shared {
		return probe.Heldf("%s", v.Detail)
	}
	return v
}

// plantEnvironment gives the host variables that a box must not inherit.
func plantEnvironment(t *trial) error {
	t.hidden = "secret-" + rand.Text()
	host := os.Environ()
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "DISPLAY",
		"DBUS_SESSION_BUS_ADDRESS", "WSL_INTEROP", "HTTP_PROXY", "LD_PRELOAD", "PYTHONPATH", "OPENAI_API_KEY",
		"XDG_RUNTIME_DIR", "KUBECONFIG", "npm_config_token"} {
		host = append(host, name+"="+t.hidden)
	}
	t.spec.Env = sandbox.BaseEnv(host)
	return with("secret", t.hidden)(t)
}

func noOtherVariables(t *trial) probe.Verdict {
	v := t.inside()
	if v.Verdict != probe.Held {
		return v
	}
	var given []string
	for _, kv := range t.spec.Env {
		name, _, _ := strings.Cut(kv, "=")
		given = append(given, name)
	}
	for _, name := range strings.Fields(v.Detail) {
		if !slices.Contains(given, name) {
			return probe.Breachf("the box has the variable %s, which it was not given", name)
		}
	}
	return v
}

func plantHome(t *trial) error {
	return errors.Join(t.plantSecret(), with("home", t.opts.Home)(t))
}

func plantSockets(t *trial) error {
	return errors.Join(listenUnix(t), with("uid", os.Getuid())(t))
}

func plantState(t *trial) error {
	var there []string
	for _, dir := range t.opts.State {
		if _, err := os.Stat(dir); err == nil {
			there = append(there, dir)
		}
	}
	return errors.Join(t.plantSecret(), with("host", os.Getpid(), "state", strings.Join(there, ","))(t))
}

func tellHost(t *trial) error { return with("host", os.Getpid())(t) }

func tellIdentity(t *trial) error {
	name, _ := os.Hostname()
	t.kept = name
	id, _ := os.ReadFile("/etc/machine-id")
	return with("hostname", name, "machine", strings.TrimSpace(string(id)))(t)
}

func sameName(t *trial) probe.Verdict {
	if now, _ := os.Hostname(); t.kept != now {
		return probe.Breachf("the host is now called %q", now)
	}
	return t.inside()
}

func terminalPlans() map[string]plan {
	return map[string]plan{
		"print-hostile": {judge: shownInert(probe.HostileText())},
		"print-torn":    {judge: shownInert("")},
		"print-spoof":   {judge: shownInert(probe.SpoofText())},
		"fake-protocol": {setup: with("exit", 37), judge: realEnding},
	}
}

// shownInert passes the output through the filter that every view uses. The
// raw text must have arrived, and nothing of it may steer a terminal.
func shownInert(want string) func(*trial) probe.Verdict {
	return func(t *trial) probe.Verdict {
		raw := t.out.text()
		if !strings.Contains(raw, want) {
			return probe.Errorf("the hostile text did not arrive whole: %.100q", raw)
		}
		if bad := steering(inert.String(raw, inert.NoColour)); bad != "" {
			return probe.Breachf("%s reaches the terminal", bad)
		}
		return worst(t.inside(), probe.Heldf("%d bytes shown inert", len(raw)))
	}
}

// steering names the first character that could steer a terminal, if any.
func steering(shown string) string {
	for _, r := range shown {
		switch {
		case r == '\n' || r == '\t':
		case r < ' ' || (r >= 0x7f && r < 0xa0), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200b, r == 0xfeff:
			return fmt.Sprintf("%U", r)
		}
	}
	if !strings.Contains(shown, "\n") {
		return "an endless line"
	}
	return ""
}

// realEnding wants the result to be what happened, whatever the program said
// on any descriptor.
func realEnding(t *trial) probe.Verdict {
	if t.res.ExitCode != 37 || t.res.Limit != sandbox.LimitNone || t.res.Signal != "" {
		return probe.Breachf("the result is %s, not exit 37", t.ending())
	}
	return probe.Heldf("the result is the real one")
}
