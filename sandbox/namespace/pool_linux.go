package namespace

import (
	"context"
	"slices"
	"strings"
	"sync"

	"kintsugi/sandbox"
)

// pool keeps warm boxes: each has its name spaces and its root and waits for
// the one program it will run. Nothing is ever put back.
type pool struct {
	runtime *Runtime
	slots   *slots
	size    int

	mu      sync.Mutex
	changed *sync.Cond // when ready, busy or closed changed
	ready   []*cradle
	busy    bool // somebody fills the pool
	awaited bool // somebody waits for the box that is being made
	closed  bool
	failed  error
}

func newPool(r *Runtime, s *slots) *pool {
	p := &pool{runtime: r, slots: s, size: r.options.Warm}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// take returns a warm box, or nil when there is none. One caller at a time
// waits for a box that is being made: it is ready sooner than one that is begun
// now.
func (p *pool) take() *cradle {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy && !p.awaited {
		p.awaited = true
		for p.busy && len(p.ready) == 0 {
			p.changed.Wait()
		}
		p.awaited = false
	}
	n := len(p.ready)
	if n == 0 {
		return nil
	}
	c := p.ready[n-1]
	p.ready = p.ready[:n-1]
	return c
}

// prepare has the pool filled while the caller goes on.
func (p *pool) prepare() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fillSoon()
}

// fillSoon starts filling unless that goes on already. A pool that could not
// be filled stays as it is. The caller holds the lock.
func (p *pool) fillSoon() {
	if p.busy || p.closed || p.size == 0 || p.failed != nil {
		return
	}
	p.busy = true
	go p.fill()
}

// fill makes boxes one after another until there are enough.
func (p *pool) fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.ready) < p.size && !p.closed && p.failed == nil {
		p.mu.Unlock()
		c, err := p.make()
		p.mu.Lock()
		if err != nil {
			p.failed = err
		} else {
			p.ready = append(p.ready, c)
			p.changed.Broadcast()
		}
	}
	p.busy = false
	p.changed.Broadcast()
}

// wait returns when the pool is full or cannot be filled.
func (p *pool) wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fillSoon()
	for p.busy {
		p.changed.Wait()
	}
	return p.failed
}

// make makes one warm box.
func (p *pool) make() (*cradle, error) {
	place, err := p.slots.get(sandbox.NetworkNone)
	if err != nil {
		return nil, err
	}
	c, err := newCradle(place)
	if err != nil {
		p.slots.put(place)
		return nil, err
	}
	if err := p.warm(c); err != nil {
		p.release(c)
		return nil, err
	}
	return c, nil
}

func (p *pool) warm(c *cradle) error {
	h := p.slots.host
	v, err := h.view(&sandbox.Spec{})
	if err != nil {
		return err
	}
	null, err := p.runtime.null()
	if err != nil {
		return err
	}
	var open sources
	defer open.close()
	if h.privileged {
		open.slot = c.slot
		if err := open.open(v.parts); err != nil {
			return err
		}
	}
	if err := c.launch(warmPlan(h, v, c.slot), [3]int{null, null, null}, open.fds...); err != nil {
		return err
	}
	noted := func() error { return c.slot.write(p.slots.host.lease(c.pid)) }
	return c.await(context.Background(), awaiting{kind: reportReady, born: noted})
}

func (p *pool) release(c *cradle) {
	c.discard()
	c.slot.clear()
	p.slots.put(c.slot)
}

// close ends the boxes that nobody took.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for p.busy {
		p.changed.Wait()
	}
	ready := p.ready
	p.ready = nil
	p.mu.Unlock()
	for _, c := range ready {
		p.release(c)
	}
}

// fits says whether a warm box can become what the spec asks for.
func fits(spec *sandbox.Spec, l sandbox.Limits) bool {
	return spec.Network == sandbox.NetworkNone && l.CPUs <= 0
}

// startWarm turns a warm box into this one. It returns false when there is
// none that can be, and then nothing of the caller's has run.
func (b *box) startWarm(ctx context.Context, v *view) (bool, error) {
	if !fits(&b.spec, b.limits) {
		return false, nil
	}
	if b.cradle = b.slots.pool.take(); b.cradle == nil {
		return false, nil
	}
	b.at("slot")
	more := v.beyond(b.slots.common)
	if err := b.occupy(more); err != nil {
		return true, err
	}
	b.at("lease")
	program := orderPlan(b.host, &b.spec, b.limits, more, v.parts, b.slot)
	if err := b.order(program, append([]int{b.in.theirs, b.out.theirs, b.errOut.theirs}, b.sources.fds...)); err != nil {
		b.sources.close()
		b.slots.pool.release(b.cradle)
		b.cradle = nil
		return false, nil
	}
	b.give()
	b.at("order")
	return true, b.await(ctx, b.awaited())
}

// beyond lists the parts of a view that boxes in general do not have, and
// those that lie below one of them.
func (v *view) beyond(common []part) []part {
	var out []part
	for _, p := range v.parts {
		known := slices.ContainsFunc(common, func(c part) bool { return same(&p, &c) })
		hidden := slices.ContainsFunc(out, func(o part) bool { return strings.HasPrefix(p.target, o.target+"/") })
		if !known || hidden {
			out = append(out, p)
		}
	}
	return out
}

func same(a, b *part) bool {
	return a.target == b.target && a.source == b.source && a.tmpfs == b.tmpfs && a.upper == b.upper &&
		a.scratchNumber == b.scratchNumber && slices.EqualFunc(a.lower, b.lower, func(x, y tree) bool { return x.path == y.path })
}
