package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kintsugi/sandbox"
)

// Nodes is a Runtime of several engines, one on each machine. What is done one
// after the other stays on one of them; what is done side by side takes them in
// turn (Beside).
//
// How an engine places containers within its own machines is its own business,
// and no schedule of ours stands beside it. A Swarm's tasks cannot be boxes,
// though: a manager offers no way to attach to a container of another node, and
// boxes have no network by which they could call back. So the machines of a
// Swarm are named like any others, each by its own context.
type Nodes struct {
	list  []*node
	turn  atomic.Int64
	home  *seat
	probe sync.Mutex

	mu       sync.Mutex
	first    *node           // the one whose image is everybody's
	complain map[string]bool // what was told already
}

// node is one engine.
type node struct {
	*Runtime
	label string
}

// NewNodes returns a runtime for the engines that names name: contexts of
// Docker's, or addresses as Options.Host has them. Nothing is asked until it is
// used.
func NewNodes(o Options, names []string) *Nodes {
	n := &Nodes{complain: map[string]bool{}}
	for _, name := range names {
		own := o
		own.Host = name
		n.list = append(n.list, &node{New(own), name})
	}
	n.home = &seat{nodes: n}
	return n
}

// Name is the engines'.
func (n *Nodes) Name() string { return n.list[0].Name() }

// Probe says that boxes can be made when one engine can make them, and promises
// what all of those keep. The reason names the others.
func (n *Nodes) Probe(ctx context.Context) sandbox.Availability {
	n.probe.Lock()
	defer n.probe.Unlock()
	answers := make([]sandbox.Availability, len(n.list))
	var all sync.WaitGroup
	for i, x := range n.list {
		all.Go(func() { answers[i] = x.Probe(ctx) })
	}
	all.Wait()
	var out sandbox.Availability
	var why []string
	for i, a := range answers {
		switch {
		case !a.OK:
			why = append(why, n.list[i].label+": "+a.Reason)
			out.Remedy = a.Remedy
		case !out.OK:
			out.OK, out.Report = true, a.Report
		default:
			out.Report = weaker(out.Report, a.Report)
		}
	}
	out.Reason = strings.Join(why, "; ")
	return out
}

// weaker keeps of each promise what is promised less.
func weaker(a, b sandbox.Report) sandbox.Report {
	order := []sandbox.Strength{sandbox.KernelEnforced, sandbox.Watched, sandbox.NotKept}
	out := slices.Clone(a)
	for i, k := range out {
		if other := b.Find(k.Promise); slices.Index(order, other.Strength) > slices.Index(order, k.Strength) {
			out[i] = other
		}
	}
	return out
}

// Start makes a box on the engine that does what is done one after the other.
func (n *Nodes) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	return n.home.Start(ctx, spec)
}

// Prepare has a box made ready there.
func (n *Nodes) Prepare(next *sandbox.Spec) { n.home.Prepare(next) }

// Root names the image that boxes see, which is the same on all engines.
func (n *Nodes) Root() string {
	if _, err := n.home.get(context.Background()); err != nil {
		return n.list[0].options.Image
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.first.Root()
}

// Beside gives a place for work that is done beside other work.
func (n *Nodes) Beside() sandbox.Runtime { return &seat{nodes: n} }

// Reconcile removes on all engines what a killed workbench left.
func (n *Nodes) Reconcile(ctx context.Context) (sandbox.Reclaimed, error) {
	var sum sandbox.Reclaimed
	var errs []error
	for _, x := range n.list {
		got, err := x.Reconcile(ctx)
		sum.Boxes += got.Boxes
		sum.Directories += got.Directories
		errs = append(errs, x.named(err))
	}
	return sum, errors.Join(errs...)
}

// Close closes all of them.
func (n *Nodes) Close() error {
	var errs []error
	for _, x := range n.list {
		errs = append(errs, x.named(x.Close()))
	}
	return errors.Join(errs...)
}

func (x *node) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("node %s: %w", x.label, err)
}

// next picks the next engine that can make boxes.
func (n *Nodes) next(ctx context.Context) (*node, error) {
	var why []string
	turn := int(n.turn.Add(1) - 1)
	for i := range n.list {
		x := n.list[(turn+i)%len(n.list)]
		err := n.usable(ctx, x)
		if err == nil {
			return x, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		why = append(why, x.named(err).Error())
		n.tell(why[len(why)-1])
	}
	return nil, errors.New(strings.Join(why, "; "))
}

// tell says once that an engine is left out.
func (n *Nodes) tell(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.complain[text] {
		n.complain[text] = true
		n.list[0].options.Progress("left out: " + text)
	}
}

// usable says why an engine cannot do what the others do.
func (n *Nodes) usable(ctx context.Context, x *node) error {
	if a := x.Probe(ctx); !a.OK {
		return errors.New(a.Reason)
	}
	if err := x.alive(ctx); err != nil {
		return err
	}
	own, err := x.images.layersOf(ctx)
	if err != nil {
		return x.explain(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.first == nil {
		n.first = x
		return nil
	}
	if theirs, err := n.first.images.layersOf(ctx); err == nil && !slices.Equal(own, theirs) {
		return fmt.Errorf("its image %s is not the one that %s has; fetch it anew on both, or name it by its digest", x.options.Image, n.first.label)
	}
	return nil
}

// alive asks whether the engine still answers.
func (r *Runtime) alive(ctx context.Context) error {
	api, err := r.api()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err = api.Ping(ctx); err != nil {
		return r.explain(err)
	}
	return nil
}

// seat makes boxes on one engine, which it chooses for its first box. When that
// engine is gone, the next box is made on another; what ran there is lost.
type seat struct {
	nodes *Nodes
	mu    sync.Mutex
	at    *node
}

func (s *seat) get(ctx context.Context) (*node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at != nil {
		return s.at, nil
	}
	var err error
	s.at, err = s.nodes.next(ctx)
	return s.at, err
}

// leave gives up an engine that is gone.
func (s *seat) leave(from *node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == from {
		s.at = nil
	}
}

func (s *seat) Name() string                                   { return s.nodes.Name() }
func (s *seat) Root() string                                   { return s.nodes.Root() }
func (s *seat) Probe(ctx context.Context) sandbox.Availability { return s.nodes.Probe(ctx) }
func (s *seat) Reconcile(ctx context.Context) (sandbox.Reclaimed, error) {
	return s.nodes.Reconcile(ctx)
}

func (s *seat) Prepare(next *sandbox.Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at != nil {
		s.at.Prepare(next)
	}
}

func (s *seat) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	x, err := s.get(ctx)
	if err != nil {
		return nil, err
	}
	b, err := x.Start(ctx, spec)
	if err == nil {
		return placed{b, x}, nil
	}
	// A box that never ran can be made elsewhere; its input was not read yet.
	if ctx.Err() == nil && len(s.nodes.list) > 1 && x.alive(ctx) != nil {
		s.leave(x)
		if x, err = s.get(ctx); err != nil {
			return nil, err
		}
		if b, err = x.Start(ctx, spec); err == nil {
			return placed{b, x}, nil
		}
	}
	return nil, x.named(err)
}

// placed is a box that says where it is when it is lost.
type placed struct {
	sandbox.Box
	at *node
}

func (p placed) Wait() (sandbox.Result, error) {
	r, err := p.Box.Wait()
	return r, p.at.named(err)
}
