package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kintsugi/agent/discover"
	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/sandbox"
)

// Asker puts a question to the user and waits. ok is false when nobody can
// answer.
type Asker func(ctx context.Context, q event.Ask) (choice string, ok bool)

// Config is what an Engine is made of.
type Config struct {
	Runtime sandbox.Runtime
	// Rules loads the rules; it is called when the first one is needed, since
	// most runs need none.
	Rules func() (*heal.Rules, error)
	// Names gives rules that know names and nothing else (heal.LoadNames),
	// which takes less time; nil: Rules does.
	Names     func() *heal.Rules
	Installer *install.Installer
	Log       event.Appender
	// SideDir holds the raw output that the log has no room for; empty: none.
	SideDir   string
	Workspace Workspace
	Project   Project
	Env       []string // of every box
	Limits    sandbox.Limits
	// Allowed are package names the user vouches for.
	Allowed []string
	// OnlyKnown leaves out names that only the list of well-known packages
	// vouches for.
	OnlyKnown bool
	Ask       Asker
	Attempts  int // at most this many per call; 0 means 8
	// Lanes is how many equally good remedies are tried side by side; below 2
	// they are tried one after the other.
	Lanes      int
	Now        func() time.Time
	Memory     *Memory // what worked before; nil: nothing is remembered
	BestEffort bool
	// Preflight looks at a program's imports before its first attempt.
	Preflight Preflight
	// IgnoreLock runs programs as if they had no lock.
	IgnoreLock bool
	// Ahead has a box made ready after each call, for the one that will follow;
	// Close gives up the last.
	Ahead bool
}

// Engine runs calls in boxes and heals what rules can. One call at a time.
type Engine struct {
	Config
	env   *environment
	facts *discover.Facts // nil until they are asked for
	// wishes numbers the remedies that somebody asked for.
	wishes int
	spare  Draft // begun for the next attempt; nil: none
	beside bool  // another engine uses the same boxes
	shows  bool  // boxes see the folder of program texts
}

// NewEngine makes an engine with an empty environment.
func NewEngine(c Config) *Engine {
	if c.Attempts == 0 {
		c.Attempts = 8
	}
	return &Engine{Config: c, env: newEnvironment(c.Limits)}
}

// run is the state of one call.
type run struct {
	call    Call
	argv    []string
	started time.Time
	stdin   *replay
	tried   map[string]bool // remedies, by signature
	healed  []mended
	failed  map[string]bool // failures that a remedy was tried for
	source  *source         // nil until it is needed
	consent bool            // a remedy was left out for want of an answer
	better  *heal.Diagnosis // what an installer said is wrong, which explains more
	denied  string          // why the last remedy was refused
	chose   string          // how a project is run, in words; "" for anything else
	file    string          // the program that runs, on the host; "" for a command
	locked  bool            // its packages were prepared from a lock

	compiled bool // a compiler turns the one file into the program
	ahead    bool // something was installed before the first attempt
}

type mended struct {
	failure heal.Diagnosis
	title   string
	took    time.Duration
}

// Do runs a call until it works or nothing more can be done. The error is
// Kintsugi's own failure, never the program's.
func (e *Engine) Do(ctx context.Context, c Call) (Outcome, error) {
	defer e.getReady()
	r, err := e.open(c)
	if err != nil {
		return Outcome{}, err
	}
	if r.stdin != nil {
		defer r.stdin.Close()
	}
	if err := e.prepare(ctx, r); errors.Is(err, errUnanswered) {
		return Outcome{Exit: 1, NeedsConsent: true}, nil
	} else if err != nil {
		return Outcome{}, err
	}
	e.recall(ctx, r)
	if err := e.preflight(ctx, r); err != nil {
		return Outcome{}, err
	}
	for n := 1; ; n++ {
		a, err := e.attempt(ctx, r, n)
		if err != nil {
			return Outcome{}, err
		}
		if a.ok() {
			return e.succeed(r, a)
		}
		d, err := e.diagnose(r, a)
		if err != nil {
			return Outcome{}, err
		}
		mend, err := e.next(ctx, r, a, d)
		if err != nil {
			return Outcome{}, err
		}
		if serr := a.end(!mend); serr != nil {
			return Outcome{}, serr
		}
		if !mend {
			if r.better != nil {
				d = *r.better
			}
			return e.outcome(r, a, &d), nil
		}
	}
}

// open resolves what to run and announces it.
func (e *Engine) open(c Call) (*run, error) {
	r := &run{call: c, started: e.Now(), tried: map[string]bool{}, failed: map[string]bool{}}
	if err := e.resolve(r); err != nil {
		return nil, err
	}
	if c.Stdin != nil {
		r.stdin = newReplay(c.Stdin)
	}
	r.file = e.programFile(r)
	body := event.Call{Step: c.Step, Tool: c.Tool, Argv: r.argv, Text: c.Code, Origin: c.Origin, File: e.ownFile(r)}
	if r.chose == "" {
		return r, e.log(body)
	}
	return r, e.log(body, event.Note{Step: c.Step, Level: "info", Text: r.chose})
}

// log appends, and makes a failing log an error of Kintsugi's own.
func (e *Engine) log(bodies ...event.Body) error {
	for _, b := range bodies {
		if _, err := e.Log.Append(b); err != nil {
			return fmt.Errorf("cannot write the session log: %w", err)
		}
	}
	return nil
}

// succeed keeps the attempt's changes and shows the seam.
func (e *Engine) succeed(r *run, a *attempt) (Outcome, error) {
	if err := a.end(true); err != nil {
		return Outcome{}, err
	}
	saved, err := a.draft.Commit()
	if err != nil {
		return Outcome{}, fmt.Errorf("cannot keep what the program wrote: %w", err)
	}
	if len(r.healed) > 0 {
		if err := e.log(r.seam(a.n)); err != nil {
			return Outcome{}, err
		}
	}
	if saved.ID != "" {
		point := event.Checkpoint{Step: r.call.Step, ID: saved.ID, Parent: saved.Parent, Changed: saved.Changed, Total: saved.Total}
		if err := e.log(append([]event.Body{point}, artefacts(r.call.Step, a.n, saved)...)...); err != nil {
			return Outcome{}, err
		}
	}
	if r.locked && len(r.healed) > 0 {
		note := event.Note{Step: r.call.Step, Level: "info", Text: "the lock does not have all that this program needs", Command: "kintsugi lock --write"}
		if err := e.log(note); err != nil {
			return Outcome{}, err
		}
	}
	e.remember(r)
	out := e.outcome(r, a, nil)
	out.OK, out.Changed = true, saved.Changed
	return out, nil
}

// seam tells the break, the mending and the retry in one line.
func (r *run) seam(n int) event.Seam {
	s := event.Seam{Step: r.call.Step, Attempt: n}
	for _, m := range r.healed {
		s.Failures = append(s.Failures, failureName(m.failure))
		s.Remedies = append(s.Remedies, m.title)
		s.Took += m.took
	}
	s.Text = fmt.Sprintf("%s: %s, worked on attempt %d", strings.Join(s.Failures, ", "), strings.Join(s.Remedies, ", "), n)
	return s
}

func failureName(d heal.Diagnosis) string {
	name := strings.ReplaceAll(d.Kind, "_", " ")
	if d.Subject != "" {
		name += " " + d.Subject
	}
	return name
}

func (e *Engine) outcome(r *run, a *attempt, d *heal.Diagnosis) Outcome {
	out := Outcome{
		Exit: a.result.ExitCode, Limit: string(a.result.Limit), Attempts: a.n, Diagnosis: d,
		Stdout: a.stdout.String(), Stderr: a.stderr.String(), Took: e.Now().Sub(r.started),
		NeedsConsent: d != nil && r.consent,
	}
	for _, m := range r.healed {
		out.Tried = append(out.Tried, m.title)
	}
	return out
}

// ErrNoCall is the error of a call that names nothing to run.
var ErrNoCall = errors.New("nothing to run")
