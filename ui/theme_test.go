package ui

import (
	"strings"
	"testing"
	"testing/fstest"

	tea "charm.land/bubbletea/v2"

	"kintsugi/themes"
)

func TestThemesReloadWhenTheTerminalIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"mine.toml": {Data: []byte("[colors]\naccent = \"#00ff00\"\n")}}
	m, err := newModel(Options{Theme: "mine", Themes: files, Env: []string{"TERM=xterm"}, Width: 100, Height: 30}.complete())
	if err != nil {
		t.Fatal(err)
	}
	files["mine.toml"].Data = []byte("[colors]\naccent = \"#ff0000\"\n")
	m.Update(tea.BlurMsg{})
	m.Update(tea.FocusMsg{})
	if got := m.look.Theme.Color(themes.Accent); got != themes.RGB(255, 0, 0) {
		t.Errorf("accent is still %v", got)
	}
	gen := m.look.Gen
	m.Update(themeMsg{})
	if m.look.Gen != gen {
		t.Error("an unchanged theme makes everything be drawn anew")
	}
	files["mine.toml"].Data = []byte("[colors]\naccent = \"#0000ff\"\n")
	m.Update(themeMsg{})
	if got := m.look.Theme.Color(themes.Accent); got != themes.RGB(0, 0, 255) {
		t.Errorf("a told change is not taken over: %v", got)
	}
	files["mine.toml"].Data = []byte("broken")
	m.Update(tea.FocusMsg{})
	if !strings.Contains(m.toast, "theme mine") {
		t.Errorf("a broken theme is not told: %q", m.toast)
	}
}
