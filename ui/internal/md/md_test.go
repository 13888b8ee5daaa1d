package md

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/themes"
	"kintsugi/ui/internal/look"
)

func theLook(t testing.TB) *look.Look {
	t.Helper()
	theme, err := themes.Load(themes.Dark, nil)
	if err != nil {
		t.Fatal(err)
	}
	return look.New(theme, false, 1)
}

// show renders a document without colour, rows joined by "|".
func show(d *Doc, l *look.Look, w int) string {
	var out []string
	for i := range d.Len() {
		for _, row := range d.Rows(i, w, l, l.Text) {
			out = append(out, strings.TrimRight(ansi.Strip(row), " "))
		}
	}
	return strings.Join(out, "|")
}

const sample = "# Title\n\nSome **bold** and `code` text\nthat goes on.\n\n- one\n- two\n  more of two\n    - deep\n\n1. first\n12. second\n\n" +
	"```go\nx := 1\n\n\ty()\n```\n> quoted\n> more\n\n---\n| a | b |\n|---|---|\nsnake_case_name and 2*3*4 and *it* [site](https://example.test) \\*star\\*\n"

const rendered = "Title||Some bold and code text that goes on.||• one|• two more of two|    • deep||1. first|12. second||" +
	"│ go|│ x := 1|│|│         y()|▏ quoted more||────────────────────────|| a | b |||---|---||" +
	"snake_case_name and 2*3*4 and it site (https://example.test) *star*"

func TestRendering(t *testing.T) {
	t.Parallel()
	l := theLook(t)
	var d Doc
	d.Write(sample)
	if got := show(&d, l, 80); got != rendered {
		t.Errorf("got\n%s\nwant\n%s", got, rendered)
	}
}

// However the text is cut while it streams, it ends up the same.
func TestStreamingEndsTheSame(t *testing.T) {
	t.Parallel()
	l := theLook(t)
	for size := 1; size < 40; size++ {
		var d Doc
		for rest := sample; rest != ""; {
			n := min(size, len(rest))
			d.Write(rest[:n])
			rest = rest[n:]
			show(&d, l, 40)
		}
		if got := show(&d, l, 80); got != rendered {
			t.Fatalf("in pieces of %d: got\n%s", size, got)
		}
	}
}

func TestUnfinishedTextIsShown(t *testing.T) {
	t.Parallel()
	l := theLook(t)
	for in, want := range map[string]string{
		"I wil": "I wil", "- it": "• it", "# He": "He", "```py\nimp": "│ py|│ imp", "one\ntw": "one tw", "a **bo": "a **bo",
		"para\n- it": "para|• it", "": "", "\n\n": "", "`x": "`x",
	} {
		var d Doc
		d.Write(in)
		if got := show(&d, l, 40); got != want {
			t.Errorf("%q shows %q, want %q", in, got, want)
		}
		if d.Empty() != (want == "") {
			t.Errorf("%q: empty is %v", in, d.Empty())
		}
	}
}

// A long text must not cost more for each word as it grows.
func TestStreamingDoesNotRenderAgain(t *testing.T) {
	t.Parallel()
	l := theLook(t)
	var d Doc
	d.Write(strings.Repeat("A paragraph of some length.\n\n", 1000))
	d.Rows(0, 40, l, l.Text)
	first := &d.blocks[0].cached[0]
	d.Write("more ")
	if d.Rows(0, 40, l, l.Text); first != &d.blocks[0].cached[0] {
		t.Error("a finished block was rendered again")
	}
	if d.Rows(0, 41, l, l.Text); first == &d.blocks[0].cached[0] {
		t.Error("another width shows the old rows")
	}
}

func TestEndlessLinesAreSplit(t *testing.T) {
	t.Parallel()
	var d Doc
	for range 10_000 {
		d.Write("word ")
	}
	if len(d.line) > maxBlock+5 || len(d.open.text) > 2*maxBlock {
		t.Errorf("the open line has %d bytes, the open block %d", len(d.line), len(d.open.text))
	}
	if d.Len() < 10 {
		t.Errorf("%d blocks", d.Len())
	}
}

func FuzzDoc(f *testing.F) {
	f.Add(sample, 10)
	l := theLook(f)
	f.Fuzz(func(t *testing.T, text string, w int) {
		w = 1 + (w%100+100)%100
		var d Doc
		for rest := text; rest != ""; {
			n := min(7, len(rest))
			d.Write(rest[:n])
			rest = rest[n:]
		}
		for i := range d.Len() {
			for _, row := range d.Rows(i, w, l, l.Text) {
				if got := ansi.StringWidth(row); got != w {
					t.Errorf("a row of %d cells, want %d: %q", got, w, row)
				}
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	l := theLook(b)
	for b.Loop() {
		var d Doc
		for range 5000 {
			d.Write("word **bold** ")
			d.Rows(d.Len()-1, 40, l, l.Text)
		}
	}
}
