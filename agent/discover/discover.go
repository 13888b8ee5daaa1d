// Package discover finds out what a sandbox has: its system, languages,
// package managers, tools, processors, memory, disk and graphics hardware.
//
// It asks by running one short script in a box, because what the host has and
// what a box sees are not the same. It never installs anything and never asks
// the network.
package discover

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"kintsugi/sandbox"
	"kintsugi/sandbox/lazyregexp"
)

// Facts are what a box has.
type Facts struct {
	OS, Arch string
	CPUs     int
	Memory   int64 // bytes that a box may use; 0: unknown
	Disk     int64 // bytes that a box may write outside the project; 0: unknown
	GPU      bool
	Tools    []Tool
}

// Tool is a program that a box has.
type Tool struct {
	Name    string // the command
	Show    string // what people call it
	Kind    string // language, packages, tool
	Version string // "3.11.2"; empty: unknown
}

//go:embed head.sh
var head string

//go:embed tools.toml
var toolsTOML string

// entry is one tool to look for.
type entry struct{ Name, Show, Kind, Args string }

func entries() []entry {
	var table struct{ Tool []entry }
	if _, err := toml.Decode(toolsTOML, &table); err != nil {
		panic("tools.toml: " + err.Error()) // embedded, and checked by a test
	}
	return table.Tool
}

// Script is the POSIX shell script that tells the facts of the box it runs in.
// Languages are asked for their versions, side by side; of the rest it is
// enough to know that they are there.
func Script() string {
	var b strings.Builder
	b.WriteString(head)
	for _, e := range entries() {
		switch {
		case e.Kind != "language":
			fmt.Fprintf(&b, "have %s\n", e.Name)
		case e.Args == "":
			fmt.Fprintf(&b, "tool %s --version &\n", e.Name)
		default:
			fmt.Fprintf(&b, "tool %s %s &\n", e.Name, e.Args)
		}
	}
	b.WriteString("wait\n")
	return b.String()
}

// Wall bounds the script; what it told until then counts.
const Wall = 10 * time.Second

// outputMost bounds what the script may say, in bytes.
const outputMost = 64 << 10

// Probe runs the script in a box made from spec, whose Argv, streams and time
// limit it sets.
func Probe(ctx context.Context, rt sandbox.Runtime, spec sandbox.Spec) (Facts, error) {
	out := &bounded{}
	spec.Argv, spec.Stdin, spec.Stdout, spec.Stderr = []string{"/bin/sh", "-c", Script()}, nil, out, nil
	spec.Limits.Wall = Wall
	box, err := rt.Start(ctx, spec)
	if err != nil {
		return Facts{}, err
	}
	if _, err := box.Wait(); err != nil {
		return Facts{}, err
	}
	if err := ctx.Err(); err != nil {
		return Facts{}, err
	}
	f := Parse(out.String())
	if limit := spec.Limits.WithDefaults().Memory; limit > 0 && (f.Memory == 0 || limit < f.Memory) {
		f.Memory = limit
	}
	return f, nil
}

// bounded keeps the beginning of a stream.
type bounded struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.Write(p[:min(len(p), outputMost-b.buf.Len())])
	return len(p), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Parse reads what the script told. Lines that it does not know are left out.
func Parse(text string) Facts {
	var f Facts
	versions := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if !ok {
			continue
		}
		if name, isTool := strings.CutPrefix(key, "tool "); isTool {
			versions[name] = value
			continue
		}
		f.set(key, value)
	}
	for _, e := range entries() {
		if text, ok := versions[e.Name]; ok {
			show := e.Show
			if show == "" {
				show = e.Name
			}
			f.Tools = append(f.Tools, Tool{Name: e.Name, Show: show, Kind: e.Kind, Version: versionIn(text)})
		}
	}
	return f
}

func (f *Facts) set(key, value string) {
	number, err := strconv.ParseInt(value, 10, 64)
	switch key {
	case "os":
		f.OS = plain(value)
	case "arch":
		f.Arch = plain(value)
	case "gpu":
		f.GPU = true
	case "cpus":
		if err == nil {
			f.CPUs = int(number)
		}
	case "memory":
		if err == nil {
			f.Memory = number << 10
		}
	case "disk":
		if err == nil {
			f.Disk = number << 10
		}
	}
}

// plain keeps a fact short and free of anything but printable ASCII: facts go
// into a prompt.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), 80)]
}

var versionPattern = lazyregexp.New(`\d+(\.\d+)+`)

func versionIn(text string) string {
	v := versionPattern.FindString(text)
	return v[:min(len(v), 20)]
}

// Has says whether the box has the command.
func (f Facts) Has(command string) bool {
	return slices.ContainsFunc(f.Tools, func(t Tool) bool { return t.Name == command })
}

// String tells the facts in a few short lines, for a prompt or a log.
func (f Facts) String() string {
	if f.OS == "" && len(f.Tools) == 0 {
		return ""
	}
	lines := []string{f.machine()}
	for _, kind := range []struct{ kind, words string }{
		{"language", "Languages"}, {"tool", "Tools"}, {"packages", "Missing packages are installed with"},
	} {
		if names := f.names(kind.kind); names != "" {
			lines = append(lines, kind.words+": "+names)
		}
	}
	return strings.Join(lines, "\n")
}

func (f Facts) machine() string {
	parts := []string{strings.TrimSpace(f.OS + " " + f.Arch)}
	if f.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d processors", f.CPUs))
	}
	if f.Memory > 0 {
		parts = append(parts, gigabytes(f.Memory)+" memory")
	}
	if f.Disk > 0 {
		parts = append(parts, gigabytes(f.Disk)+" scratch disk")
	}
	gpu := "no GPU"
	if f.GPU {
		gpu = "a GPU"
	}
	return strings.Join(append(parts, gpu, "no network"), ", ")
}

func (f Facts) names(kind string) string {
	var out []string
	for _, t := range f.Tools {
		switch {
		case t.Kind != kind:
		case kind == "language" && t.Version != "":
			out = append(out, t.Show+" "+t.Version)
		default:
			out = append(out, t.Show)
		}
	}
	return strings.Join(out, ", ")
}

func gigabytes(n int64) string {
	return strconv.FormatFloat(float64(n*10>>30)/10, 'f', -1, 64) + " GB"
}
