package themes

import (
	"strings"
	"testing"
	"testing/fstest"
)

// palette is how terminals commonly show the first 16 colours; the check of
// the 16-colour themes needs a reference.
var palette = [16]Color{
	RGB(0, 0, 0), RGB(170, 0, 0), RGB(0, 170, 0), RGB(170, 85, 0),
	RGB(0, 0, 170), RGB(170, 0, 170), RGB(0, 170, 170), RGB(170, 170, 170),
	RGB(85, 85, 85), RGB(255, 85, 85), RGB(85, 255, 85), RGB(255, 255, 85),
	RGB(120, 120, 255), RGB(255, 85, 255), RGB(85, 255, 255), RGB(255, 255, 255),
}

// concrete gives the terminal's own colours a value, black on white or the
// other way round.
func concrete(t Theme) Theme {
	out := Theme{Name: t.Name, Dark: t.Dark, Colors: map[Token]Color{}}
	ground, ink := palette[0], palette[15]
	if !t.Dark {
		ground, ink = ink, ground
	}
	for k, c := range t.Colors {
		out.Colors[k] = c
		if c.kind == kindIndex && c.index < 16 {
			out.Colors[k] = palette[c.index]
		}
		if c.IsDefault() {
			out.Colors[k] = ink
		}
	}
	for _, k := range Backgrounds() {
		if t.Colors[k].IsDefault() {
			out.Colors[k] = ground
		}
	}
	return out
}

func TestEveryThemeIsReadable(t *testing.T) {
	t.Parallel()
	for _, name := range List(nil) {
		theme, err := Load(name, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, bad := range concrete(theme).Check() {
			t.Errorf("%s: %s", name, bad)
		}
		for _, k := range Tokens() {
			if _, set := theme.Colors[k]; !set {
				t.Errorf("%s: %s has no value", name, k)
			}
		}
	}
}

// The two themes made for a bright room and for weak eyes promise level AAA.
func TestStrongThemes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"high-contrast", "projector"} {
		theme, err := Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range Texts() {
			if ratio, _ := Contrast(theme.Color(k), theme.Color(Background)); ratio < 7 {
				t.Errorf("%s: %s has contrast %.1f, wants 7", name, k, ratio)
			}
		}
	}
}

func TestWellKnownFamiliesAreThere(t *testing.T) {
	t.Parallel()
	have := strings.Join(List(nil), " ")
	for _, want := range []string{Dark, Light, ANSI, ANSILight, Mono, Projector,
		"high-contrast", "colour-blind", "catppuccin-mocha", "catppuccin-latte",
		"dracula", "gruvbox-dark", "gruvbox-light", "nord", "solarized-dark",
		"solarized-light", "tokyo-night", "one-dark", "rose-pine"} {
		if !strings.Contains(" "+have+" ", " "+want+" ") {
			t.Errorf("no theme %s", want)
		}
	}
}

func TestUserThemeFallsBack(t *testing.T) {
	t.Parallel()
	user := fstest.MapFS{
		"mine.toml":   {Data: []byte("dark = false\n[colors]\naccent = \"#00f\"\n")},
		"nested.toml": {Data: []byte("extends = \"mine\"\n[colors]\ngold = \"3\"\n")},
	}
	light, _ := Load(Light, nil)
	mine, err := Load("mine", user)
	if err != nil {
		t.Fatal(err)
	}
	if got := mine.Color(Accent); got != RGB(0, 0, 255) {
		t.Errorf("accent is %v", got)
	}
	if mine.Color(Text) != light.Color(Text) || mine.Dark {
		t.Error("a light theme falls back to kintsugi-light")
	}
	nested, err := Load("nested", user)
	if err != nil {
		t.Fatal(err)
	}
	if nested.Color(Accent) != RGB(0, 0, 255) || nested.Color(Gold) != Index(3) {
		t.Error("extends keeps what is below and sets its own")
	}
}

func TestBadThemesSayWhatToDo(t *testing.T) {
	t.Parallel()
	user := fstest.MapFS{
		"typo.toml":   {Data: []byte("[colors]\nacent = \"#fff\"\n")},
		"colour.toml": {Data: []byte("[colors]\naccent = \"reddish\"\n")},
		"broken.toml": {Data: []byte("[colors\n")},
		"a.toml":      {Data: []byte("extends = \"b\"\n")},
		"b.toml":      {Data: []byte("extends = \"a\"\n")},
		"key.toml":    {Data: []byte("colours = 1\n")},
	}
	for name, want := range map[string]string{
		"typo": "unknown colour \"acent\"", "colour": "reddish", "broken": "theme broken",
		"a": "extends itself", "nothing": "choose one of", "../etc": "choose one of",
		"key": "unknown key", "": "choose one of",
	} {
		_, err := Load(name, user)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", name, err, want)
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"#102030": "38;2;16;32;48", "#fff": "38;2;255;255;255", "1": "31", "9": "91", "200": "38;5;200", "": "39",
	} {
		c, err := ParseColor(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Foreground(); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"#12", "#12345g", "256", "-1", "red"} {
		if _, err := ParseColor(in); err == nil {
			t.Errorf("%q is no colour", in)
		}
	}
	if got := Mix(RGB(0, 0, 0), RGB(100, 200, 50), 0.5); got != RGB(50, 100, 25) {
		t.Errorf("half way is %v", got)
	}
}
