package cell

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

var hard = []string{
	"plain", "日本語", "e\u0301a\u0300", "👨‍👩‍👧", "❤️", "👍🏽", "🇩🇪", "שלום", "ﷺ", "กำ", "\u202egnp.exe", "a\u200bb", "\ufeff",
	"\x1b[31m", "\x07", "\x7f", "a\tb", "\xff\xfe", "⚡", "☃️", "1️⃣", "a\rb", "x\u0301\u0301\u0301", "\u0301", "½ × ÷ ñ",
	"👩🏾‍🚀 in 🏳️‍🌈", "ｆｕｌｌ", "한국어", "\u2028", "\u00ad", "\U000e0041", "⚒✗✓◆◇▸▾❯∴⊘⊝▰▱",
}

// Terminals measure by code points or by clusters. Safe text has the same
// width either way, and holds nothing that could move the cursor.
func TestSafeTextIsAsWideEverywhere(t *testing.T) {
	t.Parallel()
	for _, s := range hard {
		safe := Safe(s)
		if wc, g := ansi.StringWidthWc(safe), ansi.StringWidth(safe); wc != g || wc != Width(safe) {
			t.Errorf("%q became %q: %d by code point, %d by cluster, %d by us", s, safe, wc, g, Width(safe))
		}
		if i := strings.IndexFunc(safe, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e }); i >= 0 {
			t.Errorf("%q keeps a control character: %q", s, safe)
		}
	}
}

func TestSafeKeepsWhatIsHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"日本語": "日本語", "e\u0301": "e\u0301", "שלום": "שלום", "a\tb": "a       b", "👨‍👩‍👧": "👨", "\x1b[m": "␛[m", "\xff": "�", "": "",
	} {
		if got := Safe(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func FuzzSafe(f *testing.F) {
	for _, s := range hard {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		safe := Safe(s)
		if wc, g := ansi.StringWidthWc(safe), ansi.StringWidth(safe); wc != g {
			t.Errorf("%q became %q: %d or %d cells", s, safe, wc, g)
		}
		row := Row{S(NewStyle("31", "", 0), s)}
		for _, w := range []int{1, 2, 7, 40} {
			if got := ansi.StringWidth(row.Render(w, NewStyle("", "", 0))); got != w {
				t.Errorf("%q rendered to %d cells, want %d", s, got, w)
			}
			for _, r := range append(Wrap(row, w), WrapWords(row, w, nil)...) {
				if r.Width() > w && r.Width() > 2 {
					t.Errorf("%q wrapped to %d cells, want at most %d", s, r.Width(), w)
				}
			}
		}
	})
}

func TestCuts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{Truncate("hello world", 7), "hello …"}, {Truncate("日本語日本語", 5), "日本…"}, {Truncate("ab", 2), "ab"},
		{Truncate("ab", 0), ""}, {Truncate("日本", 1), "…"},
		{Middle("/home/mira/project/plot.py", 15), "/home/m…plot.py"}, {Middle("short", 15), "short"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// text joins rows for comparing.
func text(rows []Row) string {
	var out []string
	for _, r := range rows {
		var b strings.Builder
		for _, s := range r {
			b.WriteString(s.Text)
		}
		out = append(out, b.String())
	}
	return strings.Join(out, "|")
}

func TestWrapping(t *testing.T) {
	t.Parallel()
	st := NewStyle("", "", 0)
	one := func(s string) []Span { return []Span{S(st, s)} }
	for _, c := range []struct{ got, want string }{
		{text(Wrap(one("abcdefgh"), 3)), "abc|def|gh"},
		{text(Wrap(one("日本語"), 3)), "日|本|語"},
		{text(Wrap(one(""), 3)), ""},
		{text(WrapWords(one("the quick brown fox"), 9, nil)), "the quick|brown fox"},
		{text(WrapWords(one("a verylongwordindeed b"), 6, nil)), "a|verylo|ngword|indeed|b"},
		{text(WrapWords(one("one two three"), 7, Row{S(st, "  ")})), "one two|  three"},
		{text(WrapWords([]Span{S(st, "bo"), S(NewStyle("31", "", 0), "ld word")}, 5, nil)), "bold|word"},
		{text(WrapWords(one("日本語の文章です"), 8, nil)), "日本語の|文章です"},
		{text(WrapWords(one("  led"), 8, nil)), "  led"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	st := NewStyle("", "", 0)
	left, right := Row{S(st, "a long title")}, Row{S(st, "0.3 s")}
	for w, want := range map[int]string{20: "a long title   0.3 s", 12: "a lon… 0.3 s", 9: "a long t…"} {
		if got := text([]Row{Between(left, right, w, st)}); got != want {
			t.Errorf("%d: got %q, want %q", w, got, want)
		}
	}
}

func palette() *Palette {
	p := &Palette{Base: NewStyle("38;2;1;1;1", "48;2;2;2;2", 0)}
	for i := range p.ANSI {
		p.ANSI[i], p.ANSIBack[i] = "38;5;"+string(rune('a'+i)), "48;5;"+string(rune('a'+i))
	}
	return p
}

func TestProgramColours(t *testing.T) {
	t.Parallel()
	p := palette()
	spans, pen := Parse("a\x1b[1;31mb\x1b[0mc\x1b[48;5;200md\x1b[38;5;1me\x1b[m\x1b[2Kf\x1b[7mg", Pen{}, p)
	want := []string{"\x1b[0;38;2;1;1;1;48;2;2;2;2m", "\x1b[0;1;38;5;b;48;2;2;2;2m", "\x1b[0;38;2;1;1;1;48;2;2;2;2m",
		"\x1b[0;38;2;1;1;1;48;5;200m", "\x1b[0;38;5;b;48;5;200m", "\x1b[0;38;2;1;1;1;48;2;2;2;2m", "\x1b[0;7;38;2;1;1;1;48;2;2;2;2m"}
	for i, s := range spans {
		if s.Text != string(rune('a'+i)) || s.Style.Seq() != want[i] {
			t.Errorf("span %d is %q in %q, want %q", i, s.Text, s.Style.Seq(), want[i])
		}
	}
	next, _ := Parse("still reversed", pen, p)
	if next[0].Style.Seq() != want[6] {
		t.Error("a colour ends with its line")
	}
	if got := Scan("x\x1b[1;31my", Pen{}); got != (Pen{fg: "1", attr: Bold}) {
		t.Errorf("scanned %+v", got)
	}
}

func TestColoursAreOffOnAPlainPalette(t *testing.T) {
	t.Parallel()
	p := palette()
	p.Plain = true
	spans, _ := Parse("\x1b[1;31mb", Pen{}, p)
	if got := spans[0].Style.Seq(); got != "\x1b[0;1;38;2;1;1;1;48;2;2;2;2m" {
		t.Errorf("got %q", got)
	}
}

func TestSpliceKeepsTheWidth(t *testing.T) {
	t.Parallel()
	st := NewStyle("31", "", 0)
	row := Row{S(st, "ab日本語cd👨ef")}.Render(20, st)
	for from := range 20 {
		for to := from; to <= 20; to++ {
			got := Splice(row, from, to, 20, strings.Repeat("x", to-from))
			if w := ansi.StringWidth(got); w != 20 {
				t.Errorf("[%d:%d] is %d cells wide: %q", from, to, w, got)
			}
			if w := ansi.StringWidth(Part(row, from, to)); w != to-from {
				t.Errorf("part [%d:%d] is %d cells wide", from, to, w)
			}
		}
	}
}
