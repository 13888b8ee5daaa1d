package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAChangedThemeIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	told := watchThemes(t.Context(), dir)
	none := watchThemes(t.Context(), filepath.Join(dir, "nowhere"))
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("notes.txt", "no theme")
	for _, text := range []string{"[colors]\n", "[colors]\ntext = \"#ffffff\"\n"} {
		write("mine.toml", text)
		select {
		case <-told:
		case <-time.After(10 * time.Second):
			t.Fatal("the change is not told")
		}
	}
	select {
	case <-none:
		t.Error("a folder that is not there has changed")
	default:
	}
}
