package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Prober runs a package manager so that it tells about its configuration. The
// working directory must not be the user's project, whose files may not decide
// where packages come from.
type Prober interface {
	// Run gives the standard output of argv; env is set on top of the
	// prober's own environment. A command that does not exist is an error.
	Run(ctx context.Context, argv, env []string) (stdout string, err error)
}

// HostProber runs commands on this machine, in an empty directory.
type HostProber struct {
	// Environ is the environment; nil means that of this process.
	Environ []string
}

// Run implements Prober.
func (p HostProber) Run(ctx context.Context, argv, env []string) (string, error) {
	dir, err := os.MkdirTemp("", "kintsugi-probe-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, p.Environ, time.Second
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	return string(out), err
}

// Learned is what the package managers of a machine told.
type Learned struct {
	Upstreams []Upstream `json:"upstreams"`
	Notes     []Note     `json:"notes,omitempty"`
	// files are where the package manager looks for its settings; none when it
	// does not say, or when they depend on more than that.
	files []string
}

// settingsFiles splits an answer from the list of files behind it.
func settingsFiles(out string) (answer string, files []string) {
	answer, list, _ := strings.Cut(out, "\n#kintsugi-files\n")
	for _, f := range strings.Split(list, "\n") {
		if f = strings.TrimSpace(f); filepath.IsAbs(f) {
			files = append(files, f)
		}
	}
	return answer, files
}

// Note is something that a person should know about an ecosystem: why it has
// no index, or which setting is not followed.
type Note struct {
	Ecosystem string `json:"ecosystem"`
	Text      string `json:"text"`
}

// Learner asks package managers for their indexes.
type Learner struct {
	Prober Prober
	// Resolve finds out whether a configured host is a private one; nil asks
	// the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// LocalNets are the networks that this machine is part of; nil asks the
	// system.
	LocalNets func() []netip.Prefix
}

// Ecosystems are those that a gateway can serve, in the order of reports.
var ecosystems = []string{"pip", "npm", "go", "cargo", "maven", "gem", "apt"}

// Learn asks all package managers of the machine. It takes as long as the
// slowest of them, about a second.
func Learn(ctx context.Context, p Prober) Learned {
	return Learner{Prober: p}.Learn(ctx)
}

// Learn asks the package managers of the ecosystems named, or all.
func (l Learner) Learn(ctx context.Context, names ...string) Learned {
	if len(names) == 0 {
		names = ecosystems
	}
	parts := make([]Learned, len(names))
	var wg sync.WaitGroup
	for i, eco := range names {
		wg.Go(func() { parts[i] = l.one(ctx, eco) })
	}
	wg.Wait()
	var all Learned
	for _, p := range parts {
		all.Upstreams = append(all.Upstreams, p.Upstreams...)
		all.Notes = append(all.Notes, p.Notes...)
		all.files = append(all.files, p.files...)
	}
	return all
}

// askTime is how long a package manager may take to tell about itself.
const askTime = 20 * time.Second

func (l Learner) one(ctx context.Context, eco string) Learned {
	ask := map[string]func(context.Context) (Learned, error){
		"pip": l.pip, "npm": l.npm, "go": l.gomod, "cargo": l.cargo, "maven": l.maven, "gem": l.gem, "apt": l.apt,
	}[eco]
	if ask == nil {
		return Learned{Notes: []Note{{eco, "unknown ecosystem"}}}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	found, err := ask(ctx)
	if err != nil {
		return Learned{Notes: append(found.Notes, Note{eco, err.Error()})}
	}
	for i := range found.Upstreams {
		found.Upstreams[i].Private = l.private(ctx, found.Upstreams[i])
	}
	return found
}

// private says whether the user configured an address that is not public: a
// mirror of the school, or on this machine.
func (l Learner) private(ctx context.Context, up Upstream) bool {
	u, err := url.Parse(up.URL)
	if err != nil || up.Default {
		return false
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return true
	}
	g := newGuard(Options{Resolve: l.Resolve, LocalNets: l.LocalNets, Environ: []string{}})
	_, err = g.addresses(ctx, u.Hostname(), "")
	var r *refusal
	return errors.As(err, &r)
}

// absentClient is the error for a package manager that does not run here.
func absentClient(name, setting string) error {
	return fmt.Errorf("%s does not run here, so its index is unknown; install it, or set %s", name, setting)
}

// add appends the upstream of a configured address.
func (l *Learned) add(eco, raw, origin string, isDefault bool) error {
	up, err := UpstreamAt(eco, raw, origin)
	if err != nil {
		return err
	}
	up.Default = isDefault
	l.Upstreams = append(l.Upstreams, up)
	return nil
}

func (l *Learned) note(eco, format string, args ...any) {
	l.Notes = append(l.Notes, Note{eco, fmt.Sprintf(format, args...)})
}

// Report gives one line for each index and note, for people.
func (l Learned) Report() []string {
	var out []string
	for _, u := range l.Upstreams {
		line := fmt.Sprintf("%-5s  %s  (%s", u.Ecosystem, u.URL, u.Origin)
		if u.Private {
			line += "; private address"
		}
		if u.Auth != "" {
			line += "; with credentials"
		}
		out = append(out, line+")")
		if u.Sum != "" {
			out = append(out, fmt.Sprintf("%-5s  checked by %s", u.Ecosystem, strings.SplitN(u.Sum, "+", 2)[0]))
		}
	}
	for _, n := range l.Notes {
		out = append(out, fmt.Sprintf("%-5s  %s", n.Ecosystem, n.Text))
	}
	return out
}

// For gives the upstreams of one ecosystem.
func (l Learned) For(eco string) []Upstream {
	var out []Upstream
	for _, u := range l.Upstreams {
		if u.Ecosystem == eco {
			out = append(out, u)
		}
	}
	return out
}
