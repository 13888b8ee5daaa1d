package namespace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// Runtime makes boxes. It is safe for use by many goroutines.
type Runtime struct {
	options Options
	host    func() (*host, error)
	slots   func() (*slots, error)
	null    func() (int, error)
	groups  func() (*cgroups, error)
}

// New returns the embedded runtime. Nothing is looked up until it is used.
func New(o Options) *Runtime {
	r := &Runtime{options: o}
	r.host = sync.OnceValues(func() (*host, error) { return inspect(o) })
	r.slots = sync.OnceValues(func() (*slots, error) {
		h, err := r.host()
		return &slots{host: h}, err
	})
	r.groups = sync.OnceValues(func() (*cgroups, error) {
		h, err := r.host()
		if err != nil {
			return nil, err
		}
		return findCgroups(h), nil
	})
	r.null = sync.OnceValues(func() (int, error) {
		return unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	})
	return r
}

// Name is "namespace".
func (r *Runtime) Name() string { return Name }

// Start makes a box and starts the program in it.
func (r *Runtime) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(&spec); err != nil {
		return nil, err
	}
	s, err := r.slots()
	if err != nil {
		return nil, err
	}
	place, err := s.get()
	if err != nil {
		return nil, err
	}
	b := &box{runtime: r, slots: s, slot: place, spec: spec, limits: spec.Limits.WithDefaults(), begun: time.Now()}
	if err := b.start(ctx); err != nil {
		b.discard()
		return nil, err
	}
	return b, nil
}

// check refuses a spec that makes no sense, in one line.
func check(spec *sandbox.Spec) error {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return errors.New("no command to run")
	}
	if spec.Dir != "" && !filepath.IsAbs(spec.Dir) {
		return fmt.Errorf("the working directory %q must be an absolute path", spec.Dir)
	}
	if len(spec.Listeners) > 0 && spec.Network != sandbox.NetworkNone {
		return errors.New("listeners need a box with a network of its own")
	}
	for _, l := range spec.Listeners {
		if l.Port < 1 || l.Port > 65535 || l.Serve == nil {
			return fmt.Errorf("listener on port %d: needs a port from 1 to 65535 and a server", l.Port)
		}
	}
	return nil
}

// Reconcile removes what killed workbenches left behind.
func (r *Runtime) Reconcile(context.Context) (sandbox.Reclaimed, error) {
	return sandbox.Reclaimed{}, nil
}

// Probe finds out whether boxes can be made by making one.
func (r *Runtime) Probe(ctx context.Context) sandbox.Availability {
	b, err := r.Start(ctx, sandbox.Spec{Argv: []string{"/bin/true"}})
	if err != nil {
		return sandbox.Availability{Reason: err.Error()}
	}
	if _, err := b.Wait(); err != nil {
		return sandbox.Availability{Reason: err.Error()}
	}
	return sandbox.Availability{OK: true}
}
