package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/cmd/kintsugi/early"
	"kintsugi/sandbox"
)

// runOptions are the flags of kintsugi run.
type runOptions struct {
	box    boxOptions
	quiet  bool
	json   bool
	stream bool
	noHeal bool
	noLock bool
}

func newRun() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [FILE [ARGS...]] | run -- COMMAND [ARGS...]",
		Short: "Run a program in a box, and mend what it lacks",
		Long: `Runs a program in a throw-away box. When it fails for want of a library or a
command, that is installed inside the box and the program is run again.

Standard output is the final attempt's and nothing else, so it can be piped;
what was mended is told on standard error, one line each. The exit code is the
program's; 123 when it failed for want of a package that nothing vouches for and
nobody was there to be asked (the command that allows it is printed); 124 when
the time limit ended it; 125 when Kintsugi itself failed.

Without a file it runs the project of the current folder (pom.xml, Cargo.toml,
go.mod) and says how. A program below src/main/java of a Maven project is run as
a part of it.

A program with a kintsugi.lock beside it, or a block of its own that names its
packages (PEP 723), gets them before its first attempt; see kintsugi lock.

Well-known packages are installed without asking. A name that no list has is
asked about; one that looks like a slip of a known name is refused, and --allow
is the only way to have it.`,
		Example: `  kintsugi run plot.py data.csv
  kintsugi run -- dot -Tpng graph.dot`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), o, args, cmd.ArgsLenAtDash() == 0)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	o.box.flags(cmd)
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but the program's own output")
	f.BoolVar(&o.json, "json", false, "print the events of the session, one JSON object a line, instead of the program's output")
	f.BoolVar(&o.stream, "stream", false, "pass output on at once, even that of an attempt that is mended later")
	f.BoolVar(&o.noLock, "no-lock", false, "ignore kintsugi.lock and the block that a Python program has for its packages")
	f.BoolVar(&o.noHeal, "no-heal", false, "run once, mend nothing")
	return cmd
}

// run is kintsugi run.
func run(ctx context.Context, o runOptions, args []string, command bool) error {
	if len(args) == 0 {
		file, err := projectHere()
		if err != nil {
			return err
		}
		args = []string{file}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	in := &console{src: os.Stdin}
	call := agent.Call{Step: 1, Tool: "run", Origin: "user", Stdin: in, NoHeal: o.noHeal}
	call.File, call.Args = args[0], args[1:]
	if command {
		call.File, call.Args, call.Argv = "", nil, args
	}
	s, err := openSession(ctx, sessionOptions{box: o.box, file: call.File, title: args[0], ask: o.asker(in), noLock: o.noLock, single: true})
	if err != nil {
		return err
	}
	defer s.Close()
	call.File = s.inBox(call.File)
	call.Sink = o.sink()
	s.log.watch(o.watcher())
	if err := s.useEnvironment(ctx, o.box.environment); err != nil {
		return errors.Join(s.end(exitOwn, err.Error()), exitError{exitOwn, err})
	}
	out, err := s.step(ctx, call)
	if err != nil {
		return errors.Join(s.end(exitOwn, err.Error()), exitError{exitOwn, err})
	}
	code := exitCode(out)
	if err := s.end(code, out.Limit); err != nil {
		return err
	}
	if code == 0 {
		return nil
	}
	return exitError{code: code}
}

// projectHere is the file that stands for the project in the current folder.
func projectHere() (string, error) {
	p, err := findPlaces()
	if err != nil {
		return "", err
	}
	rules, err := loadRules(p)()
	if err != nil {
		return "", err
	}
	if file, ok := rules.ProjectFile(exists); ok {
		return file, nil
	}
	return "", errors.New("nothing to run: name a file (kintsugi run plot.py) or a command (kintsugi run -- ls)")
}

// asker puts questions to the user of a terminal; there is none when nobody
// would see them.
func (o runOptions) asker(in *console) agent.Asker {
	if o.quiet || o.json || !isTerminal(os.Stdin) || !isTerminal(os.Stderr) {
		return nil
	}
	return func(ctx context.Context, q event.Ask) (string, bool) { return askFrom(ctx, q, in.line) }
}

// sink chooses how the program's output reaches the user.
func (o runOptions) sink() agent.Sink {
	switch {
	case o.json:
		return discardSink{}
	case o.stream || o.noHeal || isTerminal(os.Stdout):
		return newLiveSink(os.Stdout, os.Stderr)
	}
	return newHeldSink(os.Stdout, os.Stderr)
}

// watcher chooses what is told about the run while it goes on.
func (o runOptions) watcher() func(event.Event) {
	switch {
	case o.json:
		return jsonPrinter(os.Stdout)
	case o.quiet:
		return func(event.Event) {}
	}
	p := &printer{out: os.Stderr, terminal: isTerminal(os.Stderr), colour: colourWanted(os.Stderr)}
	return p.show
}

func exitCode(out agent.Outcome) int {
	switch {
	case out.Limit == string(sandbox.LimitWall):
		return exitTimeout
	case out.OK:
		return 0
	case out.NeedsConsent:
		return exitConsent
	case out.Exit == 0:
		return 1 // a limit ended a program that then said it was fine
	}
	return out.Exit
}

// boxOptions are the flags about boxes that several commands share.
type boxOptions struct {
	runtime    string
	image      string
	nodes      []string
	timeout    time.Duration
	memory     string
	pids       int
	allow      []string
	onlyKnown  bool
	offline    bool
	cooldown   int
	exempt     []string
	bestEffort bool
	env        []string
	preflight  string // auto, on, off
	// environment is the name of a manifest, made by kintsugi env.
	environment string
}

func (o *boxOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.runtime, "runtime", "auto", "what makes the boxes: auto, namespace, docker, podman")
	f.StringVar(&o.image, "image", "", "what the boxes see: an image, such as python:3.12-slim; it is fetched once")
	f.StringSliceVar(&o.nodes, "nodes", nil, "engines that share the work of race and of remedies tried side by side: Docker's contexts or addresses, separated by commas (default $"+early.NodesEnv+")")
	f.DurationVar(&o.timeout, "timeout", 0, fmt.Sprintf("end the program after this time (default %v; -1s for none)", sandbox.DefaultLimits.Wall))
	f.StringVar(&o.memory, "memory", "", "memory of a box, such as 512M or 4G (default 2G)")
	f.IntVar(&o.pids, "pids", 0, fmt.Sprintf("processes and threads in a box (default %d)", sandbox.DefaultLimits.Processes))
	f.StringSliceVar(&o.allow, "allow", nil, "package names that may be installed although no list knows them")
	f.BoolVar(&o.onlyKnown, "only-known", false, "install only what the curated maps know")
	f.BoolVar(&o.offline, "offline", false, "use no network, not even to install")
	f.IntVar(&o.cooldown, "cooldown", 7, "leave out releases younger than this many days, where the index tells (0: take any)")
	f.StringSliceVar(&o.exempt, "cooldown-exempt", nil, "package names whose releases may be of any age")
	f.BoolVar(&o.bestEffort, "best-effort", false, "run although this machine cannot enforce every limit")
	f.StringVar(&o.preflight, "preflight", "auto", "install what the program imports and is missing before it runs: auto (what you run yourself, where the look takes milliseconds), on, off")
	f.StringVar(&o.environment, "environment", "", "what the boxes have: an environment made with kintsugi env")
	f.StringArrayVarP(&o.env, "env", "e", nil, "pass a variable into the box: NAME or NAME=value")
}

// ahead reads the flag about imports.
func (o *boxOptions) ahead() (agent.Preflight, error) {
	switch o.preflight {
	case "", "off":
		return agent.PreflightOff, nil
	case "auto", "on":
		return agent.Preflight(o.preflight), nil
	}
	return "", fmt.Errorf("--preflight %s: want auto, on or off", o.preflight)
}

// limits reads the flags.
func (o *boxOptions) limits() (sandbox.Limits, error) {
	l := sandbox.Limits{Wall: o.timeout, Processes: o.pids}
	if o.memory != "" {
		n, err := parseSize(o.memory)
		if err != nil {
			return l, fmt.Errorf("--memory %s: %w", o.memory, err)
		}
		l.Memory = n
	}
	if o.pids < 0 {
		l.Processes = -1
	}
	return l, nil
}
