//go:build !linux

package namespace

import (
	"context"
	"errors"

	"kintsugi/sandbox"
)

// Runtime is the embedded runtime, which this system cannot have.
type Runtime struct{}

// New returns a runtime that is never available.
func New(Options) *Runtime { return &Runtime{} }

const (
	reason = "name spaces are a feature of Linux"
	remedy = "use --runtime docker or --runtime wasm"
)

// Name is "namespace".
func (*Runtime) Name() string { return Name }

// Probe says that the runtime needs Linux.
func (*Runtime) Probe(context.Context) sandbox.Availability {
	return sandbox.Availability{Reason: reason, Remedy: remedy}
}

// Root is empty: there are no boxes.
func (*Runtime) Root() string { return "" }

// Start always fails.
func (*Runtime) Start(context.Context, sandbox.Spec) (sandbox.Box, error) {
	return nil, errors.New(reason + "; " + remedy)
}

// Prepare has nothing to do.
func (*Runtime) Prepare(*sandbox.Spec) {}

// Warm always fails.
func (*Runtime) Warm(*sandbox.Spec) error { return errors.New(reason + "; " + remedy) }

// Close has nothing to do.
func (*Runtime) Close() error { return nil }

// Reconcile has nothing to do.
func (*Runtime) Reconcile(context.Context) (sandbox.Reclaimed, error) {
	return sandbox.Reclaimed{}, nil
}
