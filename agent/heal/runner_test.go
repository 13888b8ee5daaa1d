package heal

import (
	"slices"
	"strings"
	"testing"
)

func TestRunner(t *testing.T) {
	t.Parallel()
	r := load(t)
	for _, c := range []struct{ file, first, eco, why string }{
		{"plot.py", "", "python", "extension .py"},
		{"PLOT.PY", "", "python", "extension .PY"},
		{"a.js", "", "node", "extension .js"},
		{"a.ts", "", "node", "extension .ts"},
		{"main.go", "", "go", "extension .go"},
		{"main.rs", "", "rust", "extension .rs"},
		{"a.rb", "", "ruby", "extension .rb"},
		{"a.pl", "", "perl", "extension .pl"},
		{"a.R", "", "r", "extension .R"},
		{"Main.java", "", "java", "extension .java"},
		{"a.c", "", "c", "extension .c"},
		{"a.cpp", "", "c", "extension .cpp"},
		{"a.C", "", "c", "extension .C"},
		{"a.sh", "", "shell", "extension .sh"},
		{"a.tex", "", "latex", "extension .tex"},
		{"a.lua", "", "lua", "extension .lua"},
		{"a.php", "", "php", "extension .php"},
		{"/w/Makefile", "", "shell", "file name"},
		{"tool", "#!/usr/bin/env python3", "python", "first line"},
		{"tool", "#!/usr/bin/python3.11 -u", "python", "first line"},
		{"tool", "#!/usr/bin/env -S node --no-warnings", "node", "first line"},
		{"tool.txt", "#!/bin/sh", "shell", "first line"},
		{"tool.py", "#!/usr/bin/env ruby", "ruby", "first line"},
		{"tool", "#!/usr/bin/env X=1 perl", "perl", "first line"},
		{"tool", "", "", ""},
		{"notes.txt", "hello", "", ""},
		{"", "", "", ""},
	} {
		run, ok := r.Runner(c.file, c.first)
		if ok != (c.eco != "") || run.Ecosystem != c.eco || run.Why != c.why {
			t.Errorf("Runner(%q, %q) = %s by %q (%v), want %s by %q", c.file, c.first, run.Ecosystem, run.Why, ok, c.eco, c.why)
		}
		if ok && (run.Name == "" || len(run.Run) == 0) {
			t.Errorf("Runner(%q) is incomplete: %+v", c.file, run)
		}
	}
}

func TestRunnerCommands(t *testing.T) {
	t.Parallel()
	r := load(t)
	for _, c := range []struct {
		file, has           string
		build, run, missing string
	}{
		{"a.py", "python3 python", "", "python3 a.py x y", ""},
		{"a.py", "python", "", "python a.py x y", ""},
		{"a.py", "", "", "", "python3"},
		{"d/a.c", "sh", `sh -c exec gcc -O1 -g -o "$2" "$1" $CFLAGS $LDLIBS sh d/a.c /o/a`, "/o/a x y", ""},
		{"a.rs", "", "", "", "rustc"},
		{"a.tex", "pdflatex true", "pdflatex -interaction=nonstopmode -halt-on-error a.tex", "true x y", ""},
	} {
		run, ok := r.Runner(c.file, "")
		if !ok {
			t.Fatalf("no runner for %s", c.file)
		}
		exists := func(p string) bool { return slices.Contains(strings.Fields(c.has), p) }
		build, argv, missing := run.Commands(c.file, "/o/a", []string{"x", "y"}, exists)
		if got := strings.Join(build, " "); got != c.build {
			t.Errorf("%s: build %q, want %q", c.file, got, c.build)
		}
		if got := strings.Join(argv, " "); got != c.run || missing != c.missing {
			t.Errorf("%s: run %q missing %q, want %q missing %q", c.file, got, missing, c.run, c.missing)
		}
	}
}
