package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/agent/model"
	"kintsugi/sandbox/workspace"
)

// askOptions are the flags of kintsugi ask.
type askOptions struct {
	box   boxOptions
	model string
	steps int
	think bool
	quiet bool
	json  bool
	apply bool
	// resume is the session to go on with.
	resume string
}

// Exit codes of kintsugi ask besides exitOwn.
const (
	exitUnsolved    = 1
	exitInterrupted = 130
)

func newAsk() *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask TASK...",
		Short: "Let a local model solve a task in boxes, and print its answer",
		Long: `Lets a local model work on a task: it writes code, runs it in throw-away boxes,
what breaks is mended, and its answer is printed on standard output. How it
works is told on standard error. What is piped in is the task's input.

Your project stays as it is; --apply takes the changes over when the task is
solved. The exit code is 0 when the task was solved, 1 when it was not, 123 when
it was not for want of a package that nobody was there to allow, 125 when there
is no model or Kintsugi itself failed.`,
		Example: `  kintsugi ask "plot sales.csv by month into sales.png"
  cat access.log | kintsugi ask -q "which address asks most often?"`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), strings.Join(args, " ")) },
	}
	f := cmd.Flags()
	o.box.flags(cmd)
	f.Lookup("timeout").Usage = "stop working on the task after this time (default 20m)"
	f.StringVar(&o.model, "model", "", "the model that reasons (default: the best one the server has)")
	f.IntVar(&o.steps, "max-steps", 0, "stop after so many turns of the model (default 24)")
	f.BoolVar(&o.think, "think", false, "let the model think before it speaks, when it can; slower, and better at puzzles than at tools")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but the answer")
	f.BoolVar(&o.json, "json", false, "print the events of the session, one JSON object a line, instead of the answer")
	f.StringVar(&o.resume, "resume", "", "go on with this session; without a task, with the one it was cut off in")
	f.BoolVar(&o.apply, "apply", false, "take the changes over into your project when the task is solved")
	return cmd
}

// run is kintsugi ask.
func (o askOptions) run(ctx context.Context, text string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := o.check(); err != nil {
		return err
	}
	in, err := readInput(ctx, os.Stdin, os.Stderr)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		text, in = string(in), nil
	}
	if strings.TrimSpace(text) == "" && o.resume == "" {
		return errors.New(`nothing to do: name a task, as in: kintsugi ask "plot sales.csv by month"`)
	}
	p, name, err := onTerminal().model(ctx, o.model)
	if err != nil {
		return err
	}
	s, err := o.open(ctx, text)
	if err != nil {
		return err
	}
	defer s.Close()
	task, err := s.withInput(text, in)
	if err != nil {
		return err
	}
	return o.work(ctx, s, p, name, task)
}

func (o askOptions) check() error {
	switch {
	case o.steps < 0:
		return fmt.Errorf("--max-steps %d: want at least 1", o.steps)
	case o.quiet && o.json:
		return errors.New("--quiet and --json exclude each other: choose one")
	}
	return nil
}

// open makes the session. The time limit is the task's, not each box's.
func (o askOptions) open(ctx context.Context, text string) (*session, error) {
	box := o.box
	box.timeout = 0
	var ask agent.Asker
	if !o.quiet && !o.json && isTerminal(os.Stdin) && isTerminal(os.Stderr) {
		in := &console{src: os.Stdin}
		ask = func(ctx context.Context, q event.Ask) (string, bool) { return askFrom(ctx, q, in.line) }
	}
	return openSession(ctx, sessionOptions{box: box, title: oneLine(text), ask: ask, resume: o.resume})
}

// work lets the model solve the task, and shows how and what came of it.
func (o askOptions) work(ctx context.Context, s *session, p model.Provider, name, task string) error {
	show := o.watcher()
	s.log.watch(show.show)
	if err := s.useEnvironment(ctx, s.environmentOr(o.box.environment)); err != nil {
		return errors.Join(s.end(exitOwn, err.Error()), exitError{exitOwn, err})
	}
	loop := s.loop()
	loop.Model, loop.Name = p, name
	loop.Budget = agent.Budget{Steps: o.steps, Time: max(o.box.timeout, 0)}
	if o.think {
		loop.Think = model.ThinkOn
	}
	res, err := doTask(ctx, loop, s.state, task)
	show.end()
	code := askExit(res)
	if serr := s.end(code, string(res.Reason)); serr != nil {
		return serr
	}
	if err != nil {
		return exitError{code, err}
	}
	if err := o.answer(res, show); err != nil {
		return err
	}
	if res.OK() {
		err = o.changes(ctx, s)
	}
	if err == nil && code != 0 {
		err = exitError{code: code}
	}
	return err
}

func askExit(res agent.Result) int {
	switch res.Reason {
	case agent.Finished:
		return 0
	case agent.SpentOut, agent.Stuck:
		if res.NeedsConsent {
			return exitConsent
		}
		return exitUnsolved
	case agent.Cancelled:
		return exitInterrupted
	}
	return exitOwn
}

// answer prints the answer, unless the terminal shows it already.
func (o askOptions) answer(res agent.Result, show *askPrinter) error {
	text := strings.TrimSpace(res.Answer)
	switch {
	case o.json, text == "":
		return nil
	case !res.OK():
		if !o.quiet && !show.said(text) {
			show.line(red, "✗ not solved", text)
		}
		return nil
	case show.said(text) && isTerminal(os.Stdout) && isTerminal(os.Stderr):
		return nil
	}
	_, err := fmt.Fprintln(os.Stdout, text)
	return err
}

// changes takes over what the task changed, or says that it waits.
func (o askOptions) changes(ctx context.Context, s *session) error {
	dry := workspace.ApplyOptions{DryRun: !o.apply}
	rep, err := s.store.Apply(ctx, s.store.Head(), workspace.Selection{}, dry)
	total := rep.Applied.Total + rep.Held.Total + rep.Conflicts.Total
	switch {
	case total == 0 && err == nil, !o.apply && (o.quiet || o.json):
		return nil
	case !o.apply:
		fmt.Fprintf(os.Stderr, "kintsugi: %d changes are kept aside and your project is as it was; see: kintsugi diff; take them over: kintsugi apply\n", total)
		return nil
	case !o.quiet && !o.json || err != nil:
		printReport(os.Stderr, rep)
	}
	if err != nil {
		return exitError{exitUnsolved, err}
	}
	return nil
}

// watcher chooses what is told about the work while it goes on.
func (o askOptions) watcher() *askPrinter {
	p := &askPrinter{printer: printer{out: os.Stderr, terminal: isTerminal(os.Stderr), colour: colourWanted(os.Stderr)}}
	switch {
	case o.json:
		p.only = jsonPrinter(os.Stdout)
	case o.quiet:
		p.only = func(event.Event) {}
	}
	return p
}

// maxInput bounds what is read from standard input, in bytes.
const maxInput = 64 << 20

// inputPatience is how long a pipe may be silent before the user is told what
// is being waited for.
const inputPatience = 3 * time.Second

// readInput reads what is piped in; a terminal gives nothing.
func readInput(ctx context.Context, f *os.File, tell io.Writer) ([]byte, error) {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 && !info.Mode().IsRegular() {
		return nil, nil
	}
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(f, maxInput+1))
		read <- result{data, err}
	}()
	patience := time.NewTimer(inputPatience)
	defer patience.Stop()
	for {
		select {
		case r := <-read:
			if len(r.data) > maxInput {
				return nil, fmt.Errorf("the input is larger than %d MB; put it in a file of the project", maxInput>>20)
			}
			return r.data, r.err
		case <-patience.C:
			fmt.Fprintln(tell, "kintsugi: waiting for standard input to end (without input: kintsugi ask … </dev/null)")
		case <-ctx.Done():
			return nil, exitError{code: exitInterrupted}
		}
	}
}
