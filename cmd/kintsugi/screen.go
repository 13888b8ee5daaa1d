package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"kintsugi/ui"
)

// maxSaid is how many inputs of the composer are remembered.
const maxSaid = 500

// screen is how the screen looks and what it remembers, from the flags and
// the user's files in Kintsugi's configuration folder: themes/*.toml,
// keys.toml (key name = ["ctrl+x", …]), screen.json and said.
func (o workbenchOptions) screen(p places) (ui.Options, error) {
	said := filepath.Join(p.config, "said")
	s := ui.Options{
		Theme: o.theme, Themes: os.DirFS(themesDir(p)), Reduced: o.reduced, Present: o.present,
		Complete: completeFile, Said: readLines(said), Remember: func(text string) { appendLine(said, text) },
	}
	settings := filepath.Join(p.config, "screen.json")
	if data, err := os.ReadFile(settings); err == nil {
		_ = json.Unmarshal(data, &s.Settings) // unreadable settings are as good as none
	}
	s.Save = func(set ui.Settings) {
		if data, err := json.Marshal(set); err == nil && os.MkdirAll(p.config, 0o700) == nil {
			_ = os.WriteFile(settings, data, 0o600)
		}
	}
	var err error
	s.Keys, err = ownKeys(p)
	return s, err
}

// themesDir is the folder of the user's own themes.
func themesDir(p places) string { return filepath.Join(p.config, "themes") }

// readLines reads the inputs that were remembered, the oldest first.
func readLines(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var out []string
	for _, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		var text string
		if json.Unmarshal([]byte(line), &text) == nil {
			out = append(out, text)
		}
	}
	return out[max(0, len(out)-maxSaid):]
}

// appendLine remembers one input. Failing to is no failure of the workbench.
func appendLine(path, text string) {
	line, err := json.Marshal(text)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, err = f.Write(append(line, '\n'))
	_ = errors.Join(err, f.Close())
}
