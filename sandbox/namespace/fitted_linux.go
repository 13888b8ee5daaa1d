package namespace

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// fitting is what boxes are made ready for. The plain one is for any program;
// others are for a spec whose command, environment and streams are still open,
// and such a box has everything but those.
type fitting struct {
	spec   sandbox.Spec
	limits sandbox.Limits
	seen   []os.FileInfo // the directories that the user may have replaced since
}

// fitting is what boxes are made ready for when a spec is expected, or nil when
// that has no use.
func (h *host) fitting(next *sandbox.Spec) *fitting {
	if next == nil {
		return nil
	}
	l := h.bounds(next.Limits)
	if !fits(next, l) || len(next.Listeners) > 0 || next.Capture != "" {
		return nil
	}
	f := &fitting{limits: l, spec: sandbox.Spec{
		Dir: next.Dir, Workspace: next.Workspace, Layers: slices.Clone(next.Layers), Mounts: slices.Clone(next.Mounts),
	}}
	f.spec.Workspace.Lower = slices.Clone(next.Workspace.Lower)
	var ok bool
	if f.seen, ok = f.look(); !ok {
		return nil
	}
	return f
}

// look finds what is now at the paths that are not ours; all but the working
// directory, which an earlier step may have made, must be there.
func (f *fitting) look() (seen []os.FileInfo, ok bool) {
	w := f.spec.Workspace
	source := cmp.Or(w.Source, w.Path)
	paths := []string{source}
	for _, m := range f.spec.Mounts {
		paths = append(paths, m.Source)
	}
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil && path != "" {
			return nil, false
		}
		seen = append(seen, st)
	}
	if below, err := filepath.Rel(w.Path, f.spec.Dir); err == nil && filepath.IsLocal(below) {
		st, _ := os.Stat(filepath.Join(source, below))
		seen = append(seen, st)
	}
	return seen, true
}

func sameFile(a, b os.FileInfo) bool {
	return a == nil && b == nil || a != nil && b != nil && os.SameFile(a, b)
}

// suits says whether a box of this fitting is what a spec asks for.
func (f *fitting) suits(spec *sandbox.Spec, l sandbox.Limits) bool {
	a, b := &f.spec, spec
	if l != f.limits || !fits(spec, l) || len(spec.Listeners) > 0 || spec.Capture != "" || a.Dir != b.Dir ||
		!sameWorkspace(&a.Workspace, &b.Workspace) || !slices.Equal(a.Layers, b.Layers) || !slices.Equal(a.Mounts, b.Mounts) {
		return false
	}
	now, ok := f.look()
	return ok && slices.EqualFunc(now, f.seen, sameFile)
}

// upper is the directory that its program will write to, if that is not the
// box's own.
func (f *fitting) upper() string { return f.spec.Workspace.Upper }

func sameWorkspace(a, b *sandbox.Workspace) bool {
	return a.Path == b.Path && a.Source == b.Source && a.Upper == b.Upper && a.Work == b.Work && slices.Equal(a.Lower, b.Lower)
}

// startFitted gives a box that was made for just this spec its command. It
// returns false when there is none, or when that died before it had its command:
// then nothing of the caller's has run.
func (b *box) startFitted(ctx context.Context) (bool, error) {
	if b.cradle = b.slots.pool.takeFitted(&b.spec, b.limits); b.cradle == nil {
		return false, nil
	}
	b.at("slot")
	b.at("lease")
	program := commandPlan(b.host, &b.spec, b.limits, b.slot)
	err := b.order(program, []int{b.in.theirs, b.out.theirs, b.errOut.theirs})
	if err == nil {
		b.works, b.disk = b.held, newDisk(&b.spec, b.limits)
		b.give()
		b.at("order")
		if err = b.await(ctx, b.awaited()); !errors.Is(err, errGone) {
			return true, err
		}
	}
	b.slots.pool.release(b.cradle)
	b.cradle, b.works = nil, nil
	b.close()
	return false, b.open()
}

// makeFitted makes a box up to the point where its command must be known.
func (p *pool) makeFitted(c *cradle) error {
	h, f := p.slots.host, c.fit
	v, err := h.view(&f.spec)
	if err != nil {
		return err
	}
	c.held = v.works()
	lease := h.lease(0).with(c.held)
	if err := c.slot.write(lease); err != nil {
		return err
	}
	p.slots.apart.await(overlaid(&f.spec))
	if err := makeWorks(c.held); err != nil {
		return err
	}
	if err := c.slot.group.limit(f.limits); err != nil {
		return err
	}
	noted := func() error {
		lease.Init = c.pid
		return c.slot.note(lease)
	}
	plan := func() *launch.Program { return fittedPlan(h, &f.spec, f.limits, v, c.slot) }
	return p.launch(c, v, plan, noted)
}
