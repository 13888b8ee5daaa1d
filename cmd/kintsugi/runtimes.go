package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"strings"

	"kintsugi/cmd/kintsugi/early"
	"kintsugi/sandbox"
	"kintsugi/sandbox/docker"
	"kintsugi/sandbox/image"
	"kintsugi/sandbox/namespace"
)

// engines are the engines that share the work, as the user names them.
func (o *boxOptions) engines() []string {
	if len(o.nodes) > 0 || o.runtime == namespace.Name {
		return o.nodes
	}
	return strings.FieldsFunc(os.Getenv(early.NodesEnv), func(c rune) bool { return c == ',' || c == ' ' })
}

// runtimes lists what can make boxes, best first. One that this system lacks
// is listed all the same and says why. Engines that share the work are Docker's
// unless Podman is asked for.
func runtimes(o boxOptions) []sandbox.Runtime {
	engine := func(name string) sandbox.Runtime {
		options := docker.Options{Engine: name, Image: o.image, Warm: 1, Progress: tellProgress}
		nodes := o.engines()
		if len(nodes) == 0 || (name == docker.Podman) != (o.runtime == docker.Podman) {
			return docker.New(options)
		}
		return docker.NewNodes(options, nodes)
	}
	return []sandbox.Runtime{embedded(), engine(docker.Docker), engine(docker.Podman)}
}

// embedded is the runtime that was begun early, or a new one.
func embedded() sandbox.Runtime {
	if rt := early.Begun(); rt != nil {
		return rt
	}
	return early.New()
}

// tellProgress tells what takes long before there is a session to tell it.
func tellProgress(text string) { fmt.Fprintln(os.Stderr, "kintsugi:", text) }

// closeRuntime gives up what a runtime holds.
func closeRuntime(rt sandbox.Runtime) {
	if c, ok := rt.(io.Closer); ok {
		_ = c.Close()
	}
}

// imageRuntime makes boxes of name spaces that see an image, fetching it when
// it is not on this machine.
func imageRuntime(ctx context.Context, ref string, offline bool) (sandbox.Runtime, error) {
	p, err := findPlaces()
	if err != nil {
		return nil, err
	}
	store := &image.Store{Dir: p.images, Offline: offline, Progress: tellProgress}
	root, err := store.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	return imageBoxes{namespace.New(namespace.Options{Root: root.Tree, RootName: root.Digest, RootEnv: root.Env, Warm: 1}), root}, nil
}

// imageBoxes keeps an image from being removed while there may be boxes of it.
type imageBoxes struct {
	*namespace.Runtime
	root image.Root
}

// Close ends what the boxes have in common, and lets go of the image.
func (b imageBoxes) Close() error {
	defer b.root.Close()
	return b.Runtime.Close()
}

// chooseRuntime finds a runtime that works here.
func chooseRuntime(ctx context.Context, o boxOptions) (sandbox.Runtime, error) {
	name, image, nodes := cmp.Or(o.runtime, "auto"), o.image, o.engines()
	switch {
	case len(nodes) > 0 && name == namespace.Name:
		return nil, errors.New("--nodes names engines; use --runtime docker or podman with it")
	case len(nodes) > 0 && name == "auto":
		name = docker.Docker
	}
	var why, names []string
	for _, rt := range runtimes(o) {
		names = append(names, rt.Name())
		if name != "auto" && name != rt.Name() {
			continue
		}
		a := rt.Probe(ctx)
		if a.OK && rt.Name() == namespace.Name && image != "" {
			closeRuntime(rt)
			return imageRuntime(ctx, image, o.offline)
		}
		if a.OK {
			if len(why) > 0 && goruntime.GOOS == "linux" {
				tellProgress(rt.Name() + " makes the boxes, since others do not work here (" + strings.Join(why, "; ") + ")")
			}
			return rt, nil
		}
		closeRuntime(rt)
		if name == rt.Name() {
			return nil, unavailable(name, a)
		}
		why = append(why, rt.Name()+": "+a.Reason)
	}
	if name != "auto" {
		return nil, fmt.Errorf("--runtime %s: there is no such runtime; use auto, %s", name, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("no way to make a sandbox works here (%s); see: kintsugi doctor", strings.Join(why, "; "))
}

func unavailable(name string, a sandbox.Availability) error {
	if a.Remedy == "" {
		return fmt.Errorf("--runtime %s: %s", name, a.Reason)
	}
	return fmt.Errorf("--runtime %s: %s; to make it available: %s", name, a.Reason, a.Remedy)
}
