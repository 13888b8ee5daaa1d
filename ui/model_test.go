package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/demo"
)

// wishes records intents.
type wishes struct{ got []string }

func (w *wishes) Submit(text string) { w.got = append(w.got, "submit "+text) }
func (w *wishes) Shell(cmd string)   { w.got = append(w.got, "shell "+cmd) }
func (w *wishes) RunFile(path string, a []string) {
	w.got = append(w.got, strings.Join(append([]string{"run", path}, a...), "|"))
}
func (w *wishes) Cancel()                  { w.got = append(w.got, "cancel") }
func (w *wishes) Answer(id, choice string) { w.got = append(w.got, "answer "+id+" "+choice) }
func (w *wishes) Environment(words string) { w.got = append(w.got, "env "+words) }
func (w *wishes) Open(a event.Artefact)    { w.got = append(w.got, "open "+a.Path) }
func (w *wishes) Keep(a event.Artefact, path string) {
	w.got = append(w.got, "keep "+a.Path+" "+path)
}
func (w *wishes) Quit() { w.got = append(w.got, "quit") }

// rig is a model with a clock that the test moves.
type rig struct {
	*model
	t    testing.TB
	now  time.Time
	want *wishes
	raw  string // what was written past the renderer
}

func newRig(t testing.TB, w, h int, beats []demo.Beat) *rig {
	t.Helper()
	r := &rig{t: t, want: &wishes{}}
	events := demo.Events(beats)
	r.now = demo.Start()
	if n := len(events); n > 0 {
		r.now = events[n-1].At
	}
	m, err := newModel(Options{
		Intents: r.want, Theme: themes.Dark, Profile: colorprofile.TrueColor, Width: w, Height: h, Reduced: true,
		Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"}, Clock: func() time.Time { return r.now }, History: events, File: demo.File, SaveDir: "/home/mira",
		Complete: func(prefix string) []string { return []string{prefix + "lot.py", prefix + "lan.md"} },
	}.complete())
	if err != nil {
		t.Fatal(err)
	}
	r.model = m
	m.Init()
	r.run(r.Update(nil))
	return r
}

// press sends keys by name; longer words are typed letter by letter.
func (r *rig) press(keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		r.run(r.Update(keyMsg(k)))
	}
}

func (r *rig) typeText(text string) {
	for _, c := range text {
		r.run(r.Update(tea.KeyPressMsg{Code: c, Text: string(c)}))
	}
}

// run does what a command wants, as far as tests need it.
func (r *rig) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			r.run(c)
		}
	case shotMsg, changesMsg:
		r.run(r.Update(msg))
	case tea.RawMsg:
		r.raw += fmt.Sprint(msg.Msg)
	}
}

func keyMsg(k string) tea.KeyPressMsg {
	codes := map[string]rune{"enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "space": tea.KeySpace,
		"backspace": tea.KeyBackspace, "f1": tea.KeyF1, "left": tea.KeyLeft, "right": tea.KeyRight}
	var mod tea.KeyMod
	for {
		if rest, ok := strings.CutPrefix(k, "ctrl+"); ok {
			k, mod = rest, mod|tea.ModCtrl
			continue
		}
		if rest, ok := strings.CutPrefix(k, "shift+"); ok {
			k, mod = rest, mod|tea.ModShift
			continue
		}
		if rest, ok := strings.CutPrefix(k, "alt+"); ok {
			k, mod = rest, mod|tea.ModAlt
			continue
		}
		break
	}
	if c, ok := codes[k]; ok {
		return tea.KeyPressMsg{Code: c, Mod: mod}
	}
	r := []rune(k)[0]
	if mod != 0 {
		return tea.KeyPressMsg{Code: r, Mod: mod}
	}
	return tea.KeyPressMsg{Code: r, Text: k}
}

// screen is what one sees, without colour. It checks that the frame is whole.
func (r *rig) screen() string {
	r.t.Helper()
	frame := r.Frame()
	checkFrame(r.t, frame, r.w, r.h)
	return ansi.Strip(frame)
}

func checkFrame(t testing.TB, frame string, w, h int) {
	t.Helper()
	rows := strings.Split(frame, "\n")
	if len(rows) != h {
		t.Errorf("%d rows, want %d", len(rows), h)
	}
	for y, row := range rows {
		if g, wc := ansi.StringWidth(row), ansi.StringWidthWc(row); g != w || wc != w {
			t.Errorf("row %d is %d or %d cells wide, want %d: %q", y, g, wc, w, ansi.Strip(row))
		}
	}
}

func (r *rig) shows(want ...string) {
	r.t.Helper()
	screen := r.screen()
	for _, w := range want {
		if !strings.Contains(screen, w) {
			r.t.Errorf("the screen lacks %q:\n%s", w, screen)
		}
	}
}

func (r *rig) hides(want ...string) {
	r.t.Helper()
	screen := r.screen()
	for _, w := range want {
		if strings.Contains(screen, w) {
			r.t.Errorf("the screen has %q:\n%s", w, screen)
		}
	}
}

func (r *rig) wished(want ...string) {
	r.t.Helper()
	if got := strings.Join(r.want.got, "\n"); got != strings.Join(want, "\n") {
		r.t.Errorf("intents are %q, want %q", r.want.got, want)
	}
}

func TestFrameIsWholeAtEverySize(t *testing.T) {
	t.Parallel()
	for _, beats := range [][]demo.Beat{demo.Plot(), demo.Hard(), demo.Ask(), demo.Running(), nil} {
		r := newRig(t, 120, 40, beats)
		for w := 1; w < 210; w += 38 {
			for _, h := range []int{1, 15, 30} {
				r.resize(w, h)
				for _, at := range []place{inComposer, inReason, inSandbox, inTimeline} {
					r.setFocus(at)
					r.screen()
				}
				r.setFocus(inTimeline)
				r.toggleZoom()
				r.arrange()
				r.screen()
			}
			if t.Failed() {
				t.Fatalf("at width %d", w)
			}
		}
	}
}

func TestInputBecomesIntents(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, nil)
	r.typeText("draw a cat")
	r.press("enter")
	r.typeText("!ls -l")
	r.press("enter")
	r.typeText("/run 'my plot.py' --fast")
	r.press("enter")
	r.press("enter") // nothing is written
	r.wished("submit draw a cat", "shell ls -l", "run|my plot.py|--fast")
	r.press("up", "up")
	r.shows("!ls -l")
	r.typeText("/nonsense")
	_ = event.Event{}
}
