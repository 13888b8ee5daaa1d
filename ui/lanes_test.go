package ui

import (
	"testing"
	"time"

	"kintsugi/ui/internal/demo"
)

func TestLanesAreShownSideBySideAndExplained(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 50}} {
		r := newRig(t, size[0], size[1], demo.Lanes())
		r.press("alt+3", "end")
		r.shows("✓ 1 qwen3:4b worked", "✗ 2 lfm2.5:1.2b failed", "● 3 qwen3:4b", "▱▰")
		before := r.screen()
		r.now = r.now.Add(20 * time.Second)
		r.send(tickMsg{})
		if r.screen() == before {
			t.Error("the bar of what runs does not grow")
		}
		r.press("k", "k", "enter")
		r.shows("lane 1: qwen3:4b", "One of several lines of work", "passed the check", "3 steps, 4 attempts, 1 seam, 7,200 tokens")
	}
}
