package namespace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
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

	open   atomic.Pointer[slots] // what slots returned, once it did
	first  sync.WaitGroup        // Prepare, before that
	mu     sync.Mutex
	answer *sandbox.Availability
}

var _ sandbox.Preparer = (*Runtime)(nil)

// New returns the embedded runtime. Nothing is looked up until it is used.
func New(o Options) *Runtime {
	r := &Runtime{options: o}
	r.host = sync.OnceValues(func() (*host, error) { return inspect(o) })
	r.slots = sync.OnceValues(func() (*slots, error) {
		h, err := r.host()
		if err != nil {
			return nil, err
		}
		c, err := r.groups()
		if err != nil {
			return nil, err
		}
		plain, err := h.view(&sandbox.Spec{})
		if err != nil {
			return nil, err
		}
		s, err := newSlots(h, c)
		if err != nil {
			return nil, err
		}
		s.common = plain.parts
		s.pool = newPool(r, s)
		r.open.Store(s)
		return s, nil
	})
	r.groups = sync.OnceValues(func() (*cgroups, error) {
		h, err := r.host()
		if err != nil {
			return nil, err
		}
		if o.withoutGroups {
			return &cgroups{why: "control groups are switched off"}, nil
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
	spec.Env = r.environment(spec.Env)
	b, err := r.start(ctx, spec)
	if err != nil {
		return nil, r.refused(ctx, err)
	}
	return b, nil
}

// start makes a box for a spec that was checked.
func (r *Runtime) start(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	s, err := r.slots()
	if err != nil {
		return nil, err
	}
	if err := r.require(&spec); err != nil {
		return nil, err
	}
	b := &box{runtime: r, host: s.host, slots: s, spec: spec, limits: s.host.bounds(spec.Limits), begun: time.Now()}
	b.in.theirs, b.out.theirs, b.errOut.theirs = -1, -1, -1
	s.apart.enter()
	if err := b.start(ctx); err != nil {
		b.discard()
		return nil, err
	}
	return b, nil
}

// require refuses a spec that asks for more than the kernel can keep here.
func (r *Runtime) require(spec *sandbox.Spec) error {
	if len(spec.Require) == 0 || spec.BestEffort {
		return nil
	}
	h, err := r.host()
	if err != nil {
		return err
	}
	c, err := r.groups()
	if err != nil {
		return err
	}
	if missing := report(h, c).Missing(spec.Require); len(missing) > 0 {
		return unkept(missing)
	}
	return nil
}

// Prepare has the pool filled in the background. What goes wrong is told by the
// next Start.
func (r *Runtime) Prepare(next *sandbox.Spec) {
	if s := r.open.Load(); s != nil {
		s.pool.prepare(s.host.fitting(next))
		return
	}
	r.first.Go(func() {
		if s, err := r.slots(); err == nil {
			s.pool.prepare(s.host.fitting(next))
		}
	})
}

// Warm fills the pool of boxes that are kept ready for what is expected next,
// like Prepare, and returns when it is full.
func (r *Runtime) Warm(next *sandbox.Spec) error {
	s, err := r.slots()
	if err != nil {
		return err
	}
	return s.pool.wait(s.host.fitting(next))
}

// Settle returns when nothing is left of the boxes whose Wait has returned. Who
// only wants results need not call it.
func (r *Runtime) Settle() {
	if s := r.open.Load(); s != nil {
		s.apart.settle()
	}
}

// Close gives up what the runtime keeps between boxes. Boxes that still run
// are not touched.
func (r *Runtime) Close() error {
	r.first.Wait()
	if s := r.open.Load(); s != nil {
		s.pool.close()
		s.close()
	}
	return nil
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

// Probe finds out whether boxes can be made, by making one. The answer is
// kept, a good one also for later processes.
func (r *Runtime) Probe(ctx context.Context) sandbox.Availability {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answer == nil {
		answer := r.probe(ctx)
		if ctx.Err() != nil {
			return answer
		}
		r.answer = &answer
	}
	return *r.answer
}
