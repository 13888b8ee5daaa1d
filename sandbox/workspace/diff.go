package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"kintsugi/sandbox/workspace/beneath"
)

// maxText is the largest file, in bytes, whose text is compared.
const maxText = 4 << 20

// contextLines is how many unchanged lines surround a hunk.
const contextLines = 3

// FileDiff is a change with its text.
type FileDiff struct {
	Change
	// Binary says that one side is not text, TooBig that one is larger than
	// 4 MiB; then there are no hunks.
	Binary, TooBig bool
	Hunks          []Hunk

	old, new string
}

// Hunk is a group of neighbouring changed lines.
type Hunk struct {
	// ID names the hunk as long as it stays the same, for a Selection.
	ID string
	// Lines count from 1, as in unified diffs; a From of zero lines has the
	// number of the line before.
	FromLine, FromCount int
	ToLine, ToCount     int
	Lines               []Line

	edits []udiff.Edit
}

// Line is one line of a hunk. Op is ' ', '-' or '+'. Text has its newline,
// unless it is a last line without one.
type Line struct {
	Op   byte
	Text string
}

// text reads both sides of c and finds the hunks.
func (s stack) text(c Change) (FileDiff, error) {
	d := FileDiff{Change: c}
	old, err := s.side(&d, c.base, c.Old)
	if err != nil {
		return d, err
	}
	now, err := s.side(&d, c.from, c.New)
	if err != nil || d.Binary || d.TooBig {
		return d, err
	}
	d.old, d.new = old, now
	d.Hunks = hunks(old, now)
	return d, nil
}

// side reads the text of one side; a link's text is its target.
func (s stack) side(d *FileDiff, tree int, e Entry) (string, error) {
	switch {
	case e.Kind == beneath.Symlink:
		return e.Target, nil
	case e.Kind != beneath.File || d.Binary || d.TooBig:
		return "", nil
	case e.Size > maxText:
		d.TooBig = true
		return "", nil
	}
	f, err := s.open(tree, d.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return "", err
	}
	d.TooBig = len(b) > maxText
	d.Binary = isBinary(b)
	return string(b), nil
}

// isBinary looks for a NUL byte in the first 8000, as git does.
func isBinary(b []byte) bool {
	return bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0
}

// hunks compares two texts by lines.
func hunks(old, now string) []Hunk {
	if old == now {
		return nil
	}
	lines := splitLines(old)
	starts := make([]int, len(lines)+1)
	for i, l := range lines {
		starts[i+1] = starts[i] + len(l)
	}
	b := hunkBuilder{lines: lines, starts: starts}
	for _, e := range udiff.Lines(old, now) {
		b.add(e)
	}
	return b.finish()
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// hunkBuilder groups edits that lie close together.
type hunkBuilder struct {
	lines  []string
	starts []int // byte offset of each line, and of the end
	done   []Hunk
	cur    *Hunk
	at     int // next old line that cur does not yet have
	shift  int // new lines minus old lines so far
}

// line is the number of the line that starts at a byte offset.
func (b *hunkBuilder) line(offset int) int {
	n, _ := slices.BinarySearch(b.starts, offset)
	return n
}

func (b *hunkBuilder) add(e udiff.Edit) {
	start, end := b.line(e.Start), b.line(e.End)
	if b.cur != nil && start > b.at+2*contextLines {
		b.close()
	}
	if b.cur == nil {
		b.at = max(start-contextLines, 0)
		b.cur = &Hunk{FromLine: b.at, ToLine: b.at + b.shift}
	}
	b.context(start)
	for ; b.at < end; b.at++ {
		b.put('-', b.lines[b.at])
	}
	for _, l := range splitLines(e.New) {
		b.put('+', l)
	}
	b.cur.edits = append(b.cur.edits, e)
}

// context adds unchanged lines up to the given one.
func (b *hunkBuilder) context(to int) {
	for ; b.at < min(to, len(b.lines)); b.at++ {
		b.put(' ', b.lines[b.at])
	}
}

func (b *hunkBuilder) put(op byte, text string) {
	h := b.cur
	h.Lines = append(h.Lines, Line{op, text})
	if op != '+' {
		h.FromCount++
	}
	if op != '-' {
		h.ToCount++
	}
}

// close ends the current hunk with its trailing context.
func (b *hunkBuilder) close() {
	b.context(b.at + contextLines)
	h := b.cur
	b.shift += h.ToCount - h.FromCount
	if h.FromCount > 0 {
		h.FromLine++
	}
	if h.ToCount > 0 {
		h.ToLine++
	}
	h.ID = h.fingerprint()
	b.done = append(b.done, *h)
	b.cur = nil
}

func (b *hunkBuilder) finish() []Hunk {
	if b.cur != nil {
		b.close()
	}
	return b.done
}

func (h *Hunk) fingerprint() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %d\n", h.FromLine, h.ToLine)
	for _, l := range h.Lines {
		fmt.Fprintf(sum, "%c%d %s", l.Op, len(l.Text), l.Text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:4])
}

// Header is the line that opens the hunk in a unified diff.
func (h *Hunk) Header() string {
	return fmt.Sprintf("@@ -%s +%s @@", span(h.FromLine, h.FromCount), span(h.ToLine, h.ToCount))
}

func span(line, count int) string {
	if count == 1 {
		return fmt.Sprint(line)
	}
	return fmt.Sprintf("%d,%d", line, count)
}

// pick gives the old text with only the named hunks changed. all says that
// these are all hunks.
func (d *FileDiff) pick(ids []string) (text string, all bool, err error) {
	var edits []udiff.Edit
	for _, id := range ids {
		i := slices.IndexFunc(d.Hunks, func(h Hunk) bool { return h.ID == id })
		if i < 0 {
			return "", false, fmt.Errorf("%s has no hunk %s any more; look at the diff again", Quote(d.Path), id)
		}
		edits = append(edits, d.Hunks[i].edits...)
	}
	slices.SortStableFunc(edits, func(a, b udiff.Edit) int { return a.Start - b.Start })
	text, err = udiff.Apply(d.old, slices.Compact(edits))
	return text, text == d.new, err
}
