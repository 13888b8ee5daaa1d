// Command shot draws a scripted session as a picture on standard output.
package main

import (
	"flag"
	"fmt"
	"os"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/demo"
	"kintsugi/ui/still"
)

func main() {
	theme := flag.String("theme", themes.Dark, "theme")
	story := flag.String("story", "plot", "plot, running, ask, hard")
	w, h := flag.Int("w", 120, "columns"), flag.Int("h", 34, "rows")
	flag.Parse()
	t, err := themes.Load(*theme, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	beats := map[string][]demo.Beat{"plot": demo.Plot(), "running": demo.Running(), "ask": demo.Ask(), "hard": demo.Hard()}[*story]
	frame := still.Frame(event.Fold(demo.Events(beats)), *w, *h, t)
	_, _ = os.Stdout.Write(still.SVG(frame, t, "Kintsugi"))
}
