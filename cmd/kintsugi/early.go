package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"kintsugi/sandbox/namespace"
)

// newEmbedded makes the embedded runtime with one box kept ready.
func newEmbedded() *namespace.Runtime { return namespace.New(namespace.Options{Warm: 1}) }

// earlyKey is under which a context holds a runtime that was begun early.
type earlyKey struct{}

// beginEarly has the box of a run made while the command line is still being
// read and the session is opened: the two take about as long. It does so only
// when nothing asks for another kind of box. done takes away what nobody used.
func beginEarly(ctx context.Context, args []string) (_ context.Context, done func()) {
	other := func(arg string) bool {
		return strings.HasPrefix(arg, "--runtime") || strings.HasPrefix(arg, "--image") || strings.HasPrefix(arg, "--nodes")
	}
	if len(args) < 2 || args[0] != "run" || os.Getenv(nodesEnv) != "" || slices.ContainsFunc(args, other) {
		return ctx, func() {}
	}
	rt := newEmbedded()
	rt.Prepare(nil)
	return context.WithValue(ctx, earlyKey{}, rt), func() { _ = rt.Close() }
}

// begunEarly says whether the first box is being made already.
func begunEarly(ctx context.Context) bool { return ctx.Value(earlyKey{}) != nil }

// embedded is the runtime that was begun early, or another.
func embedded(ctx context.Context) *namespace.Runtime {
	if rt, ok := ctx.Value(earlyKey{}).(*namespace.Runtime); ok {
		return rt
	}
	return newEmbedded()
}
