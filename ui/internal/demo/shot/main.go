// Command shot draws a scripted session as a picture on standard output.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui"
	"kintsugi/ui/internal/demo"
	"kintsugi/ui/still"
)

func main() {
	theme := flag.String("theme", themes.Dark, "theme")
	story := flag.String("story", "plot", "plot, running, ask, hard, results, lanes")
	w, h := flag.Int("w", 120, "columns"), flag.Int("h", 34, "rows")
	selected := flag.Bool("select", false, "explain an entry of the timeline")
	in := flag.Bool("in", false, "draw a screen that was captured from a terminal, from standard input")
	flag.Parse()
	t, err := themes.Load(*theme, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	beats := map[string][]demo.Beat{"plot": demo.Plot(), "running": demo.Running(), "ask": demo.Ask(), "hard": demo.Hard(), "results": demo.Results(), "lanes": demo.Lanes()}[*story]
	state := event.Fold(demo.Events(beats))
	frame := ui.Still(state, ui.StillOptions{Width: *w, Height: *h, Theme: t, Now: state.Now, Select: *selected, File: demo.File})
	if *in {
		text, _ := io.ReadAll(os.Stdin)
		frame = strings.TrimRight(string(text), "\n")
	}
	_, _ = os.Stdout.Write(still.SVG(frame, t, "Kintsugi"))
}
