// Command play shows a scripted session on the real screen, at its own pace.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kintsugi/agent/event"
	"kintsugi/ui"
	"kintsugi/ui/feed"
	"kintsugi/ui/internal/demo"
)

func main() {
	theme := flag.String("theme", "", "theme")
	story := flag.String("story", "plot", "plot, running, ask, hard, results, lanes, empty")
	speed := flag.Float64("speed", 1, "how fast the story runs")
	flag.Parse()
	beats := map[string][]demo.Beat{"plot": demo.Plot(), "running": demo.Running(), "ask": demo.Ask(), "hard": demo.Hard(), "results": demo.Results(), "lanes": demo.Lanes()}[*story]
	f := feed.New(time.Now)
	go play(f, beats, *speed)
	err := ui.Run(context.Background(), ui.Options{
		Events: f.Out(), Theme: *theme, Log: "/tmp/nowhere.jsonl", File: demo.File,
		Complete: func(prefix string) []string { m, _ := filepath.Glob(prefix + "*"); return m },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "play:", err)
		os.Exit(1)
	}
}

// play pushes the events as if they happened now.
func play(f *feed.Feed, beats []demo.Beat, speed float64) {
	for i, b := range beats {
		time.Sleep(time.Duration(float64(b.After) / speed))
		f.Push(event.Event{Seq: int64(i + 1), At: time.Now(), Body: b.Body})
	}
}
