package look

import (
	"reflect"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"kintsugi/themes"
)

// Colour never carries meaning alone: without it, every status must still be
// told from every other by its sign and by its word.
func TestStatusesDifferWithoutColour(t *testing.T) {
	t.Parallel()
	mono, err := themes.Load(themes.Mono, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ascii := range []bool{false, true} {
		l := New(mono, ascii, 1)
		glyphs, words := map[string]Status{}, map[string]Status{}
		for _, s := range Statuses() {
			f := l.Face(s)
			if other, taken := glyphs[f.Glyph]; taken || f.Glyph == "" {
				t.Errorf("statuses %d and %d share the sign %q", s, other, f.Glyph)
			}
			if other, taken := words[f.Word]; taken || f.Word == "" {
				t.Errorf("statuses %d and %d share the word %q", s, other, f.Word)
			}
			glyphs[f.Glyph], words[f.Word] = s, s
		}
	}
}

// A sign that is two cells wide somewhere would break every frame it is in.
func TestGlyphsAreOneCellWide(t *testing.T) {
	t.Parallel()
	for _, g := range []Glyphs{unicodeGlyphs(), asciiGlyphs()} {
		v := reflect.ValueOf(g)
		for i := range v.NumField() {
			all := []string{v.Field(i).String()}
			if spin, ok := v.Field(i).Interface().([]string); ok {
				all = spin
			}
			for _, s := range all {
				if ansi.StringWidth(s) != 1 || ansi.StringWidthWc(s) != 1 {
					t.Errorf("%s is %q, %d or %d cells wide", v.Type().Field(i).Name, s, ansi.StringWidth(s), ansi.StringWidthWc(s))
				}
			}
		}
	}
}

func TestASCIIGlyphsAreASCII(t *testing.T) {
	t.Parallel()
	v := reflect.ValueOf(asciiGlyphs())
	for i := range v.NumField() {
		if s := v.Field(i).String(); v.Field(i).Kind() == reflect.String && (len(s) != 1 || s[0] < 0x20 || s[0] > 0x7e) {
			t.Errorf("%s is %q", v.Type().Field(i).Name, s)
		}
	}
}

// Nothing but a seam may be as gold as a seam.
func TestGoldIsForSeams(t *testing.T) {
	t.Parallel()
	for _, name := range themes.List(nil) {
		theme, err := themes.Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if theme.Color(themes.Gold).IsDefault() || name == themes.ANSILight || name == "colour-blind" {
			continue // few colours; weight and sign tell
		}
		for _, k := range []themes.Token{themes.Accent, themes.OK, themes.Error, themes.Info, themes.BorderFocus, themes.Muted} {
			if theme.Color(k) == theme.Color(themes.Gold) {
				t.Errorf("%s: %s is gold", name, k)
			}
		}
	}
}

func TestNumbersAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{Duration(0), "0 ms"}, {Duration(400 * time.Microsecond), "0.4 ms"}, {Duration(3 * time.Millisecond), "3 ms"},
		{Duration(320 * time.Millisecond), "0.3 s"}, {Duration(9950 * time.Millisecond), "9.9 s"}, {Duration(12 * time.Second), "12 s"},
		{Duration(125 * time.Second), "2 min 05 s"}, {Duration(62 * time.Minute), "1 h 02 min"}, {Duration(-1), "0 ms"},
		{Bytes(12), "12 B"}, {Bytes(12 << 10), "12 KB"}, {Bytes(41 << 20), "41 MB"}, {Bytes(3 << 29), "1.5 GB"},
		{Count(7), "7"}, {Count(1990000), "1,990,000"}, {Count(-1234), "-1,234"},
		{Plural(1, "file"), "1 file"}, {Plural(2, "file"), "2 files"},
		{Command([]string{"python3", "my plot.py", ""}), "python3 'my plot.py' ''"}, {Command([]string{"it's"}), `'it'\''s'`},
		{Command([]string{"/usr/bin/bash", "-c", "ls | wc"}), "ls | wc"}, {Command([]string{"bash", "-c"}), "bash -c"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
