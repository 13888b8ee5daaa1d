package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// mayImport says which rooms a room may import besides itself. A room is the
// longest prefix listed here.
var mayImport = map[string][]string{
	"kintsugi/cmd":         {"kintsugi/ui", "kintsugi/agent", "kintsugi/agent/event", "kintsugi/sandbox", "kintsugi/themes"},
	"kintsugi/agent":       {"kintsugi/agent/event", "kintsugi/sandbox"},
	"kintsugi/agent/event": {},
	"kintsugi/sandbox":     {},
	"kintsugi/ui":          {"kintsugi/agent/event", "kintsugi/themes"},
	"kintsugi/themes":      {},
}

func room(pkg string) string {
	best := ""
	for name := range mayImport {
		if (pkg == name || strings.HasPrefix(pkg, name+"/")) && len(name) > len(best) {
			best = name
		}
	}
	return best
}

func allowed(from, to string) bool {
	if from == to {
		return true
	}
	for _, ok := range mayImport[from] {
		if ok == to {
			return true
		}
	}
	return false
}

// TestRooms reads who imports whom and fails on anything the design forbids.
func TestRooms(t *testing.T) {
	t.Parallel()
	const format = `{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}{{"\n"}}{{end}}{{range .TestImports}}{{$p}} {{.}}{{"\n"}}{{end}}`
	out, err := exec.Command("go", "list", "-f", format, "kintsugi/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		pkg, imported, ok := strings.Cut(lines.Text(), " ")
		if !ok || !strings.HasPrefix(imported, "kintsugi/") {
			continue
		}
		seen++
		from, to := room(pkg), room(imported)
		if from == "" || to == "" {
			t.Errorf("%s imports %s: one of them is in no room of the design", pkg, imported)
		} else if !allowed(from, to) {
			t.Errorf("%s may not import %s (%s must not know %s)", pkg, imported, from, to)
		}
	}
	if seen == 0 {
		t.Fatal("no imports were read")
	}
}
