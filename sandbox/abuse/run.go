package abuse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
)

// Options say how to run the table. The zero value suits a workbench whose
// program answers to "__probe" with ProbeMain.
type Options struct {
	// Exe is the program that a box gets to run probes with: this one.
	Exe string
	// Lead are the arguments that make Exe call ProbeMain; "__probe" if nil.
	Lead []string
	// Victim is a command that calls VictimMain with the runtime under test.
	// The cases that kill a whole workbench need it.
	Victim []string
	// Only restricts the run to these numbers.
	Only []int
	// Parallel is how many harmless cases run at once; 0 means four.
	Parallel int
	// Home is the user's home, where secrets are planted.
	Home string
	// State are directories of the workbench that no box may see.
	State []string
	// Scratch is where projects for the boxes are made; the default is below
	// the system's directory for temporary files.
	Scratch string
	// Done is called after each case, from one goroutine at a time.
	Done func(Entry)
}

// ProbeMain is the hidden command that runs inside boxes: it runs the probe
// that args name and returns the exit code.
func ProbeMain(args []string) int { return probe.Main(args, os.Stdout) }

// Table lists what every case expects of a runtime, by the runtime's name,
// without trying anything. It works on every system.
func Table(name string) (Report, error) {
	if !slices.Contains(Runtimes(), name) {
		return Report{}, fmt.Errorf("no runtime %q; there are %s", name, strings.Join(Runtimes(), ", "))
	}
	cases, err := Cases()
	r := Report{Runtime: name, User: whoami()}
	for _, c := range cases {
		r.Entries = append(r.Entries, Entry{Number: c.Number, Chapter: c.Chapter, Title: c.Title, Expect: c.Expect[name],
			Outcome: Untried, Detail: c.Wall})
	}
	return r, err
}

// Run tries every case that concerns rt and returns what each came to. It
// needs a Linux host, because the boxes run this program.
func Run(ctx context.Context, rt sandbox.Runtime, o Options) (Report, error) {
	cases, err := Cases()
	if err != nil {
		return Report{}, err
	}
	if runtime.GOOS != "linux" {
		return Report{}, errors.New("the abuse matrix runs this program inside boxes and so needs Linux")
	}
	if o, err = o.withDefaults(); err != nil {
		return Report{}, err
	}
	if err := o.known(cases); err != nil {
		return Report{}, err
	}
	if a := rt.Probe(ctx); !a.OK {
		return Report{}, errors.New(rt.Name() + " cannot be used here: " + a.Reason)
	}
	r := &runner{rt: rt, opts: o, id: runID(), began: time.Now(), before: takeBaseline()}
	if err := r.firstBox(ctx); err != nil {
		return Report{}, err
	}
	return r.all(ctx, cases)
}

func (o Options) withDefaults() (Options, error) {
	var err error
	if o.Exe == "" {
		if o.Exe, err = os.Executable(); err != nil {
			return o, err
		}
	}
	if o.Lead == nil {
		o.Lead = []string{"__probe"}
	}
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir()
	}
	if o.Scratch == "" {
		o.Scratch = os.TempDir()
	}
	return o, nil
}

// known says which wanted number is no case.
func (o Options) known(cases []Case) error {
	for _, n := range o.Only {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Number == n }) {
			return fmt.Errorf("there is no case %d; the last is %d", n, cases[len(cases)-1].Number)
		}
	}
	return nil
}

// runner runs the table once.
type runner struct {
	rt    sandbox.Runtime
	opts  Options
	id    string // marks everything that this run makes
	began time.Time
	// before is what the host had when the run began.
	before baseline

	mu      sync.Mutex
	entries []Entry
}

// all runs first what can run side by side, then what needs the machine.
func (r *runner) all(ctx context.Context, cases []Case) (Report, error) {
	var alone, last []Case
	gate := make(chan struct{}, r.opts.Parallel)
	var wg sync.WaitGroup
	for _, c := range cases {
		p, known := plans()[c.Probe]
		switch {
		case len(r.opts.Only) > 0 && !slices.Contains(r.opts.Only, c.Number):
			continue
		case known && p.last:
			last = append(last, c)
			continue
		case known && p.alone:
			alone = append(alone, c)
			continue
		}
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			r.one(ctx, c)
		})
	}
	wg.Wait()
	for _, c := range append(alone, last...) {
		r.one(ctx, c)
	}
	return r.report(), ctx.Err()
}

func (r *runner) report() Report {
	slices.SortFunc(r.entries, func(a, b Entry) int { return a.Number - b.Number })
	return Report{Runtime: r.rt.Name(), User: whoami(), Entries: r.entries, Milliseconds: time.Since(r.began).Milliseconds()}
}

func whoami() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

// one runs one case and keeps its entry.
func (r *runner) one(ctx context.Context, c Case) {
	began := time.Now()
	e := Entry{Number: c.Number, Chapter: c.Chapter, Title: c.Title, Expect: r.expectation(c)}
	e.Outcome, e.Detail = r.decide(ctx, c, e.Expect)
	e.Milliseconds = time.Since(began).Milliseconds()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	if r.opts.Done != nil {
		r.opts.Done(e)
	}
}

// expectation is what the case says about this runtime. A runtime that the
// table does not know must hold every case that has a probe.
func (r *runner) expectation(c Case) Expectation {
	if e, known := c.Expect[r.rt.Name()]; known {
		return e
	}
	if c.Probe == "" {
		return Expectation{Kind: NotApplicable, Note: "the table says nothing about this runtime"}
	}
	return Expectation{Kind: Holds}
}

func (r *runner) decide(ctx context.Context, c Case, e Expectation) (Outcome, string) {
	switch e.Kind {
	case NotApplicable:
		return None, e.Note
	case Elsewhere:
		return Proven, e.Note
	case Later:
		return Pending, e.Note
	}
	if err := ctx.Err(); err != nil {
		return Undecided, err.Error()
	}
	v, err := r.try(ctx, c)
	var absent notHere
	if errors.As(err, &absent) {
		return None, string(absent)
	}
	if err != nil {
		return Undecided, err.Error()
	}
	switch {
	case v.Verdict == probe.Breach:
		return r.breached(ctx, c, v.Detail)
	case v.Verdict != probe.Held:
		return Undecided, v.Detail
	case e.Kind == Shared:
		return ByDesign, e.Note + " (" + v.Detail + ")"
	}
	return Held, v.Detail
}

// breached says what a breach is: one, or what the runtime declares itself.
func (r *runner) breached(ctx context.Context, c Case, detail string) (Outcome, string) {
	if c.Promise == "" {
		return Breach, detail
	}
	kept := r.rt.Probe(ctx).Report.Find(c.Promise)
	switch {
	case kept.Strength == sandbox.Watched:
		return Declared, fmt.Sprintf("%s is only watched here (%s): %s", c.Promise, kept.Mechanism, detail)
	case kept.Strength == sandbox.NotKept && kept.Mechanism != "":
		return Declared, fmt.Sprintf("%s: not kept here (%s): %s", c.Promise, kept.Mechanism, detail)
	}
	return Breach, detail
}

// notHere says why a case has nothing to try on this machine or for this user.
type notHere string

func (n notHere) Error() string { return string(n) }
