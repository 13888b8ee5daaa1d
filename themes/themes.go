// Package themes is colour as data: TOML files, embedded and the user's own,
// in which every token is optional.
//
// A theme only names colours. What a status looks like besides its colour (its
// glyph, its word, its weight) is the screen's business, so that no theme can
// make two statuses differ by colour alone. The package never asks the
// terminal anything and draws nothing.
package themes

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

//go:embed *.toml
var builtin embed.FS

// Names of the themes that the program chooses by itself.
const (
	Dark        = "kintsugi-dark"
	Light       = "kintsugi-light"
	ANSI        = "ansi16"
	ANSILight   = "ansi16-light"
	Mono        = "mono"
	Projector   = "projector"
	fileEnding  = ".toml"
	maxInherits = 8
)

// Token names one colour of a theme.
type Token string

// The tokens. The first four are backgrounds, Border to GoldDeep draw lines,
// the others are text.
const (
	Background  Token = "background" // the screen
	Surface     Token = "surface"    // composer and status line
	Overlay     Token = "overlay"    // dialogs
	Selection   Token = "selection"  // the selected row
	Text        Token = "text"
	Muted       Token = "muted"
	Accent      Token = "accent"
	Gold        Token = "gold" // seams, and nothing else
	OK          Token = "ok"
	Error       Token = "error"
	Warn        Token = "warn"
	Info        Token = "info"
	Running     Token = "running"
	Thinking    Token = "thinking"
	Code        Token = "code"
	Heading     Token = "heading"
	Stderr      Token = "stderr"
	GoldBright  Token = "gold_bright" // the middle of a seam
	GoldDeep    Token = "gold_deep"   // the ends of a seam
	Border      Token = "border"
	BorderFocus Token = "border_focus"
)

// Backgrounds are the tokens that text is drawn on.
func Backgrounds() []Token { return []Token{Background, Surface, Overlay, Selection} }

// Texts are the tokens that draw text, and so must be readable on every
// background.
func Texts() []Token {
	return []Token{Text, Muted, Accent, Gold, OK, Error, Warn, Info, Running,
		Thinking, Code, Heading, Stderr, GoldBright}
}

// Lines are the tokens that only draw borders and rules.
func Lines() []Token { return []Token{GoldDeep, Border, BorderFocus} }

// Tokens are all of them.
func Tokens() []Token { return append(append(Backgrounds(), Texts()...), Lines()...) }

// Theme is a complete set of colours: every token has a value.
type Theme struct {
	Name   string
	Title  string
	Dark   bool
	Colors map[Token]Color
}

// Color is the value of a token; a token that a theme leaves out is the
// terminal's default.
func (t Theme) Color(k Token) Color { return t.Colors[k] }

// file is the form of a theme on disk.
type file struct {
	Title   string            `toml:"title"`
	Dark    *bool             `toml:"dark"`
	Extends string            `toml:"extends"`
	Colors  map[string]string `toml:"colors"`
}

// Load reads the theme called name, from user first (nil: built-in only), then
// from the built-in ones. Tokens that it does not set come from the theme it
// extends, or from kintsugi-dark or kintsugi-light.
func Load(name string, user fs.FS) (Theme, error) {
	return load(name, user, 0)
}

func load(name string, user fs.FS, depth int) (Theme, error) {
	if depth > maxInherits {
		return Theme{}, fmt.Errorf("theme %s: extends itself; remove one of the extends lines", name)
	}
	text, err := read(name, user)
	if err != nil {
		return Theme{}, err
	}
	f, err := parse(name, text)
	if err != nil {
		return Theme{}, err
	}
	return complete(name, f, user, depth)
}

// read finds the file of a theme. A theme that the user wrote hides a built-in
// one of the same name.
func read(name string, user fs.FS) (string, error) {
	if name == "" || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("no theme is called %q; choose one of: %s", name, strings.Join(List(user), ", "))
	}
	for _, from := range sources(user) {
		text, err := fs.ReadFile(from, name+fileEnding)
		if err == nil {
			return string(text), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("theme %s: %w", name, err)
		}
	}
	return "", fmt.Errorf("no theme is called %q; choose one of: %s", name, strings.Join(List(user), ", "))
}

func sources(user fs.FS) []fs.FS {
	if user == nil {
		return []fs.FS{builtin}
	}
	return []fs.FS{user, builtin}
}

// parse decodes a theme file and refuses what it does not know, so that a typo
// is told instead of ignored.
func parse(name, text string) (file, error) {
	var f file
	meta, err := toml.Decode(text, &f)
	if err != nil {
		return f, fmt.Errorf("theme %s: %w", name, err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return f, fmt.Errorf("theme %s: unknown key %q", name, extra[0].String())
	}
	known := map[string]bool{}
	for _, k := range Tokens() {
		known[string(k)] = true
	}
	for k := range f.Colors {
		if !known[k] {
			return f, fmt.Errorf("theme %s: unknown colour %q", name, k)
		}
	}
	return f, nil
}

// complete fills what f leaves out from the theme it stands on.
func complete(name string, f file, user fs.FS, depth int) (Theme, error) {
	t := Theme{Name: name, Title: f.Title, Dark: true, Colors: map[Token]Color{}}
	if base := baseOf(name, f); base != "" {
		below, err := load(base, user, depth+1)
		if err != nil {
			return t, err
		}
		t.Dark, t.Colors = below.Dark, below.Colors
	}
	if f.Dark != nil {
		t.Dark = *f.Dark
	}
	if t.Title == "" {
		t.Title = name
	}
	for k, v := range f.Colors {
		c, err := ParseColor(v)
		if err != nil {
			return t, fmt.Errorf("theme %s: %s: %w", name, k, err)
		}
		t.Colors[Token(k)] = c
	}
	return t, nil
}

// baseOf is the theme that f stands on; the two base themes stand on nothing.
func baseOf(name string, f file) string {
	switch {
	case f.Extends != "" && f.Extends != name:
		return f.Extends
	case len(f.Colors) == len(Tokens()):
		return ""
	case f.Dark != nil && !*f.Dark && name != Light:
		return Light
	case name != Dark && name != Light:
		return Dark
	}
	return ""
}

// List names every theme that Load finds, sorted.
func List(user fs.FS) []string {
	seen := map[string]bool{}
	var names []string
	for _, from := range sources(user) {
		entries, err := fs.ReadDir(from, ".")
		if err != nil {
			continue
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), fileEnding)
			if ok && !e.IsDir() && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	sort.Strings(names)
	return names
}
