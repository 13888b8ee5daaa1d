package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kintsugi/agent/event"
	"kintsugi/agent/heal/programs"
)

// tableOptions are the flags of kintsugi heal table.
type tableOptions struct {
	only, name []string
	quick      bool
	naive      bool
	json       bool
	cache      string
	limit      time.Duration
}

func newHealTable() *cobra.Command {
	var o tableOptions
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Run a set of programs that fail, and show what became of each",
		Long: `Runs small programs, each of which fails for another reason, with kintsugi run
and prints what became of them. A program ends right when it has the right
output and nothing but what it needs was installed; or, when no package may
mend it, when nothing was installed and the failure was named rightly.

Packages are fetched into a cache of their own, which is removed afterwards;
--cache keeps it in a folder. Your own sessions and cache are left alone.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return healTable(cmd.Context(), cmd.OutOrStdout(), o) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.only, "only", nil, "only programs of these ecosystems")
	f.StringSliceVar(&o.name, "name", nil, "only programs with these names")
	f.BoolVar(&o.quick, "quick", false, "only programs that need little or nothing to be fetched")
	f.BoolVar(&o.naive, "naive", false, "show beside it what installing the name from the error would have done")
	f.BoolVar(&o.json, "json", false, "print one JSON object for each program instead of the table")
	f.StringVar(&o.cache, "cache", "", "keep fetched packages in this folder")
	f.DurationVar(&o.limit, "limit", 5*time.Minute, "give up on a program after this time")
	return cmd
}

// row is what became of one program.
type row struct {
	Program   string        `json:"program"`
	Ecosystem string        `json:"ecosystem"`
	Why       string        `json:"why"`
	Failure   string        `json:"failure,omitempty"` // as recognised: the first, or the last
	Remedies  []string      `json:"remedies,omitempty"`
	Installs  []string      `json:"installs,omitempty"` // "pip pandas"
	Errors    []string      `json:"errors,omitempty"`   // of remedies that failed
	Attempts  int           `json:"attempts"`
	Took      time.Duration `json:"took_ns"`
	Exit      int           `json:"exit"`
	Right     bool          `json:"right"`
	Outcome   string        `json:"outcome"`
	Naive     string        `json:"naive"`
	Verdict   verdict       `json:"naive_verdict"`
}

func (o tableOptions) chosen(p programs.Program) bool {
	return (len(o.only) == 0 || slices.Contains(o.only, p.Ecosystem)) &&
		(len(o.name) == 0 || slices.Contains(o.name, p.Name)) && (!o.quick || p.Quick)
}

func healTable(ctx context.Context, w io.Writer, o tableOptions) error {
	all, err := programs.Load()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p programs.Program) bool { return !o.chosen(p) })
	if len(all) == 0 {
		return errors.New("no program fits: --only takes python, node, shell, c and the like; --name a program's name")
	}
	if _, err := chooseRuntime(ctx, boxOptions{}); err != nil {
		return err
	}
	lab, err := newLab(o)
	if err != nil {
		return err
	}
	defer lab.close()
	return o.rows(ctx, w, lab, all)
}

// rows runs the programs and prints each as it ends.
func (o tableOptions) rows(ctx context.Context, w io.Writer, lab *lab, all []programs.Program) error {
	if !o.json {
		o.heading(w)
	}
	var done []row
	for _, p := range all {
		r, err := lab.run(ctx, p, o.limit)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		done = append(done, r)
		if o.json {
			if err := json.NewEncoder(w).Encode(r); err != nil {
				return err
			}
			continue
		}
		o.line(w, r)
	}
	if !o.json {
		fmt.Fprintln(w, summary(done))
	}
	if slices.ContainsFunc(done, func(r row) bool { return !r.Right }) {
		return exitError{code: 1}
	}
	return nil
}

const rowFormat = "| %-18s | %-46s | %-44s | %3s | %6s | %-34s | %-30s |"

func (o tableOptions) heading(w io.Writer) {
	cells := []string{"program", "what fails", "remedy", "try", "s", "installs", "outcome"}
	o.cells(w, cells, "naive baseline")
	for i := range cells {
		cells[i] = "---"
	}
	o.cells(w, cells, "---")
}

func (o tableOptions) cells(w io.Writer, c []string, naive string) {
	fmt.Fprintf(w, rowFormat, c[0], c[1], c[2], c[3], c[4], c[5], c[6])
	if o.naive {
		fmt.Fprintf(w, " %s |", naive)
	}
	fmt.Fprintln(w)
}

func (o tableOptions) line(w io.Writer, r row) {
	o.cells(w, []string{
		r.Program, r.Why, dash(strings.Join(r.Remedies, "; ")), fmt.Sprint(r.Attempts),
		fmt.Sprintf("%.1f", r.Took.Seconds()), dash(strings.Join(r.Installs, ", ")), r.Outcome,
	}, r.Naive)
}

// summary counts.
func summary(rows []row) string {
	var right, installs int
	naive := map[verdict]int{}
	for _, r := range rows {
		if r.Right {
			right++
		}
		installs += len(r.Installs)
		naive[r.Verdict]++
	}
	return fmt.Sprintf("\n%d of %d ended right (%.0f%%); %d packages installed. "+
		"Installing the name from the error: right for %d, the wrong package for %d, nothing to install for %d.",
		right, len(rows), 100*float64(right)/float64(len(rows)), installs, naive[naiveRight], naive[naiveWrong], naive[naiveNothing])
}

// lab is where programs run: their folders, and a cache and sessions apart
// from the user's.
type lab struct {
	dir, cache, exe string
}

func newLab(o tableOptions) (*lab, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kintsugi-table-")
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir, cache: filepath.Join(dir, "cache"), exe: exe}
	if o.cache != "" {
		l.cache, err = filepath.Abs(o.cache)
	}
	return l, err
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// run runs one program in a fresh folder and judges the events of its session.
func (l *lab) run(ctx context.Context, p programs.Program, limit time.Duration) (row, error) {
	dir := filepath.Join(l.dir, "programs", p.Name)
	if err := errors.Join(os.MkdirAll(dir, 0o755), p.Write(dir, writeText)); err != nil {
		return row{}, err
	}
	// What an earlier run of the program needed must not help this one.
	if err := os.RemoveAll(filepath.Join(l.cache, "kintsugi", "memory")); err != nil {
		return row{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.exe, append([]string{"run", "--json", "--preflight=off"}, p.Command()...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+l.cache, "XDG_STATE_HOME="+filepath.Join(l.dir, "state"))
	started := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return row{}, err
	}
	story := readStory(out.Bytes())
	if len(story.failures) == 0 && strings.TrimSpace(errs.String()) != "" {
		story.errors = append(story.errors, oneLine(strings.TrimSpace(errs.String())))
	}
	return story.row(p, cmd.ProcessState.ExitCode(), time.Since(started)), nil
}

// story is what the events of a session tell.
type story struct {
	failures []event.Failure
	remedies map[string]event.Remedy
	done     []string // titles of remedies that were carried out
	installs []string
	errors   []string
	attempts int
	stdout   string // of the last attempt
	text     string // all that was printed
}

func readStory(lines []byte) *story {
	s := &story{remedies: map[string]event.Remedy{}}
	for line := range bytes.Lines(lines) {
		if e, err := event.Decode(bytes.TrimSpace(line)); err == nil {
			s.add(e.Body)
		}
	}
	return s
}

func (s *story) add(b event.Body) {
	switch b := b.(type) {
	case event.Attempt:
		s.attempts, s.stdout = b.Attempt, ""
	case event.Output:
		if b.Remedy != "" {
			return
		}
		if s.attempts < 2 {
			s.text += b.Text
		}
		if !b.Stderr {
			s.stdout += b.Text
		}
	case event.Failure:
		s.failures = append(s.failures, b)
	case event.Remedy:
		s.remedies[b.ID] = b
	case event.RemedyEnd:
		s.ended(b)
	}
}

func (s *story) ended(b event.RemedyEnd) {
	m := s.remedies[b.ID]
	if !b.OK {
		s.errors = append(s.errors, m.Title+": "+oneLine(b.Error))
		return
	}
	s.done = append(s.done, m.Title)
	for _, p := range m.Packages {
		s.installs = append(s.installs, m.Manager+" "+p)
	}
}

// row judges the story.
func (s *story) row(p programs.Program, exit int, took time.Duration) row {
	r := row{
		Program: p.Name, Ecosystem: p.Ecosystem, Why: p.Why, Remedies: s.done, Installs: s.installs,
		Errors: s.errors, Attempts: s.attempts, Took: took, Exit: exit,
	}
	if n := len(s.failures); n > 0 {
		r.Failure = s.failures[0].What
		if p.Want == "" {
			r.Failure = s.failures[n-1].What
		}
	}
	r.Outcome, r.Right = s.judge(p, r)
	r.Verdict, r.Naive = naive(p, s.text)
	return r
}

// judge says in a few words what became of a program, and whether that is
// right.
func (s *story) judge(p programs.Program, r row) (string, bool) {
	for _, m := range s.remedies {
		for _, name := range m.Packages {
			if !p.May(m.Manager, name) {
				return "WRONG: installed " + m.Manager + " " + name, false
			}
		}
	}
	switch {
	case p.Want != "" && r.Exit == 0 && strings.Contains(s.stdout, p.Want):
		return s.worked(), true
	case p.Want != "" && len(s.errors) > 0:
		return "FAILED: " + s.errors[len(s.errors)-1], false
	case p.Want != "":
		return fmt.Sprintf("FAILED: %s, exit %d", dash(r.Failure), r.Exit), false
	case r.Exit == 0:
		return "WRONG: nothing failed", false
	case r.Failure != p.Kind:
		return fmt.Sprintf("WRONG: called %s, is %s", dash(r.Failure), p.Kind), false
	case p.Asks && r.Exit != exitConsent:
		return fmt.Sprintf("WRONG: did not ask, exit %d", r.Exit), false
	case p.Asks:
		return "asked", true
	}
	return "explained: " + strings.ReplaceAll(r.Failure, "_", " "), true
}

func (s *story) worked() string {
	if len(s.failures) == 0 {
		return "works (nothing was missing here)"
	}
	return "mended"
}
