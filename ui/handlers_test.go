package ui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/demo"
)

func (r *rig) click(x, y int) {
	r.run(r.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}))
}

func (r *rig) dragTo(x, y int) {
	r.run(r.Update(tea.MouseMotionMsg{X: x, Y: y, Button: tea.MouseLeft}))
}

func (r *rig) release() tea.Cmd { return r.Update(tea.MouseReleaseMsg{}) }

// find is where a text stands on the screen.
func (r *rig) find(text string) (x, y int) {
	r.t.Helper()
	for y, row := range strings.Split(r.screen(), "\n") {
		if i := strings.Index(row, text); i >= 0 {
			return len([]rune(row[:i])), y
		}
	}
	r.t.Fatalf("%q is not on the screen:\n%s", text, r.screen())
	return 0, 0
}

func TestFocusGoesRound(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	for _, want := range []string{"▸ Reasoning", "▸ Sandbox", "▸ Timeline"} {
		r.press("tab")
		r.shows(want)
	}
	r.press("tab")
	r.hides("▸ Timeline", "▸ Reasoning", "▸ Sandbox")
	r.press("shift+tab")
	r.shows("▸ Timeline")
	r.press("esc")
	if r.focus != inComposer {
		t.Error("Esc goes back to writing")
	}
}

func TestScrollPausesAndFollows(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 20, demo.Plot())
	r.shows("▾ following", "Name: temp")
	r.press("pgup")
	r.shows("‖ paused", "End follows")
	r.hides("Name: temp")
	before := r.screen()
	r.onEvents([]event.Event{{Body: event.Output{Step: 1, Attempt: 2, Text: "late line\n"}}})
	if got := r.screen(); got != before {
		t.Errorf("new output moved what is read:\n%s", got)
	}
	r.press("alt+2", "end")
	r.shows("▾ following")
	r.press("f")
	r.shows("‖ paused")
	r.press("f", "k", "k", "j", "j")
	r.shows("▾ following")
}

func TestWheelScrollsThePaneUnderIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 20, demo.Plot())
	x, y := r.find("Name: temp")
	r.run(r.Update(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelUp}))
	r.shows("‖ paused End follows")
	if !r.reason.Following() || !r.timeline.Following() {
		t.Error("another pane scrolled too")
	}
	r.run(r.Update(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelDown}))
	r.shows("▾ following")
}

func TestClickSelectsAndLinks(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 24, demo.Plot())
	r.click(r.find("✗ attempt 1 failed"))
	r.shows("▸ Timeline", "The program imports pandas", "$ python3 plot.py")
	r.press("enter")
	r.shows("Explained", "pip install pandas")
	r.press("esc", "esc")
	r.hides("Explained", "The program imports pandas")
}

func TestTimelineFolds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	r.press("alt+3", "home", "space")
	r.hides("attempt 1 failed")
	r.shows("1 python3 plot.py ━━")
	r.press("space")
	r.shows("attempt 1 failed")
	r.press("F")
	r.hides("checkpoint")
}

func TestMarkedTextIsCopied(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	var copied string
	r.o.Copy = func(text string) { copied = text }
	r.sandbox.Home()
	x, y := r.find("Traceback")
	r.click(x, y)
	r.dragTo(x+8, y+1)
	if !r.sandbox.Selecting() {
		t.Fatal("nothing is marked")
	}
	r.screen()
	r.run(r.release())
	if want := "Traceback (most recent call last):\n ▍   File \"/"; copied != want {
		t.Errorf("copied %q, want %q", copied, want)
	}
	r.shows("copied 2 lines")
	r.click(x, y)
	if r.sandbox.Selecting() {
		t.Error("a click forgets what was marked")
	}
}

func TestEdgesAreDragged(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	var saved Settings
	r.o.Save = func(s Settings) { saved = s }
	before := r.layout().panes
	x := before[0].w - 1
	r.click(x, 10)
	r.dragTo(x+6, 10)
	r.run(r.release())
	after := r.layout().panes
	if after[0].w != before[0].w+6 || after[2].w != before[2].w {
		t.Errorf("widths went from %v to %v", before, after)
	}
	x = after[2].x
	r.click(x, 10)
	r.dragTo(x-5, 10)
	r.run(r.release())
	if got := r.layout().panes[2].w; got != before[2].w+5 {
		t.Errorf("the timeline is %d wide, want %d", got, before[2].w+5)
	}
	if saved != (Settings{Left: 6, Right: 5}) {
		t.Errorf("remembered %+v", saved)
	}
	r.press("alt+1", ">")
	if saved.Left != 8 {
		t.Errorf("the key does not remember: %+v", saved)
	}
	r.screen()
}

func TestSettingsAreRestored(t *testing.T) {
	t.Parallel()
	m, err := newModel(Options{Settings: Settings{Theme: "nord", Left: 4, Thinking: "all"}, Env: []string{"TERM=xterm"}, Width: 120, Height: 40}.complete())
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{Theme: "nord", Left: 4, Thinking: "all"}
	if m.theme != "nord" || m.settings() != want {
		t.Errorf("theme %s, settings %+v", m.theme, m.settings())
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 20, demo.Plot())
	r.press("alt+2", "ctrl+f")
	r.typeText("TRACE")
	r.shows("Traceback", "Find in Sandbox")
	r.press("enter")
	r.shows("nothing more")
	r.press("esc")
	r.hides("Find in")
	r.shows("Traceback")
}

func TestQuestionsIgnoreKeysAtFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Running()[:11])
	r.typeText("I am typ")
	r.onEvents([]event.Event{{Body: event.Ask{ID: "q9", Question: "Really?", Choices: []string{"Yes", "No"}}}})
	r.shows("Really?", "waits for you")
	r.press("enter", "1")
	r.wished()
	r.now = r.now.Add(grace)
	r.press("down", "enter")
	r.wished("answer q9 No")
	r.hides("Kintsugi asks")
	if got := r.composer.Value(); got != "I am typ" {
		t.Errorf("the draft became %q", got)
	}
}

func TestAQuestionCanWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Ask())
	r.now = r.now.Add(time.Second)
	r.press("esc")
	r.hides("Kintsugi asks")
	r.shows("waits for you", "Alt+A answer")
	r.press("alt+a")
	r.shows("Kintsugi asks")
	r.onEvents([]event.Event{{Body: event.Answer{ID: "q1", Choice: "Do not install"}}})
	r.hides("Kintsugi asks")
}

func TestClickAnswersAQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Ask())
	r.now = r.now.Add(time.Second)
	r.click(r.find("2 Install pandsa once"))
	r.wished("answer q1 Install pandsa once")
}

func TestPalette(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	r.press("ctrl+p")
	r.typeText("fold all")
	r.press("enter")
	r.hides("Commands", "attempt 1 failed")
	r.press("ctrl+p")
	r.typeText("stopruns")
	r.shows("nothing runs")
	r.press("enter")
	r.wished()
	r.press("ctrl+p")
	r.typeText("zzzz")
	r.shows("nothing matches")
	r.press("backspace", "esc")
}

func TestHelpNamesEveryKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, nil)
	rows := r.helpRows(r.look, 76)
	var all strings.Builder
	for _, row := range rows {
		for _, s := range row {
			all.WriteString(s.Text)
		}
		all.WriteByte('\n')
	}
	for _, b := range r.bindings {
		if !strings.Contains(all.String(), b.help[:min(len(b.help), 40)]) {
			t.Errorf("the help lacks %q", b.help)
		}
	}
	for _, s := range slashes() {
		if !strings.Contains(all.String(), s.name) {
			t.Errorf("the help lacks %s", s.name)
		}
	}
}

// Two things on one key in one place would hide one of them.
func TestNoKeyMeansTwoThings(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	ids := map[string]bool{}
	for _, b := range bindings() {
		if ids[b.id] || b.help == "" || len(b.keys) == 0 || b.do == nil {
			t.Errorf("binding %q is not complete or not alone", b.id)
		}
		ids[b.id] = true
		for _, k := range b.keys {
			at := string(rune('0'+b.scope)) + k
			if other := seen[at]; other != "" {
				t.Errorf("%s means both %s and %s", k, other, b.id)
			}
			seen[at] = b.id
		}
	}
}

func TestOwnKeys(t *testing.T) {
	t.Parallel()
	o := Options{Env: []string{"TERM=xterm"}, Keys: map[string][]string{"palette": {"f2"}}}
	m, err := newModel(o.complete())
	if err != nil {
		t.Fatal(err)
	}
	m.onKey(tea.KeyPressMsg{Code: tea.KeyF2})
	if _, ok := m.dialog().(*palette); !ok {
		t.Error("the user's key does nothing")
	}
	for _, keys := range []map[string][]string{{"nonsense": {"x"}}, {"palette": {}}, {"palette": {"tab"}}, {"palette": {"f2"}, "help": {"f2"}}} {
		o.Keys = keys
		if _, err := newModel(o.complete()); err == nil {
			t.Errorf("%v is accepted", keys)
		}
	}
	table, err := KeyTable(map[string][]string{"palette": {"tab"}, "next": {"ctrl+p"}})
	if err != nil || len(table) != len(bindings()) || table[0].ID != "palette" || table[0].Keys[0] != "Tab" {
		t.Errorf("two that change places: %+v, %v", table[:1], err)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, nil)
	r.typeText("/th")
	r.shows("/theme  choose a theme", "/thinking")
	r.press("down", "tab")
	if got := r.composer.Value(); got != "/thinking " {
		t.Errorf("completed to %q", got)
	}
	r.composer.Clear()
	r.typeText("/run p")
	r.shows("plan.md", "plot.py")
	r.press("tab")
	r.typeText("-x")
	r.press("enter")
	r.wished("run|plot.py|-x")
	r.typeText("/he")
	r.press("enter")
	r.shows("Keys and commands")
}

func TestSeveralLinesAndPaste(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30, nil)
	r.typeText("one")
	r.press("alt+enter")
	r.run(r.Update(tea.PasteMsg{Content: "two\nthree"}))
	r.shows("❯ one", "   two", "   three")
	r.press("enter")
	r.wished("submit one\ntwo\nthree")
	if r.composer.Height() != 1 {
		t.Error("the composer stays high")
	}
}

func TestHistoryKeepsTheDraft(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30, nil)
	r.typeText("first")
	r.press("enter")
	r.typeText("draft")
	r.press("up")
	r.shows("❯ first")
	r.press("down")
	r.shows("❯ draft")
}

func TestBadInputSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/nonsense x": "/help shows them", "/run": "write /run FILE", "!": "write the command after the !",
		"/run 'a": "a quote is not closed", "/theme neon": "no theme is called \"neon\"", "/run ''": "no file is named",
	} {
		r := newRig(t, 160, 30, nil)
		r.composer.set(in)
		r.press("enter")
		r.shows(want)
		r.wished()
	}
}

func TestThemePickerTriesAndReturns(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	r.press("alt+t")
	r.typeText("nord")
	if r.theme != "nord" {
		t.Errorf("the theme is %s while it is tried", r.theme)
	}
	r.screen()
	r.press("esc")
	if r.theme != themes.Dark {
		t.Errorf("the theme is %s after Esc", r.theme)
	}
	r.press("alt+t")
	r.typeText("latte")
	r.press("enter")
	if r.theme != "catppuccin-latte" || r.chosen != r.theme {
		t.Errorf("the theme is %s, chosen %s", r.theme, r.chosen)
	}
}

func TestBackgroundChoosesTheTheme(t *testing.T) {
	t.Parallel()
	m, err := newModel(Options{Env: []string{"TERM=xterm-256color"}, Profile: 5, Width: 100, Height: 30}.complete())
	if err != nil {
		t.Fatal(err)
	}
	if m.ready || m.View().Content != "" {
		t.Error("the first frame does not wait for the background")
	}
	m.Update(waitedMsg{})
	if !m.ready || m.theme != themes.Dark {
		t.Error("silence means dark")
	}
	m.Update(tea.BackgroundColorMsg{Color: lightColor{}})
	if m.theme != themes.Light {
		t.Errorf("a light terminal gets %s", m.theme)
	}
}

type lightColor struct{}

func (lightColor) RGBA() (r, g, b, a uint32) { return 0xffff, 0xffff, 0xffff, 0xffff }

func TestThemeForTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"NO_COLOR=1", "TERM=xterm-256color"}, themes.Mono}, {[]string{"TERM=xterm", "COLORFGBG=0;15"}, themes.ANSILight},
		{[]string{"TERM=xterm"}, themes.ANSI}, {[]string{"TERM=xterm-256color", "COLORFGBG=15;0"}, themes.Dark},
		{[]string{"TERM=xterm-256color", "COLORFGBG=0;default;15"}, themes.Light}, {[]string{"TERM=xterm-256color", "COLORFGBG=junk"}, themes.Dark},
	} {
		m, err := newModel(Options{Env: append(c.env, "TTY_FORCE=1", "CLICOLOR_FORCE=1"), Profile: 0}.complete())
		if err != nil {
			t.Fatal(err)
		}
		if m.theme != c.want {
			t.Errorf("%v: %s, want %s (profile %v)", c.env, m.theme, c.want, m.o.Profile)
		}
	}
}

func TestNothingTicksWhenNothingMoves(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	r.o.Reduced = false
	if r.animate() != nil {
		t.Error("an idle screen ticks")
	}
	r = newRig(t, 120, 40, demo.Running())
	r.o.Reduced = false
	if r.animate() == nil || r.animate() != nil {
		t.Error("a running screen has exactly one tick on its way")
	}
	r.ticking, r.blurred = false, true
	if r.animate() != nil {
		t.Error("a terminal that nobody looks at ticks")
	}
}

func TestSmallTerminalSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, 50, 10, demo.Plot())
	r.shows("Kintsugi needs 60x15; this is 50x10.")
	r.press("a", "tab", "ctrl+p", "esc")
	r.click(3, 3)
	r.resize(60, 15)
	r.shows("Sandbox")
}

// able is wishes that can do everything.
type able struct{ wishes }

func (a *able) StepMode(on bool) {
	a.got = append(a.got, "step "+map[bool]string{true: "on", false: "off"}[on])
}
func (a *able) Rewind(id string) { a.got = append(a.got, "rewind "+id) }
func (a *able) Fork(id string)   { a.got = append(a.got, "fork "+id) }
func (a *able) Apply()           { a.got = append(a.got, "apply") }

func TestActsThatSomeSessionsKnow(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	r.press("alt+s")
	r.shows("cannot be stepped")
	a := &able{}
	r.o.Intents = a
	r.press("alt+s")
	r.shows("step by step")
	r.press("alt+s", "alt+w", "alt+3", "home", "R")
	r.shows("Make the workspace as it was at checkpoint c1?")
	r.press("up", "enter", "K", "y", "R", "esc")
	if got := strings.Join(a.got, ";"); got != "step on;step off;apply;rewind c1;fork c1" {
		t.Errorf("got %s", got)
	}
	r.press("end", "R")
	r.shows("the step has no checkpoint")
}

func TestPresenter(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot()[:9])
	r.press("alt+p")
	r.shows("The agent decided what to run.", "Alt+P")
	if l := r.layout(); l.panes[0].w < l.panes[1].w {
		t.Errorf("the spotlight is not on the reasoning: %v", l.panes)
	}
	r.onEvents(demo.Events(demo.Plot())[9:12])
	r.shows("The box was born in 3 ms.")
	if l := r.layout(); l.panes[1].w < l.panes[0].w {
		t.Errorf("the spotlight is not on the sandbox: %v", l.panes)
	}
	r.now = r.now.Add(2 * keyTime)
	r.typeText("secret")
	if screen := r.screen(); strings.Contains(screen, " s \n") || r.show.key != "" {
		t.Error("what is written is shown as keys")
	}
	for w := 60; w < 200; w += 33 {
		r.resize(w, 20)
		r.screen()
	}
	r.press("alt+p")
	r.hides("The box was born in 3 ms.")
}

func TestGoldRunsAlongANewSeam(t *testing.T) {
	t.Parallel()
	beats := demo.Plot()
	events := demo.Events(beats)
	seam := 0
	for i, b := range beats {
		if _, ok := b.Body.(event.Seam); ok {
			seam = i
		}
	}
	r := newRig(t, 120, 40, beats[:seam])
	r.o.Reduced = false
	r.live.flow()
	r.Update(eventsMsg(events[seam:]))
	gold := func() int { return strings.Count(r.screen(), "━") }
	last := gold()
	start := last
	for range 8 {
		r.now = r.now.Add(100 * time.Millisecond)
		r.Update(tickMsg{})
		if n := gold(); n < last {
			t.Errorf("the gold goes back from %d to %d", last, n)
		} else {
			last = n
		}
	}
	if full := strings.Count(newRig(t, 120, 40, beats).screen(), "━"); last != full || start >= full/2 {
		t.Errorf("it runs from %d to %d cells of %d", start, last, full)
	}
	if r.timeline.Flowing() || r.ticking && r.animate() != nil {
		t.Error("it never ends")
	}
}

func TestThinkingUnfolds(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Plot())
	r.hides("group by month and plot the means")
	r.click(r.find("∴ thought, 27 words"))
	r.shows("group by", "∴ thinking ▾", "∴ thought, 5 words ▸")
	r.click(r.find("∴ thinking"))
	r.shows("∴ thought, 27 words ▸")
	r.press("alt+1", "t")
	r.shows("is the natural tool.", "July has the highest mean.")
	r.press("t")
	r.shows("thinking is folded")
	r.hides("July has the highest mean.")
}

func TestWholePrograms(t *testing.T) {
	t.Parallel()
	code := strings.Repeat("print(1)\n", 30) + "print('end')\n"
	r := newRig(t, 120, 50, []demo.Beat{{Body: event.StepStart{Step: 1}}, {Body: event.Call{Step: 1, Tool: "python", Text: code, Origin: "model"}}, {Body: event.StepEnd{Step: 1}}})
	r.shows("… 19 more lines")
	r.press("alt+1", "o")
	r.shows("print('end')")
	r.press("o")
	r.hides("print('end')")
}
