package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"kintsugi/ui/internal/demo"
)

// Every golden screen was looked at. After a change, run the tests with
// -update and look at them again.
func TestGoldenScreens(t *testing.T) {
	t.Parallel()
	stories := map[string][]demo.Beat{"plot": demo.Plot(), "running": demo.Running(), "ask": demo.Ask(), "hard": demo.Hard(), "results": demo.Results(), "lanes": demo.Lanes(), "empty": nil}
	for name, beats := range stories {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 50}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, size[0], size[1], beats)
				golden.RequireEqual(t, trimmed(r.screen()))
			})
		}
	}
}

// trimmed is a screen without blanks at the ends of rows.
func trimmed(screen string) string {
	rows := strings.Split(screen, "\n")
	for i, r := range rows {
		rows[i] = strings.TrimRight(r, " ")
	}
	return strings.Join(rows, "\n") + "\n"
}

func TestGoldenDialogs(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{
		"help": {"f1"}, "palette": {"ctrl+p", "t", "h"}, "themes": {"alt+t"},
		"results": {"alt+o"}, "look": {"alt+o", "enter"}, "save": {"alt+o", "s"},
		"explain": {"alt+3", "home", "down", "enter"}, "selected": {"alt+3", "home", "down"}, "zoomed": {"alt+2", "z"}, "presenter": {"alt+p", "alt+left", "alt+left", "alt+left", "alt+left", "alt+left", "alt+left"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 100, 30, demo.Plot())
			r.press(keys...)
			golden.RequireEqual(t, trimmed(r.screen()))
		})
	}
}

// The colours of one screen, so that a change of a style is seen.
func TestGoldenColours(t *testing.T) {
	t.Parallel()
	golden.RequireEqual(t, newRig(t, 100, 24, demo.Plot()).Frame())
}
