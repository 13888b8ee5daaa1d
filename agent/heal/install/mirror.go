package install

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/gateway"
	"kintsugi/sandbox/lazyregexp"
	"kintsugi/sandbox/listen"
)

// mirrorPort is where a remedy box finds the gateway on its loopback
// interface. The box's network is its own, so any free number will do.
const mirrorPort = 7411

// mirrorDir is where the gateway's files for a client are shown in the box.
const mirrorDir = "/kintsugi-gateway"

// Mirror opens the gateway of each package manager when it is first needed: the
// manager itself is asked where its index is.
type Mirror struct {
	// CacheDir keeps what was fetched, for all sessions.
	CacheDir string
	Offline  bool
	// Cooldown leaves out releases that are younger; Exempt names packages
	// that may be of any age. See gateway.Options.
	Cooldown time.Duration
	Exempt   []string
	// Environ is the host's environment: the managers' settings, proxies.
	Environ []string
	// Prober asks the managers; nil runs them on this machine.
	Prober gateway.Prober
	// OnRequest gets a record of each request that a box made.
	OnRequest func(gateway.Entry)

	mu   sync.Mutex
	open map[string]*gateway.Gateway

	seen     sync.Mutex
	watchers map[*func(string)]bool // of downloads
}

// watch tells f about downloads until stop is called.
func (m *Mirror) watch(f func(string)) (stop func()) {
	if m == nil {
		return func() {}
	}
	m.seen.Lock()
	defer m.seen.Unlock()
	if m.watchers == nil {
		m.watchers = map[*func(string)]bool{}
	}
	m.watchers[&f] = true
	return func() {
		m.seen.Lock()
		defer m.seen.Unlock()
		delete(m.watchers, &f)
	}
}

// told passes on how far a download is: the installer in the box sees nothing
// of it until the file is there and checked.
func (m *Mirror) told(p gateway.Progress) {
	text := fmt.Sprintf("downloading %s (%s", strings.TrimSpace(p.Name+" "+p.Version), megabytes(p.Got))
	if p.Total > 0 {
		text += " of " + megabytes(p.Total)
	}
	m.seen.Lock()
	defer m.seen.Unlock()
	for f := range m.watchers {
		(*f)(text + ")")
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// gateway gives the gateway of one manager.
func (m *Mirror) gateway(ctx context.Context, manager string) (*gateway.Gateway, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.open[manager]; g != nil {
		return g, nil
	}
	prober := m.Prober
	if prober == nil {
		prober = gateway.HostProber{Environ: m.Environ}
	}
	return m.learn(ctx, manager, prober)
}

// learnFrom opens the gateway of a manager with the index that p knows, unless
// it is open already.
func (m *Mirror) learnFrom(ctx context.Context, manager string, p gateway.Prober) error {
	if _, err := m.gateway(ctx, manager); err == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.learn(ctx, manager, p)
	return err
}

func (m *Mirror) learn(ctx context.Context, manager string, prober gateway.Prober) (*gateway.Gateway, error) {
	ask := gateway.Learner{Prober: prober}
	var learned gateway.Learned
	if _, host := prober.(gateway.HostProber); host {
		learned = gateway.Memo{Dir: m.CacheDir, Environ: m.Environ}.Learn(ctx, ask, manager)
	} else {
		learned = ask.Learn(ctx, manager)
	}
	if len(learned.For(manager)) == 0 {
		why := "no index is configured"
		if len(learned.Notes) > 0 {
			why = learned.Notes[0].Text
		}
		return nil, &Error{Manager: manager, Reason: why}
	}
	g, err := gateway.New(gateway.Options{
		Upstreams: learned.For(manager), CacheDir: m.CacheDir, Offline: m.Offline, Environ: m.Environ, OnRequest: m.OnRequest,
		Cooldown: m.Cooldown, Exempt: m.Exempt, OnProgress: m.told,
	})
	if err != nil {
		return nil, &Error{Manager: manager, Reason: err.Error()}
	}
	if m.open == nil {
		m.open = map[string]*gateway.Gateway{}
	}
	m.open[manager] = g
	return g, nil
}

// About looks a package up in its manager's index, for somebody who has to
// judge it.
func (m *Mirror) About(ctx context.Context, manager, name string) (gateway.About, error) {
	g, err := m.gateway(ctx, manager)
	if err != nil {
		return gateway.About{}, err
	}
	return g.About(ctx, manager, name)
}

// Close ends all gateways.
func (m *Mirror) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.open {
		g.Close()
	}
	m.open = nil
}

// connect lets a remedy box reach the gateway of its manager and nothing else.
// work is a host directory for the files that the client needs. The log of
// what was fetched lands in got.
func (in *Installer) connect(ctx context.Context, r Request, spec *sandbox.Spec, work string, got *fetched) error {
	if in.Mirror == nil && len(r.Pins) > 0 {
		return &Error{Manager: r.Manager, Reason: "what the lock names cannot be checked without a way to the index"}
	}
	if in.Mirror == nil {
		return nil
	}
	manager := r.Manager
	g, err := in.gateway(ctx, r)
	if err != nil {
		return err
	}
	setup, err := g.Setup(manager, fmt.Sprintf("http://127.0.0.1:%d", mirrorPort), mirrorDir)
	if err != nil {
		return &Error{Manager: manager, Reason: err.Error()}
	}
	if err := place(setup.Files, work, spec); err != nil {
		return err
	}
	spec.Env = sandbox.MergeEnv(spec.Env, setup.Env...)
	spec.Argv = append(append(spec.Argv[:1:1], setup.Args...), spec.Argv[1:]...)
	spec.Listeners = append(spec.Listeners, sandbox.Listener{Port: mirrorPort, Serve: listen.Func(func(l net.Listener) {
		_ = g.ServeSession(l, gateway.Session{OnRequest: got.add, Pins: r.Pins, Unpinned: r.Unpinned})
	})})
	return nil
}

// gateway gives the gateway for a request. A client that only a layer has is
// asked in a box. Where boxes see an image, so are those that this machine has
// not, and the image's own sources of system packages count.
func (in *Installer) gateway(ctx context.Context, r Request) (*gateway.Gateway, error) {
	box, m, rooted := boxProber{in, r.Env, r.Layers}, in.Mirror, sandbox.RootOf(in.Runtime) != ""
	if !rooted || r.Manager != "apt" || m.Prober != nil {
		g, err := m.gateway(ctx, r.Manager)
		if err == nil || !rooted && len(r.Layers) == 0 {
			return g, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.open[r.Manager]; g != nil {
		return g, nil
	}
	return m.learn(ctx, r.Manager, box)
}

// place writes the client's files into work and shows them in the box.
func place(files []gateway.File, work string, spec *sandbox.Spec) error {
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		rel, err := filepath.Rel(mirrorDir, f.Path)
		if err != nil || strings.HasPrefix(rel, "..") {
			return fmt.Errorf("the gateway's file %s does not lie in %s", f.Path, mirrorDir)
		}
		path := filepath.Join(work, rel)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
	}
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: work, Target: mirrorDir})
	return nil
}

// fetched collects what a box got from the gateway.
type fetched struct {
	mu      sync.Mutex
	entries []gateway.Entry
}

func (f *fetched) add(e gateway.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries = append(f.entries, e)
}

// unresolved marks the outputs of managers that found no version to take.
var unresolved = lazyregexp.New(`No matching distribution|ETARGET|notarget|No solution found`)

// young tells which releases were left out for their age, when a manager found
// no version of a package and it may have been one of these.
func (f *fetched) young(output string) string {
	if !unresolved.MatchString(output) {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out, names []string
	for _, e := range f.entries {
		if len(e.Withheld) > 0 && !slices.Contains(names, e.Name) && strings.Contains(plain(output), plain(e.Name)) {
			names = append(names, e.Name)
			out = append(out, e.Name+" "+strings.Join(e.Withheld[:min(len(e.Withheld), 3)], ", "))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; left out for being too young: " + strings.Join(out, "; ") + "; to take it all the same: --cooldown-exempt " + strings.Join(names, ",")
}

// plain makes a name comparable with what managers print.
func plain(s string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(s))
}

// refusal is the last thing that the gateway refused, in words: better than
// what a client makes of a status code.
func (f *fetched) refusal() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.entries) - 1; i >= 0; i-- {
		if e := f.entries[i]; e.Refused != "" {
			return e.Refused
		}
	}
	return ""
}
