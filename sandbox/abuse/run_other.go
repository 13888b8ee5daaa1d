//go:build !linux

package abuse

import (
	"context"
	"errors"

	"kintsugi/sandbox/abuse/probe"
)

// plan has no content where no case can run.
type plan struct{ alone, last bool }

func plans() map[string]plan { return nil }

type baseline struct{}

func takeBaseline() baseline { return baseline{} }

func runID() string { return "" }

func (r *runner) try(context.Context, Case) (probe.Verdict, error) {
	return probe.Verdict{}, errors.New("needs Linux")
}

func (r *runner) firstBox(context.Context) error { return errors.New("needs Linux") }
