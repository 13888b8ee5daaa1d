package bench

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"
)

// numbering gives each run of a container its own name in place of {id}.
func numbering(argv []string) func() []string {
	i := slices.Index(argv, "{id}")
	if i < 0 {
		return func() []string { return argv }
	}
	var serial atomic.Int64
	return func() []string {
		out := slices.Clone(argv)
		out[i] = fmt.Sprintf("kintsugi-bench-%d-%d", os.Getpid(), serial.Add(1))
		return out
	}
}
