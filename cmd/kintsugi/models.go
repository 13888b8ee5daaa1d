package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kintsugi/agent/model"
)

func newModels() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List, fetch and recommend models",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return listModels(cmd.Context(), cmd.OutOrStdout()) },
	}
	cmd.AddCommand(newModelsList(), newModelsPull(), newModelsRecommend())
	return cmd
}

func newModelsList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show the models that are here, and what each can do",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return listModels(cmd.Context(), cmd.OutOrStdout()) },
	}
}

func listModels(ctx context.Context, out io.Writer) error {
	p, list, err := onTerminal().server(ctx)
	if err != nil {
		return exitError{exitOwn, err}
	}
	best := preferred(ctx, p, list)
	for _, m := range list {
		mark, can := " ", "talks only; works through the action grammar"
		if m.Name == best {
			mark = "→"
		}
		caps, err := p.Capabilities(ctx, m.Name)
		switch {
		case err != nil:
			can = oneLine(err.Error())
		case caps.Tools && caps.Thinking:
			can = "calls tools, thinks"
		case caps.Tools:
			can = "calls tools"
		case caps.Thinking:
			can = "thinks; works through the action grammar"
		}
		fmt.Fprintf(out, "%s %-28s %8s  %-6s %s\n", mark, m.Name, gigabytes(m.Size), m.Params, can)
	}
	if len(list) == 0 {
		fmt.Fprintf(out, "%s has no model yet; see: kintsugi models recommend\n", p.Host())
	}
	return nil
}

func gigabytes(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

func newModelsRecommend() *cobra.Command {
	return &cobra.Command{
		Use:   "recommend",
		Short: "Say which models suit this machine's memory, best first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			picks, err := modelPicks()
			if err != nil {
				return err
			}
			memory, out := model.MachineMemory(), cmd.OutOrStdout()
			if memory > 0 {
				fmt.Fprintf(out, "for a machine with %s of memory, best first:\n", gigabytes(memory))
			}
			for _, p := range model.Recommend(picks, memory) {
				fmt.Fprintf(out, "  %-16s %4.1f GB  %s\n", p.Name, p.Download, p.Strong)
			}
			fmt.Fprintln(out, "to fetch one: kintsugi models pull NAME")
			return nil
		},
	}
}

// modelPicks is the list of recommendations: the user's own, or the built-in.
func modelPicks() ([]model.Pick, error) {
	places, err := findPlaces()
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile(filepath.Join(places.config, "models.toml"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return model.Picks(string(own))
}

func newModelsPull() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "pull NAME",
		Short: "Fetch a model; an interrupted download goes on where it stopped",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return pullModel(ctx, args[0], yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func pullModel(ctx context.Context, name string, yes bool) error {
	p, list, err := onTerminal().server(ctx)
	if err != nil {
		return exitError{exitOwn, err}
	}
	if slices.ContainsFunc(list, func(m model.Info) bool { return m.Name == name || m.Name == name+":latest" }) {
		fmt.Fprintf(os.Stderr, "kintsugi: %s is here already; asking for a newer one\n", name)
	}
	if ok, err := mayPull(name, yes); !ok || err != nil {
		return err
	}
	bar := &pullBar{out: os.Stderr, terminal: isTerminal(os.Stderr), now: time.Now}
	err = pullAgain(ctx, p, name, bar)
	bar.end()
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, fmt.Errorf("stopped; what is there is kept, and this goes on: kintsugi models pull %s", name)}
	case err != nil:
		return exitError{exitOwn, err}
	}
	fmt.Fprintf(os.Stderr, "kintsugi: %s is ready; try: kintsugi ask --model %s \"say hello\"\n", name, name)
	return nil
}

// pullTries is how often a download that broke off is taken up again.
const pullTries = 3

func pullAgain(ctx context.Context, p model.Provider, name string, bar *pullBar) error {
	for try := 1; ; try++ {
		err := p.Pull(ctx, name, bar.show)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Died || try == pullTries {
			return err
		}
		sleepOrDone(ctx, time.Second)
	}
}

// mayPull asks before anything large is fetched.
func mayPull(name string, yes bool) (bool, error) {
	about := ""
	picks, err := modelPicks()
	if err != nil {
		return false, err
	}
	for _, p := range picks {
		if p.Name == name {
			about = fmt.Sprintf(" (about %.1f GB)", p.Download)
		}
	}
	switch {
	case yes:
		return true, nil
	case !isTerminal(os.Stdin):
		return false, fmt.Errorf("fetching %s%s needs your word: kintsugi models pull --yes %s", name, about, name)
	}
	return askYes(fmt.Sprintf("Fetch %s%s?", name, about)), nil
}

// askYes puts a question to the user of the terminal; anything but yes is no.
func askYes(question string) bool {
	fmt.Fprintf(os.Stderr, "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(os.Stdin, &answer)
	return strings.HasPrefix(strings.ToLower(answer), "y")
}

// pullBar shows how a download goes on: on a terminal one line that is
// rewritten, elsewhere a line now and then.
type pullBar struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	last     time.Time
	begun    time.Time
	from     int64
	status   string
	open     bool
}

func (b *pullBar) show(p model.Progress) {
	now, every := b.now(), 100*time.Millisecond
	if !b.terminal {
		every = 10 * time.Second
	}
	if b.begun.IsZero() && p.Total > 0 {
		b.begun, b.from = now, p.Done
	}
	if now.Sub(b.last) < every && p.Status == b.status {
		return
	}
	b.last, b.status = now, p.Status
	if b.terminal {
		fmt.Fprintf(b.out, "\r\x1b[K%s", b.line(p, now))
		b.open = true
		return
	}
	fmt.Fprintln(b.out, b.line(p, now))
}

func (b *pullBar) line(p model.Progress, now time.Time) string {
	if p.Total <= 0 {
		return clipped(oneLine(p.Status), 70)
	}
	const width = 24
	part := float64(p.Done) / float64(p.Total)
	full := min(width, int(part*width))
	line := fmt.Sprintf("[%s%s] %3.0f%%  %.2f of %.2f GB", strings.Repeat("█", full), strings.Repeat("·", width-full), 100*part, float64(p.Done)/1e9, float64(p.Total)/1e9)
	if spent := now.Sub(b.begun).Seconds(); spent > 1 && p.Done > b.from {
		rate := float64(p.Done-b.from) / spent
		left := time.Duration(float64(p.Total-p.Done) / rate * float64(time.Second))
		line += fmt.Sprintf("  %.1f MB/s, %s left", rate/1e6, left.Round(time.Second))
	}
	return line
}

func (b *pullBar) end() {
	if b.open {
		fmt.Fprintln(b.out)
	}
}
