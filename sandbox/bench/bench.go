// Package bench measures how fast boxes start, next to every other sandbox
// found on the machine, in one interleaved run.
//
// What is measured is what a user feels: from the request to the first byte
// that the program prints, and to the end of the whole run. Contestants take
// turns, so that a busy moment of the machine hits all of them alike. What one
// leaves to clean up slows whoever comes next; so a turn ends when that is done
// as far as anybody can tell, a short rest follows, and each round has another
// order. Only ratios within one run mean anything.
package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Times are those of one run.
type Times struct {
	FirstByte time.Duration // request to the program's first byte of output
	Whole     time.Duration // request to the end of everything
}

// Contestant is one way to run a program.
type Contestant struct {
	Name string
	// Detail says how: a command line, or the promises that were on.
	Detail string
	// Run runs a program that prints one line.
	Run func(ctx context.Context) (Times, error)
	// Ready and Settle, when set, are called before and after each turn, outside
	// of the measured time: Settle returns when nothing of the turn is left.
	Ready  func() error
	Settle func()
}

// rest follows a turn, once for each run that was in it.
const rest = 2 * time.Millisecond

// Absent is a contestant that could not take part.
type Absent struct {
	Name, Why string
}

// Options size a run. Zero fields take the defaults.
type Options struct {
	Rounds     int           // runs of each at each level, in five turns at least; default 60
	Concurrent []int         // how many at once; default 1, 8, 32
	Limit      time.Duration // for the whole of a contestant's round; default 30 s
	Progress   func(done, total int)
}

func (o Options) withDefaults() Options {
	if o.Rounds <= 0 {
		o.Rounds = 60
	}
	if len(o.Concurrent) == 0 {
		o.Concurrent = []int{1, 8, 32}
	}
	if o.Limit <= 0 {
		o.Limit = 30 * time.Second
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	return o
}

// Row is what one contestant did at one level of concurrency.
type Row struct {
	Name       string `json:"name"`
	Concurrent int    `json:"concurrent"`
	Runs       int    `json:"runs"`
	FirstByte  Spread `json:"first_byte"`
	Whole      Spread `json:"whole"`
	// Error is what made the contestant give up.
	Error string `json:"error,omitempty"`
}

// Spread are percentiles, in milliseconds.
type Spread struct {
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
	P99 float64 `json:"p99_ms"`
}

// Result is a whole run.
type Result struct {
	Host   Host     `json:"host"`
	Rows   []Row    `json:"rows"`
	Absent []Absent `json:"absent,omitempty"`
}

// tally collects one contestant's times at one level.
type tally struct {
	mu    sync.Mutex
	times []Times
	err   error
}

// Run measures the contestants.
func Run(ctx context.Context, list []Contestant, o Options) (Result, error) {
	o = o.withDefaults()
	res := Result{Host: DescribeHost()}
	total, done := len(o.Concurrent)*o.Rounds, 0
	for _, n := range o.Concurrent {
		tallies := make([]tally, len(list))
		rounds := max(o.Rounds/n, minRounds)
		for round := range rounds {
			if err := ctx.Err(); err != nil {
				return res, err
			}
			for _, i := range order(round, len(list)) {
				tallies[i].round(ctx, list[i], n, o.Limit)
				if settle := list[i].Settle; settle != nil {
					settle()
				}
				time.Sleep(time.Duration(n) * rest)
			}
			done += o.Rounds / rounds
			o.Progress(min(done, total), total)
		}
		for i, c := range list {
			res.Rows = append(res.Rows, tallies[i].row(c.Name, n))
		}
	}
	return res, nil
}

// minRounds is how often each contestant has its turn at least.
const minRounds = 5

// order is in which order n contestants have their turns: the same in every
// run, another in every round.
func order(round, n int) []int {
	return rand.New(rand.NewPCG(1, uint64(round))).Perm(n)
}

// round runs a contestant n times at once. One that failed is not asked again.
func (t *tally) round(ctx context.Context, c Contestant, n int, limit time.Duration) {
	if t.err != nil {
		return
	}
	if c.Ready != nil {
		if t.err = c.Ready(); t.err != nil {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			times, err := c.Run(ctx)
			t.mu.Lock()
			defer t.mu.Unlock()
			if err != nil {
				t.err = err
				return
			}
			t.times = append(t.times, times)
		})
	}
	wg.Wait()
}

func (t *tally) row(name string, n int) Row {
	r := Row{Name: name, Concurrent: n, Runs: len(t.times)}
	if t.err != nil {
		r.Error = fmt.Sprint(t.err)
	}
	var first, whole []time.Duration
	for _, x := range t.times {
		first, whole = append(first, x.FirstByte), append(whole, x.Whole)
	}
	r.FirstByte, r.Whole = spread(first), spread(whole)
	return r
}

// spread gives percentiles by the nearest-rank method.
func spread(list []time.Duration) Spread {
	if len(list) == 0 {
		return Spread{}
	}
	slices.Sort(list)
	at := func(p float64) float64 {
		i := int(p*float64(len(list))+0.999999) - 1
		return float64(list[min(max(i, 0), len(list)-1)].Microseconds()) / 1000
	}
	return Spread{P50: at(0.50), P95: at(0.95), P99: at(0.99)}
}
