package install

import (
	"context"
	"slices"

	"kintsugi/sandbox"
)

// Show lets the installer's boxes see these mounts too, such as the interpreter
// that the packages are for. undo takes that back.
func (in *Installer) Show(mounts []sandbox.Mount) (undo func()) {
	was := in.Runtime
	in.Runtime = showing{was, mounts}
	return func() { in.Runtime = was }
}

type showing struct {
	sandbox.Runtime
	mounts []sandbox.Mount
}

// Start implements sandbox.Runtime.
func (s showing) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	spec.Mounts = slices.Concat(spec.Mounts, s.mounts)
	return s.Runtime.Start(ctx, spec)
}
