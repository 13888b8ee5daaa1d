package namespace

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"kintsugi/sandbox"
)

// BenchmarkTrue runs /bin/true in cold boxes, warm boxes and bubblewrap, one
// after the other so that all meet the same machine, and reports the median
// and the 95th percentile of each in microseconds. A pool is full when its
// turn begins; filling it is not counted.
func BenchmarkTrue(b *testing.B) {
	project := b.TempDir()
	for _, at := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("at=%d", at), func(b *testing.B) {
			cold, warm := New(Options{}), New(Options{Warm: at})
			defer cold.Close()
			defer warm.Close()
			contenders := []contender{
				{name: "cold", run: inBox(b, cold, project)},
				{name: "warm", run: inBox(b, warm, project), before: func() { warm.Warm(nil) }},
				{name: "bwrap", run: inBubblewrap(b)},
			}
			compare(b, contenders, at)
		})
	}
}

func compare(b *testing.B, contenders []contender, at int) {
	times := make([][]time.Duration, len(contenders))
	for round := 0; b.Loop(); round++ {
		for n := range contenders {
			// Each follows each of the others in turn: what one leaves the kernel to
			// clean up slows the next.
			i := (n*(1+round%2) + round) % len(contenders)
			c := contenders[i]
			if c.before != nil {
				c.before()
			}
			if c.run != nil {
				times[i] = append(times[i], together(at, c.run)...)
			}
		}
	}
	for i, c := range contenders {
		if len(times[i]) > 0 {
			slices.Sort(times[i])
			b.ReportMetric(float64(times[i][len(times[i])/2].Microseconds()), c.name+"-p50-µs")
			b.ReportMetric(float64(times[i][len(times[i])*95/100].Microseconds()), c.name+"-p95-µs")
		}
	}
}

type contender struct {
	name   string
	run    func() // nil: not on this machine
	before func() // not counted
}

// together runs f n times at once and returns how long each took.
func together(n int, f func()) []time.Duration {
	out := make([]time.Duration, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			begun := time.Now()
			f()
			out[i] = time.Since(begun)
		})
	}
	group.Wait()
	return out
}

// inBox runs true with everything on: workspace, filter, limits.
func inBox(b *testing.B, r *Runtime, project string) func() {
	spec := sandbox.Spec{Argv: []string{"/bin/true"}, Env: sandbox.BaseEnv(os.Environ()), Dir: project, Workspace: sandbox.Workspace{Path: project}}
	return func() {
		box, err := r.Start(context.Background(), spec)
		if err != nil {
			b.Error(err)
			return
		}
		if result, err := box.Wait(); err != nil || result.ExitCode != 0 {
			b.Error(result, err)
		}
	}
}

func inBubblewrap(b *testing.B) func() {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		b.Log("bwrap is not installed; nothing to compare with")
		return nil
	}
	true, err := filepath.EvalSymlinks("/bin/true")
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		cmd := exec.Command(path, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", true)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Errorf("%v: %s", err, out)
		}
	}
}
