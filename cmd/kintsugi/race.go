package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/agent/model"
	"kintsugi/agent/race"
	"kintsugi/agent/tool"
	"kintsugi/sandbox/inert"
)

// raceOptions are the flags of kintsugi race.
type raceOptions struct {
	box      boxOptions
	models   []string
	variants []string
	steps    int
	atOnce   int
	check    string
	keep     string
	json     bool
}

func newRace() *cobra.Command {
	var o raceOptions
	cmd := &cobra.Command{
		Use:   "race TASK...",
		Short: "Let several models or variants do one task side by side, and keep one",
		Long: `Lets independent agents do the same task, each in a fork of the same state of
your project: one for each model, and for each variant. They are compared by
result, attempts, seams, time and tokens, and you pick the one to keep; its
changes then wait for kintsugi diff and kintsugi apply.

Where agents shall run at the same time depends on what the model server can
hold: --at-once.`,
		Example: `  kintsugi race "write a faster sort into sort.py" --models qwen3:4b,lfm2.5:1.2b --check "python3 test_sort.py"
  kintsugi race "draw sales.csv" --variant "with matplotlib" --variant "as plain SVG"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), strings.Join(args, " "), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	o.box.flags(cmd)
	f.Lookup("timeout").Usage = "stop each agent after this time (default 20m)"
	f.StringSliceVar(&o.models, "models", nil, "the models, separated by commas (default: the best one here)")
	f.StringArrayVar(&o.variants, "variant", nil, "a further agent that is told to do it this way; repeat it")
	f.IntVar(&o.steps, "max-steps", 0, "stop each agent after so many turns (default 24)")
	f.IntVar(&o.atOnce, "at-once", 2, "how many agents work at the same time")
	f.StringVar(&o.check, "check", "", "a shell command that tells, in each agent's box, whether the task is done")
	f.StringVar(&o.keep, "keep", "", "what to keep: a number, best or none (default: ask on a terminal, else none)")
	f.BoolVar(&o.json, "json", false, "print the outcomes as JSON")
	return cmd
}

// run is kintsugi race.
func (o raceOptions) run(ctx context.Context, text string, out io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := o.validate(text); err != nil {
		return err
	}
	entrants, err := o.entrants(ctx, text)
	if err != nil {
		return err
	}
	box := o.box
	box.timeout = 0
	s, err := openSession(ctx, sessionOptions{box: box, title: "race: " + oneLine(text)})
	if err != nil {
		return err
	}
	defer s.Close()
	s.log.watch(func(event.Event) {})
	if err := s.useEnvironment(ctx, o.box.environment); err != nil {
		return errors.Join(s.end(exitOwn, err.Error()), exitError{exitOwn, err})
	}
	if _, err := s.log.Append(event.Task{Text: text}); err != nil {
		return err
	}
	list, err := o.race(ctx, s, entrants)
	if err != nil {
		return errors.Join(s.end(exitOwn, err.Error()), exitError{exitOwn, err})
	}
	if err := o.print(out, list); err != nil {
		return err
	}
	return o.finish(s, list)
}

func (o raceOptions) validate(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New(`nothing to do: name a task, as in: kintsugi race "sort names.txt" --models a,b`)
	case o.atOnce < 1:
		return fmt.Errorf("--at-once %d: want at least 1", o.atOnce)
	case len(o.models)+len(o.variants) < 2:
		return errors.New("a race needs two agents or more: name --models a,b or several --variant")
	case o.keep != "" && o.keep != "best" && o.keep != "none":
		if n, err := strconv.Atoi(o.keep); err != nil || n < 1 {
			return fmt.Errorf("--keep %s: want a number, best or none", o.keep)
		}
	}
	return nil
}

// entrant is an agent to be.
type entrant struct {
	name, model, task string
	provider          model.Provider
}

// entrants are one for each model and variant.
func (o raceOptions) entrants(ctx context.Context, text string) ([]entrant, error) {
	models := o.models
	if len(models) == 0 {
		models = []string{""}
	}
	variants := o.variants
	if len(variants) == 0 {
		variants = []string{""}
	}
	var out []entrant
	for _, want := range models {
		p, name, err := onTerminal().model(ctx, want)
		if err != nil {
			return nil, exitError{exitOwn, err}
		}
		for _, v := range variants {
			e := entrant{name: name, model: name, provider: p, task: text}
			if v != "" {
				e.name, e.task = name+", "+v, text+"\n\nDo it this way: "+v
			}
			out = append(out, e)
		}
	}
	return out, nil
}

// race runs the agents, each with a log, a folder and a fork of its own.
func (o raceOptions) race(ctx context.Context, s *session, entrants []entrant) ([]race.Outcome, error) {
	var lanes []race.Lane
	for i, e := range entrants {
		l, closeLane, err := o.lane(s, e, i+1)
		if err != nil {
			return nil, err
		}
		defer closeLane()
		lanes = append(lanes, l)
	}
	board := newScoreboard(os.Stderr, len(lanes))
	return s.runLanes(ctx, lanes, o.atOnce, board.done)
}

// runLanes runs a race as a step of the session, whose log tells of each lane
// as it begins and ends.
func (s *session) runLanes(ctx context.Context, lanes []race.Lane, atOnce int, done func(race.Outcome)) ([]race.Outcome, error) {
	step := s.nextStep()
	var names []string
	for i := range lanes {
		l := &lanes[i]
		names = append(names, l.Name)
		l.Began = func() {
			s.logLane(event.Lane{Step: step, Lane: i + 1, Name: l.Name, State: event.LaneRunning})
		}
	}
	for _, b := range []event.Body{event.StepStart{Step: step}, event.Call{Step: step, Tool: "race", Text: strings.Join(names, "\n"), Origin: "user"}} {
		if _, err := s.log.Append(b); err != nil {
			return nil, err
		}
	}
	list := race.Run(ctx, lanes, atOnce, func(o race.Outcome) {
		s.logLane(laneOf(step, o))
		done(o)
	})
	_, err := s.log.Append(event.StepEnd{Step: step, OK: race.Best(list) > 0})
	return list, err
}

// logLane tells how a lane fares; that the log cannot take it is noticed when
// the step ends.
func (s *session) logLane(l event.Lane) { _, _ = s.log.Append(l) }

func laneOf(step int, o race.Outcome) event.Lane {
	l := event.Lane{
		Step: step, Lane: o.Lane, Name: o.Name, State: event.LaneFailed, Text: outcomeWord(o),
		Steps: o.Steps, Attempts: o.Attempts, Seams: o.Seams, Tokens: o.Tokens,
	}
	if o.Solved && (o.Passed == nil || *o.Passed) {
		l.State = event.LaneWorked
	}
	return l
}

func (o raceOptions) lane(s *session, e entrant, n int) (race.Lane, func(), error) {
	dir := filepath.Join(s.dir, "lanes", strconv.Itoa(n))
	log, err := event.Create(dir, nil)
	if err != nil {
		return race.Lane{}, nil, err
	}
	about := s.about
	about.Title = e.name
	tree, err := s.store.tree.Fork()
	if err == nil {
		_, err = log.Append(about)
	}
	if err != nil {
		log.Close()
		return race.Lane{}, nil, err
	}
	engine := s.engine.Fork(agent.Fork{Log: log, SideDir: filepath.Join(dir, "output"), Workspace: tree})
	loop := &agent.Loop{
		Engine: engine, Model: e.provider, Name: e.model, Log: log, Desk: tool.Desk{Files: tree, Root: s.project.Path},
		Saved: tree.Saved, Request: engine.Request, Budget: agent.Budget{Steps: o.steps, Time: max(o.box.timeout, 0)},
		Discover: func(ctx context.Context) (string, error) {
			facts, err := engine.Discover(ctx)
			return facts.String(), err
		},
	}
	l := race.Lane{
		Name: e.name, Task: e.task, Loop: loop, Head: tree.Head,
		Events: func() ([]event.Event, error) { return event.ReadFile(event.Path(dir)) },
	}
	if o.check != "" {
		l.Check = func(ctx context.Context) (bool, error) {
			out, err := engine.Do(ctx, agent.Call{Tool: "check", Origin: "user", Argv: []string{"/bin/sh", "-c", o.check}})
			return out.OK, err
		}
	}
	return l, func() { _ = log.Close() }, nil
}

// scoreboard tells as each agent ends.
type scoreboard struct {
	out io.Writer
	mu  sync.Mutex
	n   int
	of  int
}

func newScoreboard(out io.Writer, of int) *scoreboard { return &scoreboard{out: out, of: of} }

func (b *scoreboard) done(o race.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	fmt.Fprintf(b.out, "kintsugi: %d of %d: %s: %s after %.1f s\n", b.n, b.of, o.Name, outcomeWord(o), o.Seconds)
}

// outcomeWord tells how an agent ended.
func outcomeWord(o race.Outcome) string {
	switch {
	case o.Error != "" && !o.Solved:
		return "failed"
	case o.Passed != nil && *o.Passed:
		return "passed the check"
	case o.Passed != nil:
		return "failed the check"
	case o.Solved:
		return "solved"
	}
	return "not solved (" + o.Result + ")"
}

// print shows the outcomes side by side.
func (o raceOptions) print(w io.Writer, list []race.Outcome) error {
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	wide := 5
	for _, l := range list {
		wide = min(max(wide, len([]rune(l.Name))), 40)
	}
	best := race.Best(list)
	fmt.Fprintf(w, "    %-*s  %-22s %6s %9s %6s %9s %8s %8s\n", wide, "agent", "result", "steps", "attempts", "seams", "seconds", "tokens", "changed")
	for _, l := range list {
		mark := " "
		if l.Lane == best {
			mark = "→"
		}
		fmt.Fprintf(w, "%s %d %-*s  %-22s %6d %9d %6d %9.1f %8d %8d\n", mark, l.Lane, wide, clipped(l.Name, wide),
			clipped(outcomeWord(l), 22), l.Steps, l.Attempts, l.Seams, l.Seconds, l.Tokens, l.Changed)
	}
	for _, l := range list {
		text := l.Answer
		if l.Error != "" {
			text = l.Error
		}
		fmt.Fprintf(w, "\n%d: %s\n", l.Lane, strings.TrimSpace(inert.String(text)))
	}
	return nil
}

// finish keeps what the user picks.
func (o raceOptions) finish(s *session, list []race.Outcome) error {
	best := race.Best(list)
	n, err := o.pick(list, best)
	if err != nil {
		return errors.Join(s.end(exitOwn, err.Error()), err)
	}
	if n > 0 {
		if err := s.keepLane(list[n-1]); err != nil {
			return errors.Join(s.end(exitOwn, err.Error()), exitError{exitOwn, err})
		}
		fmt.Fprintf(os.Stderr, "kintsugi: kept %d (%s); see: kintsugi diff; take it over: kintsugi apply\n", n, list[n-1].Name)
	}
	code := 0
	if best == 0 {
		code = exitUnsolved
	}
	if err := s.end(code, ""); err != nil || code == 0 {
		return err
	}
	return exitError{code: code}
}

// pick gives the lane to keep; 0 means none.
func (o raceOptions) pick(list []race.Outcome, best int) (int, error) {
	answer := o.keep
	if answer == "" && !o.json && isTerminal(os.Stdin) && isTerminal(os.Stderr) {
		fmt.Fprintf(os.Stderr, "Which one shall be kept? [1-%d, Enter for %s] ", len(list), orNone(best))
		_, _ = fmt.Fscanln(os.Stdin, &answer)
		if answer == "" {
			answer = "best"
		}
	}
	switch answer {
	case "", "none":
		return 0, nil
	case "best":
		return best, nil
	}
	n, err := strconv.Atoi(answer)
	if err != nil || n < 1 || n > len(list) {
		return 0, fmt.Errorf("there is no agent %s; there are 1 to %d", answer, len(list))
	}
	return n, nil
}

func orNone(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

// keepLane makes a lane's last checkpoint the session's, and tells the log.
func (s *session) keepLane(o race.Outcome) error {
	parent := s.store.Head()
	if o.Head == parent {
		return nil
	}
	if err := s.store.Rewind(o.Head); err != nil {
		return err
	}
	step := s.nextStep()
	for _, b := range []event.Body{
		event.StepStart{Step: step},
		event.Call{Step: step, Tool: "race", Text: fmt.Sprintf("keep %d: %s", o.Lane, o.Name), Origin: "user"},
		event.Checkpoint{Step: step, ID: o.Head, Parent: parent, Total: o.Changed},
		event.StepEnd{Step: step, OK: true, Answer: inert.String(o.Answer)},
	} {
		if _, err := s.log.Append(b); err != nil {
			return err
		}
	}
	return nil
}
