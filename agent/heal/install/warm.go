package install

import (
	"context"
	"fmt"
	"os"

	"kintsugi/sandbox/shelf"
)

// Warm installs into a place that is thrown away, so that what was fetched is
// in the cache and the same installation needs no network later. Tools that
// installations use are kept.
func (in *Installer) Warm(ctx context.Context, r Request) (Layer, error) {
	if err := os.MkdirAll(in.Store.Dir, 0o700); err != nil {
		return Layer{}, fmt.Errorf("cannot make room: %w", err)
	}
	dir, err := os.MkdirTemp(in.Store.Dir, shelf.Making)
	if err != nil {
		return Layer{}, fmt.Errorf("cannot make room: %w", err)
	}
	defer os.RemoveAll(dir)
	scratch := &Installer{
		Runtime: in.Runtime, Store: Store{Dir: dir}, Tools: in.tools(), Mirror: in.Mirror, FindLinks: in.FindLinks,
		WithoutUV: in.WithoutUV, Now: in.Now, Timeout: in.Timeout,
	}
	if r.Manager == "cargo" && r.Argv0 == "" {
		r.Argv0 = "rustc" // there is no project
	}
	if r.Manager == "maven" && r.Argv0 == "" {
		r.Argv0 = "java"
	}
	return scratch.Install(ctx, r)
}

// tools is the store of what installations themselves use.
func (in *Installer) tools() Store {
	if in.Tools.Dir == "" {
		return in.Store
	}
	return in.Tools
}
