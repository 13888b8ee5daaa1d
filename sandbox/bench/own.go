package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"kintsugi/sandbox"
)

// Own is a runtime of ours as a contestant: a full box with a workspace
// overlay, all walls and the default limits.
func Own(name string, rt sandbox.Runtime, spec sandbox.Spec) Contestant {
	c := Contestant{Name: name, Detail: "all walls, workspace overlay, limits", Run: func(ctx context.Context) (Times, error) {
		return ownRun(ctx, rt, spec)
	}}
	if s, ok := rt.(interface{ Settle() }); ok {
		c.Settle = s.Settle
	}
	return c
}

// Warmed is Own with boxes that are made ready before each round by fill.
func Warmed(name string, rt sandbox.Runtime, spec sandbox.Spec, fill func() error) Contestant {
	c := Own(name, rt, spec)
	c.Detail += ", made ready beforehand"
	c.Ready = fill
	return c
}

func ownRun(ctx context.Context, rt sandbox.Runtime, spec sandbox.Spec) (Times, error) {
	start := time.Now()
	first := &firstByte{}
	spec.Stdout = first
	b, err := rt.Start(ctx, spec)
	if err != nil {
		return Times{}, err
	}
	res, err := b.Wait()
	end := time.Now()
	if err != nil {
		return Times{}, err
	}
	if res.ExitCode != 0 {
		return Times{}, errors.New("the program in the box failed")
	}
	return first.times(start, end)
}

// firstByte notes when the first byte came.
type firstByte struct {
	once sync.Once
	at   time.Time
}

func (f *firstByte) Write(p []byte) (int, error) {
	f.once.Do(func() { f.at = time.Now() })
	return len(p), nil
}

func (f *firstByte) times(start, end time.Time) (Times, error) {
	if f.at.IsZero() {
		return Times{}, errors.New("the program printed nothing")
	}
	return Times{FirstByte: f.at.Sub(start), Whole: end.Sub(start)}, nil
}
