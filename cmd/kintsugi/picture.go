package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui"
	"kintsugi/ui/still"
)

// pictureFlags are the flags of kintsugi picture.
type pictureFlags struct {
	theme, size, out, moment string
	present, replay          bool
}

func newPicture() *cobra.Command {
	var o pictureFlags
	cmd := &cobra.Command{
		Use:   "picture [SESSION]",
		Short: "Draw the workbench as it showed a session, as SVG or as text",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return o.draw(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.theme, "theme", themes.Dark, "colours")
	f.StringVar(&o.size, "size", "120x36", "columns x rows")
	f.StringVarP(&o.out, "out", "o", "", "write an SVG picture to this file instead of text to the screen")
	f.StringVar(&o.moment, "moment", "end", "running, healing, seam, result, end, or the number of an event")
	f.BoolVar(&o.present, "present", false, "as presenter mode shows it")
	f.BoolVar(&o.replay, "replay", false, "as a replay shows it")
	return cmd
}

func (o pictureFlags) draw(cmd *cobra.Command, args []string) error {
	var w, h int
	if n, err := fmt.Sscanf(o.size, "%dx%d", &w, &h); n != 2 || err != nil || w < 20 || h < 5 || w > 400 || h > 200 {
		return fmt.Errorf("--size %s: want columns x rows, such as 120x36", o.size)
	}
	p, err := findPlaces()
	if err != nil {
		return err
	}
	theme, err := themes.Load(o.theme, os.DirFS(themesDir(p)))
	if err != nil {
		return err
	}
	sum, events, err := recorded(p, args)
	if err != nil {
		return err
	}
	n, err := momentOf(o.moment, events)
	if err != nil {
		return err
	}
	state := event.Fold(events[:n])
	opts := ui.StillOptions{
		Width: w, Height: h, Theme: theme, Now: state.Now, File: recordedFiles(sum), Present: o.present, Events: events[:n],
	}
	if o.replay {
		opts.Recorded = len(events)
	}
	return o.write(cmd, ui.Still(state, opts), theme)
}

func (o pictureFlags) write(cmd *cobra.Command, frame string, theme themes.Theme) error {
	if o.out == "" {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), frame)
		return err
	}
	return os.WriteFile(o.out, still.SVG(frame, theme, "kintsugi"), 0o644)
}

// momentOf is how many of the events have happened at a moment.
func momentOf(name string, events []event.Event) (int, error) {
	is := map[string]func(event.Body) bool{
		"running": func(b event.Body) bool { _, ok := b.(event.Attempt); return ok },
		"healing": func(b event.Body) bool { _, ok := b.(event.Progress); return ok },
		"result":  func(b event.Body) bool { _, ok := b.(event.Artefact); return ok },
		"seam":    func(b event.Body) bool { _, ok := b.(event.Seam); return ok },
	}[name]
	if is == nil {
		return numberedMoment(name, events)
	}
	if i := slices.IndexFunc(events, func(e event.Event) bool { return is(e.Body) }); i >= 0 {
		return i + 1, nil
	}
	return 0, fmt.Errorf("--moment %s: the session has no such moment", name)
}

func numberedMoment(name string, events []event.Event) (int, error) {
	if name == "end" {
		return len(events), nil
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < 0 || n > len(events) {
		return 0, fmt.Errorf("--moment %s: want running, healing, seam, result, end, or a number up to %d", name, len(events))
	}
	return n, nil
}

// findSession finds the session that args name, or the newest.
func findSession(p places, args []string) (event.Summary, error) {
	list, err := event.Sessions(p.sessions)
	if err != nil {
		return event.Summary{}, err
	}
	for _, s := range list {
		o := changesOptions{}
		if len(args) == 1 {
			o.session = args[0]
		}
		if o.session == "" || o.means(s, p) {
			return s, nil
		}
	}
	if len(args) == 1 {
		return event.Summary{}, fmt.Errorf("there is no session %s; see: kintsugi sessions", args[0])
	}
	return event.Summary{}, errors.New("there is no session yet; run something first")
}

// recorded reads the session that args name, or the newest.
func recorded(p places, args []string) (event.Summary, []event.Event, error) {
	sum, err := findSession(p, args)
	if err != nil {
		return sum, nil, err
	}
	events, err := event.ReadFile(event.Path(sum.Dir))
	return sum, events, err
}
