package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"kintsugi/sandbox"
	"kintsugi/sandbox/inert"
)

// inputDir is where boxes see what was piped in.
const inputDir = "/kintsugi-input"

// How much of the input the task itself quotes, in bytes: all of a short one,
// else its beginning.
const (
	quoteAll  = 3000
	quoteHead = 800
)

// withInput adds the input to a task: quoted when it is short, and in any case
// as a file that boxes can read.
func (s *session) withInput(task string, in []byte) (string, error) {
	if len(in) == 0 {
		return task, nil
	}
	dir := filepath.Join(s.dir, "input")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot keep the input: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stdin"), in, 0o644); err != nil {
		return "", fmt.Errorf("cannot keep the input: %w", err)
	}
	s.showInput()
	return task + "\n\n" + aboutInput(in), nil
}

// showInput lets boxes see the input.
func (s *session) showInput() {
	mount := sandbox.Mount{Source: filepath.Join(s.dir, "input"), Target: inputDir}
	s.engine.Project.Mounts = append(s.engine.Project.Mounts, mount)
}

func aboutInput(in []byte) string {
	where := fmt.Sprintf("The input is in the file %s/stdin (%d bytes", inputDir, len(in))
	if !utf8.Valid(in) {
		return where + ", not text)."
	}
	where += fmt.Sprintf(", %d lines)", strings.Count(string(in), "\n"))
	head, begins := in, ":"
	if len(in) > quoteAll {
		head, begins = in[:quoteHead], " and begins:"
		for len(head) > 0 && !utf8.Valid(head) {
			head = head[:len(head)-1]
		}
	}
	return where + begins + "\n```\n" + strings.TrimRight(inert.String(string(head)), "\n") + "\n```"
}
