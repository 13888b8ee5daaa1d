package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"kintsugi/sandbox"
	"kintsugi/sandbox/docker"
	"kintsugi/sandbox/namespace"
)

// runtimes lists what can make boxes, best first. One that this system lacks
// is listed all the same and says why. image is what the boxes of an engine
// see; empty: the usual one.
func runtimes(image string) []sandbox.Runtime {
	engine := func(name string) sandbox.Runtime {
		return docker.New(docker.Options{Engine: name, Image: image, Warm: 1, Progress: tellProgress})
	}
	return []sandbox.Runtime{namespace.New(namespace.Options{Warm: 1}), engine(docker.Docker), engine(docker.Podman)}
}

// tellProgress tells what takes long before there is a session to tell it.
func tellProgress(text string) { fmt.Fprintln(os.Stderr, "kintsugi:", text) }

// closeRuntime gives up what a runtime holds.
func closeRuntime(rt sandbox.Runtime) {
	if c, ok := rt.(io.Closer); ok {
		_ = c.Close()
	}
}

// chooseRuntime finds a runtime that works here and can show the image.
func chooseRuntime(ctx context.Context, name, image string) (sandbox.Runtime, error) {
	var why, names []string
	for _, rt := range runtimes(image) {
		names = append(names, rt.Name())
		if name != "auto" && name != rt.Name() {
			continue
		}
		a := sandbox.Availability{Reason: "it shows this machine, not an image; use --runtime docker or podman with --image"}
		if image == "" || rt.Name() != namespace.Name {
			a = rt.Probe(ctx)
		}
		if a.OK {
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
