package docker

import (
	"context"
	"sync"

	"kintsugi/sandbox"
)

// pool keeps containers ready, each for one use. It holds only what was asked
// for last: the next box is nearly always of the same kind.
type pool struct {
	runtime *Runtime

	mu      sync.Mutex
	last    shape
	ready   []*vessel
	failed  error // why the last one could not be made
	filling bool
	closed  bool
	filler  sync.WaitGroup
}

// get gives a container, a ready one if there is one.
func (p *pool) get(ctx context.Context, s shape) (*vessel, error) {
	if v := p.take(s); v != nil {
		return v, nil
	}
	return p.runtime.launch(ctx, s)
}

// take gives a ready container that still lives.
func (p *pool) take(s shape) *vessel {
	p.mu.Lock()
	var useless []*vessel
	if p.last.key != s.key {
		useless, p.ready, p.last = p.ready, nil, s
	}
	var found *vessel
	for len(p.ready) > 0 && found == nil {
		v := p.ready[0]
		p.ready = p.ready[1:]
		if v.session.IsClosed() {
			useless = append(useless, v)
			continue
		}
		found = v
	}
	p.mu.Unlock()
	for _, v := range useless {
		v.end()
	}
	return found
}

// Prepare has containers made ready, in the background, for boxes of the kind
// that was used last.
func (r *Runtime) Prepare(*sandbox.Spec) { r.pool.refill() }

// Warm does what Prepare does and returns when it is done.
func (r *Runtime) Warm() error {
	r.pool.refill()
	r.pool.filler.Wait()
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	return r.explain(r.pool.failed)
}

func (p *pool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.filling || p.last.key == "" || len(p.ready) >= p.runtime.options.Warm {
		return
	}
	p.filling = true
	s := p.last
	p.filler.Go(func() {
		for p.add(s) {
		}
	})
}

// add makes one, and says whether another is wanted.
func (p *pool) add(s shape) bool {
	v, err := p.runtime.launch(context.Background(), s)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = err
	if err != nil || p.closed || p.last.key != s.key {
		p.filling = false
		if err == nil {
			v.end()
		}
		return false
	}
	p.ready = append(p.ready, v)
	p.filling = len(p.ready) < p.runtime.options.Warm
	return p.filling
}

// close removes what is ready.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	ready := p.ready
	p.ready = nil
	p.mu.Unlock()
	for _, v := range ready {
		v.end()
	}
	p.filler.Wait()
}
