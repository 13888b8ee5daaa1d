package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/sandbox/workspace"
)

// changesOptions say which session's changes are meant.
type changesOptions struct{ session string }

func (o *changesOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.session, "session", "s", "", "the session (default: the newest one of this project that changed something)")
}

// kept is a recorded session with its workspace.
type kept struct {
	*workspace.Store
	event.Summary
	source string
}

// open finds the session and its workspace. shared opens it for reading and
// applying beside a process that works in it.
func (o changesOptions) open(shared bool) (*kept, error) {
	p, err := findPlaces()
	if err != nil {
		return nil, err
	}
	list, err := event.Sessions(p.sessions)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if !o.means(s, p) {
			continue
		}
		k, err := openKept(s, shared)
		if err != nil {
			return nil, err
		}
		if o.session != "" || len(k.Checkpoints()) > 0 {
			return k, nil
		}
		k.Close()
	}
	if o.session != "" {
		return nil, fmt.Errorf("there is no session %s; see: kintsugi sessions", o.session)
	}
	return nil, errors.New("no session of this project changed anything; see: kintsugi sessions")
}

// means says whether s is the session asked for.
func (o changesOptions) means(s event.Summary, p places) bool {
	if o.session != "" {
		return s.ID == o.session || strings.HasPrefix(s.ID, o.session) || strings.HasSuffix(s.ID, o.session)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	rel, err := filepath.Rel(s.Project, cwd)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func openKept(s event.Summary, shared bool) (*kept, error) {
	source := s.Project
	if loose := filepath.Join(s.Dir, "loose"); exists(loose) {
		source = loose
	}
	open := workspace.Open
	if shared {
		open = workspace.OpenShared
	}
	store, err := open(filepath.Join(s.Dir, "work"), source, workspace.Options{Outputs: heal.Outputs()})
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID, err)
	}
	return &kept{Store: store, Summary: s, source: source}, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func newDiff() *cobra.Command {
	var o changesOptions
	var f workspace.FormatOptions
	cmd := &cobra.Command{
		Use:   "diff [PATH...]",
		Short: "Show what a session changed, compared with your project as it is now",
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := o.open(true)
			if err != nil {
				return err
			}
			defer k.Close()
			c, err := k.Compare(k.Head())
			if err != nil {
				return err
			}
			defer c.Close()
			f.Paths = args
			_, err = workspace.FormatChanges(cmd.OutOrStdout(), c, f)
			return err
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&f.Brief, "brief", false, "one line per path")
	cmd.Flags().BoolVar(&f.Raw, "raw", false, "a patch for tools, byte for byte")
	cmd.Flags().BoolVar(&f.Hunks, "hunks", false, "show the id of each hunk, for kintsugi apply --hunk")
	return cmd
}

// applyFlags are the flags of kintsugi apply.
type applyFlags struct {
	changesOptions
	workspace.ApplyOptions
	hunks []string
	yes   bool
}

func newApply() *cobra.Command {
	var o applyFlags
	cmd := &cobra.Command{
		Use:   "apply [PATH...]",
		Short: "Take a session's changes over into your project",
		Long: `Takes over what a session changed: everything, or the files, folders and hunks
named. What you changed meanwhile is never overwritten, and files that other
tools would run by themselves (git hooks, editor settings, …) are held back until
you name them with --confirm.`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.apply(cmd, args) },
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.DryRun, "dry-run", "n", false, "only say what would happen")
	f.StringArrayVar(&o.Confirm, "confirm", nil, "take over this held-back path too")
	f.BoolVar(&o.SkipConflicts, "skip-conflicts", false, "take over the rest when you changed some of the files meanwhile")
	f.StringArrayVar(&o.hunks, "hunk", nil, "take over one hunk: PATH:ID (see kintsugi diff --hunks)")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *applyFlags) apply(cmd *cobra.Command, args []string) error {
	sel, err := selection(args, o.hunks)
	if err != nil {
		return err
	}
	k, err := o.open(true)
	if err != nil {
		return err
	}
	defer k.Close()
	out := cmd.OutOrStdout()
	if !o.yes && !o.DryRun && isTerminal(os.Stdin) {
		if ok, err := o.agreed(cmd, k, sel, out); !ok || err != nil {
			return err
		}
	}
	rep, err := k.Apply(cmd.Context(), k.Head(), sel, o.ApplyOptions)
	printReport(out, rep)
	if err != nil {
		return exitError{1, err}
	}
	return nil
}

// agreed shows what would happen and asks.
func (o *applyFlags) agreed(cmd *cobra.Command, k *kept, sel workspace.Selection, out io.Writer) (bool, error) {
	dry := o.ApplyOptions
	dry.DryRun = true
	rep, err := k.Apply(cmd.Context(), k.Head(), sel, dry)
	printReport(out, rep)
	if err != nil || rep.Applied.Total == 0 {
		return false, err
	}
	fmt.Fprintf(out, "Take these %d changes over into %s? [y/N] ", rep.Applied.Total, k.source)
	var answer string
	_, _ = fmt.Fscanln(os.Stdin, &answer)
	return strings.HasPrefix(strings.ToLower(answer), "y"), nil
}

func selection(paths, hunks []string) (workspace.Selection, error) {
	sel := workspace.Selection{Paths: paths}
	for _, h := range hunks {
		i := strings.LastIndexByte(h, ':')
		if i <= 0 || i == len(h)-1 {
			return sel, fmt.Errorf("--hunk %s: want PATH:ID; kintsugi diff --hunks shows the ids", h)
		}
		if sel.Hunks == nil {
			sel.Hunks = map[string][]string{}
		}
		sel.Hunks[h[:i]] = append(sel.Hunks[h[:i]], h[i+1:])
	}
	return sel, nil
}

// printReport tells what was, or would be, taken over, and what was not.
func printReport(w io.Writer, rep workspace.Report) {
	verb := "applied"
	if rep.DryRun {
		verb = "would apply"
	}
	for _, line := range rep.Recovered {
		fmt.Fprintln(w, line)
	}
	printList(w, verb, rep.Applied)
	printList(w, "conflict", rep.Conflicts)
	printList(w, "held back", rep.Held)
	printList(w, "skipped", rep.Skipped)
	if rep.Held.Total > 0 {
		fmt.Fprintln(w, "held back because other tools run such files by themselves; to take one over: kintsugi apply --confirm PATH")
	}
	if rep.Applied.Total+rep.Conflicts.Total+rep.Held.Total+rep.Skipped.Total == 0 {
		fmt.Fprintln(w, "nothing to apply")
	}
}

func printList(w io.Writer, head string, l workspace.List) {
	for _, c := range l.First {
		fmt.Fprintf(w, "%-11s %s\n", head, workspace.Brief(c))
	}
	if more := l.Total - len(l.First); more > 0 {
		fmt.Fprintf(w, "%-11s and %d more\n", head, more)
	}
}

func newRewind() *cobra.Command {
	var o changesOptions
	cmd := &cobra.Command{
		Use:   "rewind [CHECKPOINT]",
		Short: "Move a session back to an earlier checkpoint, or list its checkpoints",
		Long: `Moves a session's copy of the project to one of its checkpoints: at once, and
without losing the others. "start" is the project itself. Your project is not
touched. Without a checkpoint it lists them.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := o.open(len(args) == 0)
			if err != nil {
				return err
			}
			defer k.Close()
			if len(args) == 0 {
				listCheckpoints(cmd.OutOrStdout(), k)
				return nil
			}
			id := args[0]
			if id == "start" {
				id = workspace.Root
			}
			return k.Rewind(id)
		},
	}
	o.flags(cmd)
	return cmd
}

func listCheckpoints(w io.Writer, k *kept) {
	mark := func(id string) string {
		if id == k.Head() {
			return "→"
		}
		return " "
	}
	fmt.Fprintf(w, "session %s\n%s start\n", k.ID, mark(workspace.Root))
	for _, c := range k.Checkpoints() {
		fmt.Fprintf(w, "%s %s  %s\n", mark(c.ID), c.ID, c.Time.Local().Format("2006-01-02 15:04:05"))
	}
}
