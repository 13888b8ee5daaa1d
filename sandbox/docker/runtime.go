package docker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/client"

	"kintsugi/sandbox"
	"kintsugi/sandbox/listen"
)

// Runtime makes boxes. It is safe for use by many goroutines.
type Runtime struct {
	options Options
	engine  func() (*engine, error)
	lease   func() (*lease, error)
	images  images
	pool    pool
	uid     int // of the programs in boxes

	mu      sync.Mutex
	opened  *engine
	held    *lease
	answer  *sandbox.Availability
	bare    bool           // the engine has no control groups; known with the answer
	endings sync.WaitGroup // containers being removed
}

// The ids of programs in boxes: nobody's on a usual system, and such as a
// rootless engine can map.
const firstUID, manyUIDs = 52000, 6000

// New returns a runtime for an engine. Nothing is asked until it is used.
func New(o Options) *Runtime {
	if o.Engine == "" {
		o.Engine = Docker
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Image == "" {
		o.Image = DefaultImage
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &Runtime{options: o, uid: firstUID + rand.IntN(manyUIDs)}
	r.engine = sync.OnceValues(func() (*engine, error) {
		e, err := connect(o)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.opened = e
		return e, err
	})
	r.lease = sync.OnceValues(func() (*lease, error) {
		l, err := takeLease(o.stateDir())
		r.mu.Lock()
		defer r.mu.Unlock()
		r.held = l
		return l, err
	})
	r.images.runtime, r.pool.runtime = r, r
	return r
}

// Name is the engine's.
func (r *Runtime) Name() string { return r.options.Engine }

// Start makes a box and starts the program in it.
func (r *Runtime) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	begun := time.Now()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.check(ctx, &spec); err != nil {
		return nil, err
	}
	plan, v, err := r.prepare(ctx, spec)
	if notFound(err) { // somebody removed images that we knew
		r.images.forget()
		plan, v, err = r.prepare(ctx, spec)
	}
	if err != nil {
		return nil, r.explain(err)
	}
	b := newBox(r, v, plan, begun)
	if err := b.start(ctx); err != nil {
		b.vessel.end()
		return nil, r.explain(err)
	}
	return b, nil
}

// prepare gives a container that waits for what a spec asks for.
func (r *Runtime) prepare(ctx context.Context, spec sandbox.Spec) (*plan, *vessel, error) {
	if r.Name() == Podman { // how its boxes are made depends on what it can
		if a := r.Probe(ctx); !a.OK {
			return nil, nil, worded(strings.TrimSuffix(a.Reason+"; "+a.Remedy, "; "))
		}
	}
	p, err := r.plan(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	v, err := r.pool.get(ctx, p.shape)
	if err != nil {
		p.close()
	}
	return p, v, err
}

// check refuses a spec that makes no sense or asks for more than is kept.
func (r *Runtime) check(ctx context.Context, spec *sandbox.Spec) error {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return errors.New("no command to run")
	}
	if spec.Dir != "" && !path.IsAbs(spec.Dir) {
		return fmt.Errorf("the working directory %q must be an absolute path", spec.Dir)
	}
	if spec.Network != sandbox.NetworkNone {
		return fmt.Errorf("the %s runtime gives no box a network", r.Name())
	}
	for _, l := range spec.Listeners {
		if _, ok := l.Serve.(listen.Func); l.Port < 1 || l.Port > 65535 || !ok {
			return fmt.Errorf("listener on port %d: needs a port from 1 to 65535 and a server", l.Port)
		}
	}
	if len(spec.Require) == 0 || spec.BestEffort {
		return nil
	}
	if missing := r.Probe(ctx).Report.Missing(spec.Require); len(missing) > 0 {
		var words []string
		for _, k := range missing {
			words = append(words, fmt.Sprintf("%s (%s: %s)", k.Promise, k.Strength, k.Mechanism))
		}
		return fmt.Errorf("this engine cannot enforce: %s; run with --best-effort to accept that", strings.Join(words, "; "))
	}
	return nil
}

// Close removes what is kept ready and waits until ended boxes are removed.
// Boxes that still run are not touched.
func (r *Runtime) Close() error {
	r.pool.close()
	r.endings.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held != nil {
		r.held.close()
	}
	if r.opened != nil {
		return r.opened.close()
	}
	return nil
}

// api is the engine's client.
func (r *Runtime) api() (*client.Client, error) {
	e, err := r.engine()
	if err != nil {
		return nil, err
	}
	return e.Client, nil
}
