package main

import (
	"context"

	"kintsugi/sandbox"
	"kintsugi/sandbox/bench"
	"kintsugi/sandbox/docker"
)

// engineBench measures the boxes of one engine.
type engineBench struct {
	name, image string
	spec        sandbox.Spec
	most        int // boxes at once
	open        []*docker.Runtime
}

// contestants are boxes made from nothing, and such that were made ready. The
// image is prepared before the first round.
func (e *engineBench) contestants(ctx context.Context) ([]bench.Contestant, error) {
	if e.image == "" {
		var err error
		if e.image, err = bench.LocalImage(ctx, e.name); err != nil {
			return nil, err
		}
	}
	cold, warm := e.runtime(0), e.runtime(e.most)
	list := []bench.Contestant{
		bench.Own("kintsugi "+e.name, cold, e.spec), bench.Warmed("  made ready "+e.name, warm, e.spec, warm.Warm),
	}
	for _, c := range list {
		if _, err := c.Run(ctx); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (e *engineBench) runtime(warm int) *docker.Runtime {
	rt := docker.New(docker.Options{Engine: e.name, Image: e.image, Warm: warm})
	e.open = append(e.open, rt)
	return rt
}

func (e *engineBench) close() {
	for _, rt := range e.open {
		_ = rt.Close()
	}
}
