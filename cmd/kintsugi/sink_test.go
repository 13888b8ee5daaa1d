package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// heldFor writes two attempts through a held sink and returns what came out.
func heldFor(t *testing.T, first, second string, final bool) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := newHeldSink(out, out)
	for i, text := range []string{first, second} {
		stdout, _ := s.Attempt(i+1, false)
		if _, err := io.WriteString(stdout, text); err != nil {
			t.Fatal(err)
		}
		if err := s.Ended(i == 1 && final); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestHeldSinkPassesOnlyTheFinalAttempt(t *testing.T) {
	t.Parallel()
	if got := heldFor(t, "broken\n", "right\n", true); got != "right\n" {
		t.Fatalf("got %q, want only the final attempt's output", got)
	}
	if got := heldFor(t, "broken\n", "dropped\n", false); got != "" {
		t.Fatalf("got %q from attempts none of which was final", got)
	}
}

func TestHeldSinkKeepsLargeOutputExactly(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", spoolMemory/8)
	if got := heldFor(t, large, large+"end", true); got != large+"end" {
		t.Fatalf("got %d bytes, want %d", len(got), len(large)+3)
	}
}

func TestFilteredNeverHidesText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &filtered{out: &out, filter: newLineFilter()}
	if _, err := io.WriteString(w, "FAIL\rPASS\x1b]52;c;aGk=\x07\x1b[31mred\x1b[0m\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if !strings.Contains(got, "FAIL\nPASS") || strings.ContainsAny(got, "\r\x07") || strings.Contains(got, "\x1b]") {
		t.Fatalf("unsafe or hidden text: %q", got)
	}
	if !strings.Contains(got, "\x1b[31mred") {
		t.Fatalf("the colour was lost: %q", got)
	}
}
