package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse"
	"kintsugi/sandbox/bench"
	"kintsugi/sandbox/namespace"
)

func newSandbox() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Test the sandbox on this machine: verify, bench, clean",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newVerify(), newBench(), newClean())
	return cmd
}

// Hidden first words: this program inside a box that is being tested, and a
// workbench that a case kills.
const (
	probeWord  = "__probe"
	victimWord = "__victim"
)

// hidden plays a part in kintsugi sandbox verify.
func hidden(args []string) int {
	if args[0] == probeWord {
		return abuse.ProbeMain(args[1:])
	}
	if len(args) < 3 {
		return exitOwn
	}
	rt, err := chooseRuntime(context.Background(), boxOptions{runtime: args[1], image: args[2]})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitOwn
	}
	return abuse.VictimMain(rt, args[3:])
}

// verifyOptions tell the cases where this user's secrets and states are.
func verifyOptions(runtime, image string) (abuse.Options, error) {
	p, err := findPlaces()
	if err != nil {
		return abuse.Options{}, err
	}
	exe, err := os.Executable()
	if err != nil {
		return abuse.Options{}, err
	}
	return abuse.Options{
		Exe: exe, Lead: []string{probeWord}, Victim: []string{exe, victimWord, runtime, image}, Home: p.home,
		State: []string{p.sessions, p.layers, p.memory},
	}, nil
}

func newVerify() *cobra.Command {
	var runtime, image string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Try every known abuse in real boxes and say which of them hold",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rt, err := chooseRuntime(cmd.Context(), boxOptions{runtime: runtime, image: image})
			if err != nil {
				return err
			}
			defer closeRuntime(rt)
			o, err := verifyOptions(rt.Name(), image)
			if err != nil {
				return err
			}
			rep, err := abuse.Run(cmd.Context(), rt, o)
			if err != nil {
				return err
			}
			if asJSON {
				err = rep.WriteJSON(cmd.OutOrStdout())
			} else {
				err = rep.WriteTable(cmd.OutOrStdout(), screenWidth())
			}
			if err == nil && len(rep.Breaches()) > 0 {
				err = exitError{code: 1}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&runtime, "runtime", "auto", "what makes the boxes: auto, namespace, docker, podman")
	cmd.Flags().StringVar(&image, "image", "", "what the boxes see: an image")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// screenWidth is the terminal's, or a width for files.
func screenWidth() int {
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		return w
	}
	return 160
}

func newBench() *cobra.Command {
	var o bench.Options
	var asJSON bool
	var image string
	var without []string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast boxes start, next to the other sandboxes of this machine",
		Long: `Lets Kintsugi's boxes and the other sandboxes of this machine run a program in
turns, and prints how long they take to its first byte and to its end. Only the
ratios of one run mean anything.

An engine is slow to take its containers away and slows whoever comes next;
--without leaves it out.`,
		Example: "  kintsugi sandbox bench --without docker,podman,runc",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if isTerminal(os.Stderr) {
				o.Progress = func(done, total int) { fmt.Fprintf(os.Stderr, "\r%d of %d rounds ", done, total) }
			}
			res, err := benchmark(cmd.Context(), o, image, without)
			if isTerminal(os.Stderr) {
				fmt.Fprint(os.Stderr, "\r\x1b[K")
			}
			if err != nil {
				return err
			}
			if asJSON {
				return res.WriteJSON(cmd.OutOrStdout())
			}
			res.WriteTable(cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().IntVar(&o.Rounds, "rounds", 60, "runs of each sandbox at each level")
	cmd.Flags().IntSliceVar(&o.Concurrent, "at-once", []int{1, 8, 32}, "how many boxes start at the same time")
	cmd.Flags().StringVar(&image, "image", "", "the image that engines use (default: the first that each has)")
	cmd.Flags().StringSliceVar(&without, "without", nil, "sandboxes and engines to leave out")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the figures as JSON")
	return cmd
}

// benchmark lets our runtimes and the machine's others take turns.
func benchmark(ctx context.Context, o bench.Options, image string, without []string) (bench.Result, error) {
	dir, err := os.MkdirTemp("", "kintsugi-bench-*")
	if err != nil {
		return bench.Result{}, err
	}
	defer os.RemoveAll(dir)
	var list []bench.Contestant
	var absent []bench.Absent
	for _, rt := range runtimes(boxOptions{image: image}) {
		defer closeRuntime(rt)
		name := "kintsugi " + rt.Name()
		if slices.Contains(without, rt.Name()) {
			continue
		}
		if a := rt.Probe(ctx); !a.OK {
			absent = append(absent, bench.Absent{Name: name, Why: a.Reason})
			continue
		}
		if rt.Name() == namespace.Name {
			list = append(list, bench.Own(name, rt, benchSpec(dir)))
			warm := namespace.New(namespace.Options{Warm: slices.Max(append(o.Concurrent, 1))})
			defer warm.Close()
			spec := benchSpec(dir)
			fill := func() error { return warm.Warm(&spec) }
			list = append(list, bench.Warmed("  made ready", warm, spec, fill))
			continue
		}
		e := engineBench{name: rt.Name(), image: image, spec: benchSpec(dir), most: slices.Max(append(o.Concurrent, 1))}
		defer e.close()
		own, err := e.contestants(ctx)
		if err != nil {
			absent = append(absent, bench.Absent{Name: name, Why: oneLine(err.Error())})
			continue
		}
		list = append(list, own...)
	}
	peers, missing := bench.Peers(ctx, dir, image, without)
	res, err := bench.Run(ctx, append(list, peers...), o)
	res.Absent = slices.Concat(absent, missing)
	return res, err
}

// benchSpec is a full box: a workspace overlay, the default limits.
func benchSpec(dir string) sandbox.Spec {
	project := filepath.Join(dir, "project")
	_ = os.MkdirAll(project, 0o755)
	return sandbox.Spec{
		Argv: bench.Program(), Env: sandbox.BaseEnv(os.Environ()), Dir: project,
		Workspace: sandbox.Workspace{Path: project},
	}
}

func newClean() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Remove what killed runs left behind",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, rt := range runtimes(boxOptions{}) {
				defer closeRuntime(rt)
				if a := rt.Probe(cmd.Context()); !a.OK {
					continue
				}
				r, err := rt.Reconcile(cmd.Context())
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: removed %d boxes, %d processes, %d control groups, %d folders\n",
					rt.Name(), r.Boxes, r.Processes, r.Groups, r.Directories)
			}
			return nil
		},
	}
}
