package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// skipped are folders that hold other people's code.
var skipped = []string{".git", ".hg", "node_modules", "__pycache__", ".venv", "venv", "target", "dist"}

// finding is a search in progress.
type finding struct {
	files  Files
	want   string
	hits   []string
	looked int
}

func (d Desk) search(p, text string) (Result, error) {
	if strings.TrimSpace(text) == "" {
		return Result{Show: p}, bad("search needs a text to look for")
	}
	f := finding{files: d.Files, want: strings.ToLower(text)}
	if _, err := d.Files.List(p); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Result{Show: p}, fail(p, err)
		}
		f.file(p)
	} else {
		f.folder(p, 0)
	}
	show := text + " in " + p
	if len(f.hits) == 0 {
		return Result{Show: show, Text: fmt.Sprintf("nothing in %d files contains that", f.looked)}, nil
	}
	out := strings.Join(f.hits, "\n")
	if f.full() {
		out += "\n(there may be more)"
	}
	return Result{Show: show, Text: out}, nil
}

func (f *finding) full() bool { return len(f.hits) >= hitsMost || f.looked >= searchMost }

// folder looks into a folder, its own files first.
func (f *finding) folder(p string, depth int) {
	entries, err := f.files.List(p)
	if err != nil || depth > searchDeep {
		return
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range entries {
		if !e.Dir && e.Size <= searchSize && !f.full() {
			f.file(path.Join(p, e.Name))
		}
	}
	for _, e := range entries {
		if e.Dir && !f.full() && !slices.Contains(skipped, e.Name) {
			f.folder(path.Join(p, e.Name), depth+1)
		}
	}
}

func (f *finding) file(p string) {
	data, err := f.files.Read(p)
	f.looked++
	if err != nil || !isText(data) {
		return
	}
	for i, line := range strings.Split(string(data), "\n") {
		if len(f.hits) < hitsMost && strings.Contains(strings.ToLower(line), f.want) {
			f.hits = append(f.hits, fmt.Sprintf("%s:%d: %s", p, i+1, clip(strings.TrimSpace(line), 160)))
		}
	}
}
