package namespace

import (
	"context"
	"slices"
	"strings"
	"sync"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// pool keeps warm boxes: those that are for any program have their name spaces
// and their root, fitted ones everything but their command. Nothing is ever put
// back.
type pool struct {
	runtime *Runtime
	slots   *slots
	size    int
	plain   *fitting

	mu      sync.Mutex
	changed *sync.Cond // when any of the following changed
	wanted  *fitting   // what boxes are made ready for: plain, or what is expected
	ready   []*cradle
	making  *fitting // what a box is being made for; nil: none is
	filling bool     // somebody fills the pool
	awaited bool     // somebody waits for the box that is being made
	closed  bool
	failed  error // why the last box could not be made
}

func newPool(r *Runtime, s *slots) *pool {
	p := &pool{runtime: r, slots: s, size: r.options.Warm, plain: &fitting{}}
	p.wanted = p.plain
	p.changed = sync.NewCond(&p.mu)
	return p
}

// takePlain returns a box that is for any program, or nil when there is none.
func (p *pool) takePlain() *cradle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take(p.plain)
}

// takeFitted returns a box that has everything but its command, or nil. No
// other box is left with the directory that the caller will write to.
func (p *pool) takeFitted(spec *sandbox.Spec, l sandbox.Limits) (c *cradle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.wanted
	if f == p.plain {
		return nil
	}
	if f.suits(spec, l) {
		c = p.take(f)
	}
	if f.upper() != "" && f.upper() == spec.Workspace.Upper {
		p.wanted = p.plain
		for p.making == f {
			p.changed.Wait()
		}
		p.tidy()
	}
	return c
}

// take returns a box of a fitting, or nil. One caller at a time waits for a box
// that is being made: it is ready sooner than one that is begun now.
func (p *pool) take(f *fitting) *cradle {
	of := func(c *cradle) bool { return c.fit == f }
	if p.making == f && !p.awaited {
		p.awaited = true
		for p.making == f && !slices.ContainsFunc(p.ready, of) {
			p.changed.Wait()
		}
		p.awaited = false
	}
	at := slices.IndexFunc(p.ready, of)
	if at < 0 {
		return nil
	}
	c := p.ready[at]
	p.ready = slices.Delete(p.ready, at, at+1)
	return c
}

// prepare has the pool filled with boxes of a fitting while the caller goes on.
func (p *pool) prepare(f *fitting) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.want(f)
}

// want says what boxes are made ready for, nil: for any program, and starts
// filling unless that goes on already.
func (p *pool) want(f *fitting) {
	switch {
	case f == nil && p.wanted != p.plain:
		p.wanted, p.failed = p.plain, nil
	case f != nil && (p.wanted == p.plain || !p.wanted.suits(&f.spec, f.limits)):
		p.wanted, p.failed = f, nil
	}
	if p.filling || p.closed || p.size == 0 {
		return
	}
	p.filling = true
	p.next()
	go p.fill()
}

// next decides what to make. A box that could not be made is not tried again.
func (p *pool) next() {
	p.making = nil
	n := 0
	for _, c := range p.ready {
		if c.fit == p.wanted {
			n++
		}
	}
	if n < p.size && (n == 0 || p.wanted.upper() == "") && !p.closed && p.failed == nil {
		p.making = p.wanted
	}
}

// fill makes boxes one after another until there are enough.
func (p *pool) fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.making != nil; p.next() {
		p.tidy()
		f := p.making
		p.mu.Unlock()
		c, err := p.make(f)
		p.mu.Lock()
		if err != nil && p.wanted == f {
			p.failed = err
		} else if err == nil {
			p.ready = append(p.ready, c)
		}
		p.changed.Broadcast()
	}
	p.tidy()
	p.filling = false
	p.changed.Broadcast()
}

// tidy ends the boxes that are not wanted any more. It lets go of the lock.
func (p *pool) tidy() {
	var stale []*cradle
	p.ready = slices.DeleteFunc(p.ready, func(c *cradle) bool {
		if c.fit == p.wanted {
			return false
		}
		stale = append(stale, c)
		return true
	})
	p.mu.Unlock()
	for _, c := range stale {
		p.release(c)
	}
	p.mu.Lock()
}

// wait fills the pool with boxes of a fitting and returns when it is full or
// cannot be filled, or when others are wanted meanwhile.
func (p *pool) wait(f *fitting) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.want(f)
	mine := p.wanted
	for p.filling {
		p.changed.Wait()
	}
	if p.wanted != mine {
		return nil
	}
	return p.failed
}

// make makes one warm box.
func (p *pool) make(f *fitting) (*cradle, error) {
	place, err := p.slots.get(sandbox.NetworkNone)
	if err != nil {
		return nil, err
	}
	c, err := newCradle(place)
	if err != nil {
		p.slots.put(place)
		return nil, err
	}
	c.fit = f
	if f == p.plain {
		err = p.makePlain(c)
	} else {
		err = p.makeFitted(c)
	}
	if err != nil {
		p.release(c)
		return nil, err
	}
	return c, nil
}

// makePlain makes a box up to the point where its program must be known.
func (p *pool) makePlain(c *cradle) error {
	h := p.slots.host
	v, err := h.view(&sandbox.Spec{})
	if err != nil {
		return err
	}
	plan := func() *launch.Program { return warmPlan(h, v, c.slot) }
	return p.launch(c, v, plan, func() error { return c.slot.write(h.lease(c.pid)) })
}

// launch has a box made and waits for it to be ready.
func (p *pool) launch(c *cradle, v *view, plan func() *launch.Program, born func() error) error {
	null, err := p.runtime.null()
	if err != nil {
		return err
	}
	var open sources
	defer open.close()
	if p.slots.host.privileged {
		open.slot = c.slot
		if err := open.open(v.parts); err != nil {
			return err
		}
	}
	if err := c.launch(plan(), [3]int{null, null, null}, open.fds...); err != nil {
		return err
	}
	return c.await(context.Background(), awaiting{kind: reportReady, born: born})
}

func (p *pool) release(c *cradle) {
	c.discard()
	clearWorks(c.held)
	c.slot.clear()
	p.slots.put(c.slot)
}

// close ends the boxes that nobody took.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for p.filling {
		p.changed.Wait()
	}
	p.wanted = &fitting{} // nothing is of it
	p.tidy()
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
	if b.cradle = b.slots.pool.takePlain(); b.cradle == nil {
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
