package themes

import (
	"fmt"
	"math"
	"strconv"
)

// Color is one value of a theme: the terminal's default, an index of its
// palette, or an exact colour. The zero Color is the default.
type Color struct {
	kind    kind
	index   uint8
	r, g, b uint8
}

type kind uint8

const (
	kindDefault kind = iota
	kindIndex
	kindRGB
)

// RGB is an exact colour.
func RGB(r, g, b uint8) Color { return Color{kind: kindRGB, r: r, g: g, b: b} }

// Index is an entry of the terminal's palette, 0 to 255.
func Index(i uint8) Color { return Color{kind: kindIndex, index: i} }

// ParseColor reads "#rrggbb", "#rgb", a palette index "0" to "255", or "" for
// the terminal's default.
func ParseColor(s string) (Color, error) {
	if s == "" {
		return Color{}, nil
	}
	if s[0] == '#' {
		return parseHex(s)
	}
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		return Color{}, fmt.Errorf("%q is no colour; write \"#rrggbb\", a palette index from 0 to 255, or \"\"", s)
	}
	return Index(uint8(n)), nil
}

func parseHex(s string) (Color, error) {
	digits := s[1:]
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 6 {
		return Color{}, fmt.Errorf("%q is no colour; write \"#rrggbb\"", s)
	}
	return RGB(uint8(n>>16), uint8(n>>8), uint8(n)), nil
}

// IsDefault says that the terminal decides.
func (c Color) IsDefault() bool { return c.kind == kindDefault }

// RGB gives the parts of an exact colour; ok is false for any other.
func (c Color) RGB() (r, g, b uint8, ok bool) { return c.r, c.g, c.b, c.kind == kindRGB }

// String is the form that ParseColor reads.
func (c Color) String() string {
	switch c.kind {
	case kindRGB:
		return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b)
	case kindIndex:
		return strconv.Itoa(int(c.index))
	}
	return ""
}

// Foreground is the parameter list of the control sequence that selects c for
// text, without its frame: "38;2;1;2;3", "38;5;9", "31" or "39".
func (c Color) Foreground() string { return c.sgr(30, 90, "39", "38") }

// BackgroundSGR is Foreground for the background.
func (c Color) BackgroundSGR() string { return c.sgr(40, 100, "49", "48") }

func (c Color) sgr(low, high int, none, long string) string {
	switch {
	case c.kind == kindRGB:
		return fmt.Sprintf("%s;2;%d;%d;%d", long, c.r, c.g, c.b)
	case c.kind == kindDefault:
		return none
	case c.index < 8:
		return strconv.Itoa(low + int(c.index))
	case c.index < 16:
		return strconv.Itoa(high + int(c.index) - 8)
	}
	return fmt.Sprintf("%s;5;%d", long, c.index)
}

// Mix is the colour a part of the way from c to d, with part from 0 to 1. Only
// exact colours mix; otherwise it is the nearer of the two.
func Mix(c, d Color, part float64) Color {
	if c.kind != kindRGB || d.kind != kindRGB {
		if part < 0.5 {
			return c
		}
		return d
	}
	at := func(a, b uint8) uint8 {
		return uint8(math.Round(float64(a) + (float64(b)-float64(a))*part))
	}
	return RGB(at(c.r, d.r), at(c.g, d.g), at(c.b, d.b))
}

// Contrast is the ratio of the luminances of two exact colours, from 1 to 21,
// as WCAG 2.1 defines it. ok is false when one is not exact.
func Contrast(c, d Color) (ratio float64, ok bool) {
	if c.kind != kindRGB || d.kind != kindRGB {
		return 0, false
	}
	a, b := luminance(c), luminance(d)
	if a < b {
		a, b = b, a
	}
	return (a + 0.05) / (b + 0.05), true
}

func luminance(c Color) float64 {
	return 0.2126*linear(c.r) + 0.7152*linear(c.g) + 0.0722*linear(c.b)
}

func linear(v uint8) float64 {
	x := float64(v) / 255
	if x <= 0.03928 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}

// Readable is the least contrast for text, as WCAG 2.1 level AA asks.
const Readable = 4.5

// Check lists what a reader would find hard to read: text tokens that stand
// too little off a background. An empty list is a good theme.
func (t Theme) Check() []string {
	var bad []string
	for _, bg := range Backgrounds() {
		for _, fg := range Texts() {
			ratio, ok := Contrast(t.Color(fg), t.Color(bg))
			if ok && ratio < Readable {
				bad = append(bad, fmt.Sprintf("%s on %s: contrast %.1f, wants %.1f", fg, bg, ratio, Readable))
			}
		}
	}
	return bad
}
