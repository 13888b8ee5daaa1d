package ui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi/kitty"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/demo"
	"kintsugi/ui/internal/picture"
)

func (r *rig) send(msgs ...tea.Msg) {
	for _, msg := range msgs {
		r.run(r.Update(msg))
	}
}

func TestPicturesAreHalfBlocksUntilTheTerminalSaysMore(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Results())
	r.shows("▣ months.png", "640×400 · 14 KB", "▀▀▀▀▀▀▀▀", "not an image · 40 B", "month  mean  warm", "slope  0.42", "out/model.bin", "41 MB")
	if !strings.Contains(r.raw, "\x1b[>q") || !strings.Contains(r.raw, "\x1b[16t") || !strings.HasSuffix(r.raw, "\x1b[c") {
		t.Errorf("the terminal was asked %q", r.raw)
	}
	r.raw = ""
	r.now = r.now.Add(answerTime + time.Second)
	r.send(tea.TerminalVersionMsg{Name: "kitty(0.41.0)"}, uv.PrimaryDeviceAttributesEvent{62, 4})
	if r.raw != "" || r.gallery.By != picture.None {
		t.Errorf("an answer that came too late counts: %q", r.raw)
	}
}

func TestSomeTerminalsAreNotAsked(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{{"TERM=tmux-256color"}, {"TERM=screen"}, {"TERM=xterm-256color", "TMUX=/tmp/x"}, {"TERM=linux"}} {
		r := newRig(t, 120, 40, nil)
		r.o.Env = env
		r.raw = ""
		r.onEvents(demo.Events(demo.Results()))
		r.send(nil)
		r.shows("640×400")
		if r.raw != "" {
			t.Errorf("%v was asked %q", env, r.raw)
		}
	}
}

func TestAKittyTerminalGetsThePicture(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Results())
	r.raw = ""
	r.send(tea.TerminalVersionMsg{Name: "kitty(0.41.0)"}, uv.CellSizeEvent{Width: 10, Height: 20}, uv.PrimaryDeviceAttributesEvent{62})
	if !strings.Contains(r.raw, "a=q") {
		t.Fatalf("it was not asked about pictures: %q", r.raw)
	}
	r.raw = ""
	r.send(uv.KittyGraphicsEvent{Options: kitty.Options{ID: askID}, Payload: []byte("ENOTSUPPORTED")})
	r.hides(string(kitty.Placeholder))
	r.send(uv.KittyGraphicsEvent{Options: kitty.Options{ID: askID}, Payload: []byte("OK")})
	r.shows(strings.Repeat(string([]rune{kitty.Placeholder, kitty.Diacritic(1), kitty.Diacritic(0)}), 1))
	r.hides("▀▀")
	if strings.Count(r.raw, "a=T") != 1 || !strings.Contains(r.raw, "i=16,") {
		t.Errorf("sent %.200q", r.raw)
	}
	r.raw = ""
	r.send(nil)
	if r.raw != "" {
		t.Error("it is sent again and again")
	}
	r.send(tea.WindowSizeMsg{Width: 100, Height: 30})
	if strings.Count(r.raw, "a=T") != 1 {
		t.Error("another size needs the picture again")
	}
	r.raw = ""
	r.run(r.forgetPictures())
	if !strings.Contains(r.raw, "a=d,d=I,i=16") {
		t.Errorf("the terminal keeps it: %q", r.raw)
	}
}

// rests lets a picture rest and be drawn; the commands are timers, which the
// test runs by hand.
func (r *rig) rests() {
	r.send(restMsg{r.hung.gen})
	r.send(paintMsg{r.hung.gen, r.painter()()})
}

func TestPicturesAreDrawnOverTheirCellsOnceTheyRest(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"WezTerm 20240203": "\x1b]1337;File=", "foot(1.16.2)": "\x1bP0;1q"} {
		r := newRig(t, 120, 40, demo.Results())
		r.send(tea.TerminalVersionMsg{Name: version}, uv.PrimaryDeviceAttributesEvent{62, 4, 22})
		r.shows("▀▀▀")
		if len(r.hung.placed) != 1 {
			t.Fatalf("%s: placed %+v", version, r.hung.placed)
		}
		r.raw = ""
		r.rests()
		r.shows("▄▄▄")
		r.hides("▀▀▀")
		x, y := r.find("▄▄▄")
		if !strings.Contains(r.raw, want) || r.hung.placed[0].x != x || r.hung.placed[0].y != y {
			t.Errorf("%s: drew %.60q at %+v, the cells are at %d %d", version, r.raw, r.hung.placed, x, y)
		}
		old := r.hung.gen
		r.raw = ""
		r.press("alt+2", "home", "down")
		r.shows("▀▀▀")
		r.hides("▄▄▄")
		r.send(restMsg{old}, paintMsg{old, "stale"})
		if r.raw != "" {
			t.Errorf("%s: what has moved is drawn: %q", version, r.raw)
		}
	}
}

func TestScreensWithoutColourShadePictures(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Results())
	if err := r.setTheme(themes.Mono); err != nil {
		t.Fatal(err)
	}
	r.shows("░", "█")
	r.hides("▀▀")
}

func TestResultsAreLookedAtOpenedAndSaved(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 50}} {
		r := newRig(t, size[0], size[1], demo.Results())
		r.press("alt+2", "r")
		r.shows("Results", "months.png", "step 1")
		r.press("enter")
		r.shows("640×400", "Esc back")
		r.press("esc", "down", "down", "enter")
		r.shows("12 rows", "mean")
		r.press("end", "esc", "o", "s")
		r.shows("Save a copy", "/home/mira/months.csv")
		r.press("backspace", "backspace", "backspace")
		r.typeText("txt")
		r.press("enter", "esc")
		if got := strings.Join(r.want.got, ";"); got != "open months.csv;keep months.csv /home/mira/months.txt" {
			t.Errorf("%v: wishes are %q", size, got)
		}
	}
}

func TestAClickOnAResultShowsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 40, demo.Results())
	r.click(r.find("▣ out/model.bin"))
	r.shows("It cannot be shown here")
}

func TestOnlySomePicturesAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24, nil)
	var beats []demo.Beat
	for n := 1; n <= 40; n++ {
		beats = append(beats, demo.Beat{Body: event.StepStart{Step: n}}, demo.Beat{Body: event.Attempt{Step: n, Attempt: 1}},
			demo.Beat{Body: event.AttemptEnd{Step: n, Attempt: 1}}, demo.Beat{Body: event.StepEnd{Step: n, OK: true}},
			demo.Beat{Body: event.Artefact{Step: n, Attempt: 1, Path: "months.png", Media: "image/png", Size: 10, Checkpoint: string(rune('a' + n))}})
	}
	r.onEvents(demo.Events(beats))
	r.send(nil)
	for range 60 {
		r.press("pgup")
	}
	if n := r.gallery.Len(); n == 0 || n > 10 {
		t.Errorf("%d pictures are kept", n)
	}
	r.shows("640×400")
}

func TestADataFrameInTheOutputIsShownAsATable(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 50}} {
		r := newRig(t, size[0], size[1], demo.Plot())
		r.press("alt+2", "T")
		r.shows("a table in the output", "12 rows", "Esc back")
		r.press("end")
		r.shows("2.3")
		r.press("s", "o", "esc")
		if len(r.want.got) > 0 {
			t.Errorf("wishes are %q", r.want.got)
		}
	}
	r := newRig(t, 100, 30, demo.Results())
	r.press("alt+2", "T")
	r.shows("the output has no table")
}
