package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/demo"
)

func (w *wishes) AnswerText(id, choice, text string) {
	w.got = append(w.got, "answer "+id+" "+choice+": "+text)
}

// stepRig waits before an act whose code can be edited.
func stepRig(t *testing.T, w, h int) *rig {
	t.Helper()
	code := "import pandas as pd\n\nfor row in pd.read_csv(\"temps.csv\"):\n\tprint(row)  # 日本語, and a line that is much longer than any screen is wide, to see it scroll: " + strings.Repeat("x", 200) + "\n"
	r := newRig(t, w, h, append(demo.Running()[:9], demo.Beat{Body: event.Ask{
		ID: "you-1", Step: 1, Question: "Run this now?", Why: []string{"import pandas as pd"}, Choices: []string{"run it", "skip it"}, Text: code,
	}}))
	r.shows("Run this now?", "1 run it", "2 skip it", "3 edit it first")
	r.now = r.now.Add(time.Second)
	return r
}

func TestGoldenEditor(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			r := stepRig(t, size[0], size[1])
			r.press("e")
			first := trimmed(r.screen())
			r.press("down", "down", "down", "end")
			golden.RequireEqual(t, first+"\n"+trimmed(r.screen()))
		})
	}
}

func TestAnActIsEditedBeforeItRuns(t *testing.T) {
	t.Parallel()
	r := stepRig(t, 100, 30)
	r.press("e")
	r.shows("Edit: Run this now?", "1 import pandas as pd", "␉print(row)")
	r.typeText("# mine")
	r.press("enter")
	r.run(r.Update(tea.PasteMsg{Content: "a\tb"}))
	r.press("ctrl+s")
	r.hides("Edit: Run this now?")
	if got := r.want.got[0]; !strings.HasPrefix(got, "answer you-1 run it: # mine\na\tbimport pandas as pd\n\nfor row") || !strings.Contains(got, "\n\tprint(row)") {
		t.Errorf("wish is %q", got)
	}
}

func TestAnUneditedActRunsAsItIs(t *testing.T) {
	t.Parallel()
	r := stepRig(t, 100, 30)
	r.press("3")
	r.press("esc")
	r.shows("Run this now?")
	r.now = r.now.Add(time.Second)
	r.press("e", "ctrl+s")
	if got := strings.Join(r.want.got, ";"); got != "answer you-1 run it" {
		t.Errorf("wishes are %q", got)
	}
}

func TestTheEditorClosesWhenSomethingElseAnswered(t *testing.T) {
	t.Parallel()
	r := stepRig(t, 100, 30)
	r.press("e")
	r.onEvents([]event.Event{{Body: event.Answer{ID: "you-1", Choice: "skip it"}}})
	r.hides("Edit: Run this now?")
}

func TestAnEnvironmentIsAskedForInWords(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30, nil)
	r.typeText("/env")
	r.shows("/env", "make an environment")
	r.press("enter")
	r.shows("write /env WORDS")
	r.typeText("Python 3.12 with pandas")
	r.press("enter")
	if got := strings.Join(r.want.got, ";"); got != "env Python 3.12 with pandas" {
		t.Errorf("wishes are %q", got)
	}
}
