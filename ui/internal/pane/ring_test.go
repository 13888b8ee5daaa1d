package pane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/agent/event"
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

// show renders a ring without colour, rows joined by "|".
func (r *ring) show(l *look.Look, w int) string {
	var out []string
	for n := r.first; n < r.end(); n++ {
		for _, row := range r.render(n, w, l) {
			out = append(out, strings.TrimSpace(ansi.Strip(row)))
		}
	}
	return strings.Join(out, "|")
}

func out(text string) event.Output    { return event.Output{Text: text} }
func errOut(text string) event.Output { return event.Output{Text: text, Stderr: true} }

func TestOutputAsATerminalShowsIt(t *testing.T) {
	t.Parallel()
	l := theLook(t)
	for _, c := range []struct {
		name string
		in   []event.Output
		want string
	}{
		{"lines", []event.Output{out("a\nb\n")}, "a|b"},
		{"pieces", []event.Output{out("a"), out("b\nc"), out("d")}, "ab|cd"},
		{"a progress bar rewrites its line", []event.Output{out("10%\r"), out("50%\r100%\n"), out("done\n")}, "100%|done"},
		{"a line end of two bytes", []event.Output{out("a\r"), out("\nb\r\n")}, "a|b"},
		{"streams do not mix in a line", []event.Output{out("a"), errOut("x\n"), out("b\n")}, "a|▍ x|b"},
		{"blank lines", []event.Output{out("\n\na\n")}, "||a"},
		{"moves of a progress bar", []event.Output{out("␛[2K␛[1Gdone ␛[31x kept\n")}, "done ␛[31x kept"},
		{"wrapped", []event.Output{out("abcdefghij\n")}, "abcdef|ghij"},
	} {
		var r ring
		for _, o := range c.in {
			r.write(o)
		}
		w := 40
		if c.name == "wrapped" {
			w = 10
		}
		if got := r.show(l, w); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestColourReachesTheNextLines(t *testing.T) {
	t.Parallel()
	l := theLook(t)
	var r ring
	r.write(out("\x1b[31mred\nstill"))
	r.write(errOut("plain\n"))
	red := l.Palette.ANSI[1]
	if got := r.render(1, 40, l)[0]; !strings.Contains(got, red) {
		t.Errorf("the second line lost its colour: %q", got)
	}
	if got := r.render(2, 40, l)[0]; strings.Contains(got, red+"m") {
		t.Errorf("the colour of one stream reached the other: %q", got)
	}
}

func TestTheRingKeepsTheNewest(t *testing.T) {
	t.Parallel()
	var r ring
	for n := range 3 * ringLines {
		r.write(out(fmt.Sprintf("line %d\n", n)))
	}
	if r.count() != ringLines || r.first != 2*ringLines {
		t.Fatalf("%d lines from %d", r.count(), r.first)
	}
	if first, last := r.at(r.first), r.at(r.end()-1); first.text != "line 20000" || last.text != "line 29999" {
		t.Errorf("from %q to %q", first.text, last.text)
	}
	if r.at(5) != nil || r.at(r.end()) != nil {
		t.Error("a line that is gone is still there")
	}
}

// One chunk larger than the ring must give the same as its lines one by one.
func TestAHugeChunkIsTheSameAsItsLines(t *testing.T) {
	t.Parallel()
	l := theLook(t)
	var b strings.Builder
	for n := range 2*ringLines + 7 {
		fmt.Fprintf(&b, "\x1b[3%dmline %d\n", n%8, n)
	}
	b.WriteString("open")
	var one, many ring
	one.write(out(b.String()))
	for _, line := range strings.SplitAfter(b.String(), "\n") {
		many.write(out(line))
	}
	for n := many.end() - 5; n < many.end(); n++ {
		a, z := one.render(n, 40, l), many.render(n, 40, l)
		if len(a) != 1 || a[0] != z[0] {
			t.Errorf("line %d: %q or %q", n, a, z)
		}
	}
	if one.end() != many.end() {
		t.Errorf("%d or %d lines", one.end(), many.end())
	}
}

// Output that waits becomes lines at once; what no line will be left of is
// only counted.
func TestWaitingOutputIsTheSameAsItsLines(t *testing.T) {
	t.Parallel()
	l := theLook(t)
	var one backlog
	var many ring
	for n := range 3 * ringLines {
		o := out(fmt.Sprintf("\x1b[3%dmline %d", n%8, n))
		if n%3 > 0 {
			o.Text += "\n"
		}
		one.add(o)
		many.write(o)
	}
	got := one.lines()
	if got.end() != many.end() || got.count() != many.count() {
		t.Fatalf("%d lines up to %d, want %d up to %d", got.count(), got.end(), many.count(), many.end())
	}
	for _, n := range []int{got.first, got.first + 1, got.end() - 2, got.end() - 1} {
		a, z := got.render(n, 60, l), many.render(n, 60, l)
		if len(a) != 1 || a[0] != z[0] {
			t.Errorf("line %d: %q or %q", n, a, z)
		}
	}
}

func TestAnEndlessLineIsBounded(t *testing.T) {
	t.Parallel()
	var r ring
	for range 100 {
		r.write(out(strings.Repeat("x", 10_000)))
	}
	if n := len(r.at(0).text); n != maxLine {
		t.Errorf("the line has %d bytes", n)
	}
	if got := r.show(theLook(t), 200); !strings.Contains(got, "983,616 bytes more") {
		t.Errorf("the rest is not counted: %s", got[len(got)-60:])
	}
}

func BenchmarkRing(b *testing.B) {
	text := strings.Repeat("a line of output that is not very long\n", 200)
	var r ring
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.write(out(text))
	}
}
