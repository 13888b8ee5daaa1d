package still

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui"
	"kintsugi/ui/internal/demo"
)

func theme(t *testing.T, name string) themes.Theme {
	t.Helper()
	th, err := themes.Load(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// words is the text of a picture; it fails when the picture is not XML.
func words(t *testing.T, svg []byte) string {
	t.Helper()
	var b strings.Builder
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
		if text, ok := tok.(xml.CharData); ok {
			b.Write(text)
			b.WriteByte(' ')
		}
	}
}

func TestFrameHasItsSizeAndLeavesTheStateAlone(t *testing.T) {
	t.Parallel()
	s := event.Fold(demo.Events(demo.Plot()))
	first := frame(s, 120, 40, theme(t, themes.Dark))
	rows := strings.Split(first, "\n")
	if len(rows) != 40 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if w := ansi.StringWidth(row); w != 120 {
			t.Errorf("a row of %d cells: %q", w, ansi.Strip(row))
		}
	}
	if again := frame(s, 120, 40, theme(t, themes.Dark)); again != first {
		t.Error("the second frame of a state is another")
	}
	if !strings.Contains(ansi.Strip(first), "━━━╸ mended ╺━") {
		t.Error("the seam is not whole")
	}
}

func TestMomentMeasuresWhatRuns(t *testing.T) {
	t.Parallel()
	s := event.Fold(demo.Events(demo.Running()))
	frame := ansi.Strip(frameAt(s, 120, 40, theme(t, themes.Dark), s.Now.Add(7*time.Second)))
	if !strings.Contains(frame, "mending      7.7 s") {
		t.Errorf("the remedy does not run on:\n%s", frame)
	}
}

func TestPicturesInEveryTheme(t *testing.T) {
	t.Parallel()
	plot, hard := event.Fold(demo.Events(demo.Plot())), event.Fold(demo.Events(demo.Hard()))
	for _, name := range themes.List(nil) {
		th := theme(t, name)
		svg := SVG(frame(plot, 100, 20, th), th, "a <title> & more")
		text := words(t, svg)
		for _, want := range []string{"pandas", "mended", "a <title> & more", "Timeline"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the picture lacks %q", name, want)
			}
		}
		if !strings.Contains(string(svg), solid(th, themes.GoldDeep)) && name != themes.Mono {
			t.Errorf("%s: the seam has no gold", name)
		}
	}
	th := theme(t, themes.Light)
	words(t, SVG(frame(hard, 100, 30, th), th, ""))
}

// What is not where it belongs is seen at once in a picture: each word of a
// row must start at its cell.
func TestWordsStandAtTheirCells(t *testing.T) {
	t.Parallel()
	th := theme(t, themes.Dark)
	svg := string(SVG("\x1b[0;1;38;2;1;2;3mab\x1b[0m 日本 cd\n│ x", th, ""))
	for _, want := range []string{
		`<text x="14.00" y="48.1" textLength="18.06" fill="#010203" font-weight="bold">ab</text>`,
		`<text x="41.09" y="48.1" textLength="36.12" fill="` + th.Color(themes.Text).String() + `">日本</text>`,
		`<text x="86.24"`, `M18.52 62.50V53.00M18.52 62.50V72.00`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %s:\n%s", want, svg)
		}
	}
}

func TestColoursOfATerminal(t *testing.T) {
	t.Parallel()
	th := theme(t, themes.Dark)
	row := parseRow("\x1b[31ma\x1b[1mb\x1b[22;38;5;196mc\x1b[7md\x1b[me\x1b[94;41mf\x1b[38;5;250;3mg", th)
	plain := plainStyle(th)
	for i, want := range []style{
		{fg: named(1), bg: plain.bg}, {fg: named(1), bg: plain.bg, bold: true}, {fg: "#ff0000", bg: plain.bg},
		{fg: plain.bg, bg: "#ff0000"}, plain, {fg: named(12), bg: named(1)}, {fg: "#bcbcbc", bg: named(1), italic: true},
	} {
		if row[i].style != want {
			t.Errorf("%s is %+v, want %+v", row[i].text, row[i].style, want)
		}
	}
}

// frame is the screen of a state at its last event.
func frame(s *event.State, w, h int, t themes.Theme) string { return frameAt(s, w, h, t, s.Now) }

func frameAt(s *event.State, w, h int, t themes.Theme, now time.Time) string {
	return ui.Still(s, ui.StillOptions{Width: w, Height: h, Theme: t, Now: now})
}
