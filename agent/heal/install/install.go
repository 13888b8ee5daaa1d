// Package install carries out remedies: it runs an ecosystem's own package
// manager in a box of its own, without any of the user's code and with no other
// way out than the gateway, and keeps what it wrote as a content-addressed
// layer.
//
// One layer holds one manager's whole set of packages, so that versions are
// resolved together; asking for one more package makes a new layer. Only
// ready-made packages are taken (wheels, npm without scripts, .deb contents
// extracted without maintainer scripts).
//
// The package never decides whether a name may be installed; heal does.
package install

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/gateway"
)

// Request is one set of packages to have.
type Request struct {
	Manager  string // pip, npm, apt, go, cargo, maven
	Packages []string
	// Argv0 is the interpreter that runs the user's code ("python3").
	Argv0 string
	// Base is the box that the user's code runs in: its environment and the
	// layers it has from other managers.
	Env    []string
	Layers []string
	// Workspace shows the project to interpreters that live in it, and to
	// managers whose packages are named by a file of the project; Dir is the
	// folder that the program starts in.
	Workspace sandbox.Workspace
	Dir       string
	// Verify names what must be there afterwards: modules for pip and npm,
	// commands or library files for apt.
	Verify []string
	// Pins, when there are any, are the only releases of their packages that
	// are taken, and hashes must be theirs; other packages may come along only
	// when Unpinned is set.
	Pins     []gateway.Pin
	Unpinned bool
	// Layer is the key of one that may already have what the pins name, and
	// LockedFor the Layer.For that the pins were made for. In a box for another
	// one, other packages may come along with them.
	Layer     string
	LockedFor string
	// Since is the key of the layer that the box has of this manager so far: a
	// manager that only ever adds to it may begin with what is in there.
	Since string
	// Progress gets short lines for a person; Output the installer's own
	// words. Both may be nil.
	Progress func(string)
	Output   io.Writer
}

// Installer runs package managers in boxes of Runtime and keeps layers in
// Store.
type Installer struct {
	Runtime sandbox.Runtime
	Store   Store
	// Mirror is the way to the indexes; nil means that nothing is fetched.
	Mirror *Mirror
	// FindLinks is a directory of wheels that is looked at first.
	FindLinks string
	// WithoutUV installs Python packages with pip even where uv can be had.
	WithoutUV bool
	// Tools keeps what installations themselves use, such as uv; the zero value
	// is Store.
	Tools   Store
	Now     func() time.Time
	Timeout time.Duration

	leases leases
	holder *Installer // whose leases this one takes; nil: its own
}

// On gives an installer that works in boxes of another runtime and shares
// everything else.
func (in *Installer) On(rt sandbox.Runtime) *Installer {
	return &Installer{
		Runtime: rt, Store: in.Store, Mirror: in.Mirror, FindLinks: in.FindLinks, WithoutUV: in.WithoutUV, Tools: in.Tools, Now: in.Now,
		Timeout: in.Timeout, holder: cmp.Or(in.holder, in),
	}
}

// hold keeps a layer from being pruned while this process lives.
func (in *Installer) hold(key string) bool {
	return cmp.Or(in.holder, in).leases.hold(in.Store.Dir, key)
}

// Error is a failed installation: what a person should read, and the
// manager's own words.
type Error struct {
	Manager, Reason, Output string
	// There says that nothing was installed because all of it is there.
	There bool
}

func (e *Error) Error() string { return e.Manager + ": " + e.Reason }

// Install gives a layer with the packages: an existing one, or a new one.
func (in *Installer) Install(ctx context.Context, r Request) (Layer, error) {
	r.Progress = oneAtATime(r.Progress)
	defer in.Mirror.watch(r.Progress)()
	r.Packages, r.Dir = sorted(r.Packages), cmp.Or(r.Dir, "/tmp")
	if err := checkNames(r.Manager, r.Packages); err != nil {
		return Layer{}, err
	}
	one := map[string]func(context.Context, Request) (Layer, error){
		"pip": in.pip, "npm": in.npm, "apt": in.apt, "go": in.golang, "cargo": in.cargo, "maven": in.maven,
	}[r.Manager]
	if one == nil {
		return Layer{}, &Error{Manager: r.Manager, Reason: "this kind of package cannot be installed in a box yet"}
	}
	l, err := one(ctx, r)
	if err == nil && !in.hold(l.Key) {
		err = &Error{Manager: r.Manager, Reason: "the layer was removed the moment it was made; run the program again"}
	}
	return l, err
}

// oneAtATime lets the box's output and the gateway share a listener.
func oneAtATime(f func(string)) func(string) {
	if f == nil {
		return func(string) {}
	}
	var mu sync.Mutex
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		f(text)
	}
}

// find looks for the layer of a request: for a platform, made of what the
// parts say.
func (in *Installer) find(r *Request, platform string, parts ...string) (key string, l Layer, ok bool) {
	if l, ok := in.Find(r.Layer); ok && r.Layer != "" && l.Manager == r.Manager && l.For == platform && l.matches(r.Pins) {
		return l.Key, l, true
	}
	if r.LockedFor != "" {
		r.Unpinned = r.LockedFor != platform
	}
	parts = append([]string{r.Manager, platform}, parts...)
	for _, p := range r.Pins {
		parts = append(parts, "pin", p.Name, p.Version)
		for _, file := range slices.Sorted(maps.Keys(p.Files)) {
			parts = append(parts, p.Files[file])
		}
	}
	key = Key(append(parts, r.Packages...)...)
	l, ok = in.Find(key)
	return key, l, ok
}

// made gives the layer of a request: the one that is there, or a new one. fill
// installs into its tree and completes what the layer says of itself; a layer
// of which it gives an error leaves nothing behind.
func (in *Installer) made(r Request, platform string, parts []string, fill func(Request, *build, *Layer) error) (Layer, error) {
	key, l, ok := in.find(&r, platform, parts...)
	if ok {
		return l, nil
	}
	b, err := in.Store.begin()
	if err != nil {
		return Layer{}, err
	}
	defer b.drop()
	l = Layer{Key: key, Manager: r.Manager, Packages: r.Packages, For: platform}
	if err := fill(r, b, &l); err != nil {
		return Layer{}, err
	}
	l.Installed = in.Now()
	return b.finish(l)
}

func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// limits of a remedy box: installers unpack large trees and start threads.
func (in *Installer) limits() sandbox.Limits {
	wall := in.Timeout
	if wall == 0 {
		wall = 10 * time.Minute
	}
	return sandbox.Limits{Wall: wall, Memory: 4 << 30, Processes: 512, FileSize: 8 << 30, Disk: 4 << 30}
}

// box runs one command in a remedy box and returns its output.
func (in *Installer) box(ctx context.Context, spec sandbox.Spec, r Request) (sandbox.Result, string, error) {
	tail := &tailBuffer{max: 64 << 10}
	lines := &lineWriter{emit: func(s string) { r.Progress(s) }}
	out := io.MultiWriter(tail, lines)
	if r.Output != nil {
		out = io.MultiWriter(out, r.Output)
	}
	locked := &lockedWriter{w: out}
	spec.Stdout, spec.Stderr = locked, locked
	spec.Limits = in.limits()
	if spec.Dir == "" {
		spec.Dir = "/tmp"
	}
	b, err := in.Runtime.Start(ctx, spec)
	if err != nil {
		return sandbox.Result{}, "", err
	}
	res, err := b.Wait()
	return res, tail.String(), err
}

// ask runs a short command in a box without network and returns its stdout.
func (in *Installer) ask(ctx context.Context, spec sandbox.Spec) (string, sandbox.Result, error) {
	var out, errs bytes.Buffer
	spec.Stdout, spec.Stderr = &out, &errs
	spec.Limits = sandbox.Limits{Wall: 30 * time.Second}
	b, err := in.Runtime.Start(ctx, spec)
	if err != nil {
		return "", sandbox.Result{}, err
	}
	res, err := b.Wait()
	if err == nil && res.ExitCode != 0 {
		err = errors.New(firstLine(errs.String()))
	}
	return out.String(), res, err
}

// run runs an installer; its failure is told in the words of whoever knows
// best: the gateway, when it refused something, else the installer.
func (in *Installer) run(ctx context.Context, manager string, spec sandbox.Spec, r Request, got *fetched) error {
	res, out, err := in.box(ctx, spec, r)
	if err != nil {
		return err
	}
	if res.ExitCode == 0 {
		return nil
	}
	if why := got.refusal(); why != "" {
		return &Error{Manager: manager, Reason: why, Output: out}
	}
	err = fail(manager, out, res)
	var e *Error
	if errors.As(err, &e) {
		e.Reason += got.young(out)
	}
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// fail turns a manager's output into an Error with the line that matters.
func fail(manager, output string, res sandbox.Result) error {
	if res.Limit != sandbox.LimitNone {
		return &Error{Manager: manager, Reason: fmt.Sprintf("stopped by the %s limit", res.Limit), Output: output}
	}
	reason := fmt.Sprintf("ended with exit code %d", res.ExitCode)
	if why := uvReason(output); why != "" {
		reason = why
	}
	for _, line := range strings.Split(output, "\n") {
		line = strings.TrimSpace(line)
		for _, mark := range []string{"ERROR:", "npm error ", "npm ERR! ", "E:", "dpkg-deb: error", "go: ", "error: "} {
			if rest, ok := strings.CutPrefix(line, mark); ok && strings.TrimSpace(rest) != "" {
				reason = strings.TrimSpace(rest)
			}
		}
	}
	return &Error{Manager: manager, Reason: reason, Output: output}
}
