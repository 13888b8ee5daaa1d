package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Files is the session's copy of the project. Paths are relative to it, with
// slashes, and never leave it; "." is its top.
type Files interface {
	Read(path string) ([]byte, error)
	// Write makes missing folders.
	Write(path string, data []byte) error
	// List gives the entries of one folder, in any order.
	List(path string) ([]Entry, error)
}

// Entry is a file or folder in a list.
type Entry struct {
	Name string // the last part of its path
	Dir  bool
	Size int64
}

// Bounds of what file tools tell a model.
const (
	readLines  = 250
	readBytes  = 12 << 10
	listMost   = 200
	hitsMost   = 40
	searchMost = 5000    // files looked at
	searchDeep = 30      // folders inside folders
	searchSize = 1 << 20 // bytes of one file
	writeMost  = 4 << 20 // bytes of one file
)

// Desk runs the tools that read and write files.
type Desk struct {
	Files Files
	// Root is the project's absolute path as programs in a box see it; models
	// use such paths too.
	Root string
}

// Result is what a file tool did.
type Result struct {
	Text string // for the model
	// Show is for people: the path, and what was written.
	Show string
	// Changed is the path that was written.
	Changed string
}

// Runs says whether a tool is one of Desk's.
func Runs(name string) bool {
	return slices.Contains([]string{ReadFile, WriteFile, EditFile, ListFiles, Search}, name)
}

// Run runs one file tool. A *Bad error is for the model to mend.
func (d Desk) Run(name string, args Args) (Result, error) {
	p, err := d.clean(args["path"])
	if err != nil {
		return Result{Show: args["path"]}, err
	}
	switch name {
	case ReadFile:
		return d.read(p, args["from_line"])
	case WriteFile:
		return d.write(p, args["content"])
	case EditFile:
		return d.edit(p, args["old"], args["new"])
	case ListFiles:
		return d.list(p)
	case Search:
		return d.search(p, args["text"])
	}
	return Result{}, bad("%s is no tool for files", name)
}

// clean makes a path relative to the project.
func (d Desk) clean(p string) (string, error) {
	p = strings.TrimSpace(strings.ReplaceAll(p, `\`, "/"))
	root := strings.TrimSuffix(strings.ReplaceAll(d.Root, `\`, "/"), "/")
	if root != "" && (p == root || strings.HasPrefix(p, root+"/")) {
		p = "." + p[len(root):]
	}
	if path.IsAbs(p) || strings.HasPrefix(p, "~") {
		return "", bad("%s is outside the project; use a path relative to the project, such as data/x.csv", clip(p, 80))
	}
	clean := path.Clean(p)
	if !fs.ValidPath(clean) {
		return "", bad("%s leaves the project; use a path inside it", clip(p, 80))
	}
	return clean, nil
}

// fail explains an error of Files to the model.
func fail(p string, err error) error {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad("there is no %s; list_files shows what is there", p)
	case errors.Is(err, fs.ErrPermission):
		return bad("%s may not be opened", p)
	case errors.As(err, &pe):
		return bad("%s: %v", p, pe.Err)
	}
	return bad("%s: %v", p, err)
}

func (d Desk) read(p, from string) (Result, error) {
	data, err := d.Files.Read(p)
	if err != nil {
		return Result{Show: p}, fail(p, err)
	}
	if !isText(data) {
		return Result{Show: p, Text: fmt.Sprintf("%s is no text: %d bytes", p, len(data))}, nil
	}
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	start := 0
	if n, err := strconv.ParseFloat(from, 64); err == nil && n > 1 {
		start = min(int(n)-1, len(lines))
	}
	end, size := start, 0
	for end < len(lines) && end-start < readLines && size+len(lines[end]) <= readBytes {
		size += len(lines[end])
		end++
	}
	return Result{Show: p, Text: page(p, lines, start, end)}, nil
}

func page(p string, lines []string, start, end int) string {
	switch {
	case len(lines) == 0:
		return p + " is empty"
	case start >= len(lines):
		return fmt.Sprintf("%s has only %d lines", p, len(lines))
	case end == start: // one endless line
		return fmt.Sprintf("line %d of %s begins:\n%s", start+1, p, clip(lines[start], readBytes/4))
	case start == 0 && end == len(lines):
		return strings.Join(lines, "")
	}
	text := fmt.Sprintf("lines %d to %d of %d:\n", start+1, end, len(lines)) + strings.Join(lines[start:end], "")
	if end < len(lines) {
		text += fmt.Sprintf("\n(more: from_line %d)", end+1)
	}
	return text
}

func isText(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

func (d Desk) write(p, content string) (Result, error) {
	if p == "." || len(content) > writeMost {
		return Result{Show: p}, bad("write_file needs the path of a file and at most %d bytes", writeMost)
	}
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	if err := d.Files.Write(p, []byte(content)); err != nil {
		return Result{Show: p}, fail(p, err)
	}
	n := strings.Count(content, "\n")
	return Result{Show: p + "\n" + content, Changed: p, Text: fmt.Sprintf("wrote %s (%d lines)", p, n)}, nil
}

func (d Desk) edit(p, old, now string) (Result, error) {
	data, err := d.Files.Read(p)
	if err != nil {
		return Result{Show: p}, fail(p, err)
	}
	body, err := replace(p, string(data), old, now)
	if err != nil {
		return Result{Show: p}, err
	}
	if err := d.Files.Write(p, []byte(body)); err != nil {
		return Result{Show: p}, fail(p, err)
	}
	show := p + "\n" + prefix("- ", old) + prefix("+ ", now)
	return Result{Show: show, Changed: p, Text: "edited " + p}, nil
}

// replace changes the one place where old stands.
func replace(p, body, old, now string) (string, error) {
	if old == "" {
		return "", bad("old must not be empty; write_file replaces a whole file")
	}
	if old == now {
		return "", bad("old and new are the same")
	}
	if strings.Contains(body, "\r\n") && !strings.Contains(old, "\r") {
		old, now = strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(now, "\n", "\r\n")
	}
	switch n := strings.Count(body, old); {
	case n == 1:
		return strings.Replace(body, old, now, 1), nil
	case n > 1:
		return "", bad("the old text stands in %s %d times; copy more lines around it", p, n)
	}
	return "", bad("the old text is not in %s%s; read_file shows what is there", p, nearest(body, old))
}

// nearest names a line that begins like the old text, when there is one.
func nearest(body, old string) string {
	want := strings.TrimSpace(strings.SplitN(strings.TrimSpace(old), "\n", 2)[0])
	for i, line := range strings.Split(body, "\n") {
		if want != "" && strings.Contains(line, want) {
			return fmt.Sprintf(" (line %d is like its first line, but the rest differs)", i+1)
		}
	}
	return ""
}

func prefix(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+mark) + "\n"
}

func (d Desk) list(p string) (Result, error) {
	entries, err := d.Files.List(p)
	if err != nil {
		return Result{Show: p}, fail(p, err)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	for i, e := range entries {
		if i == listMost {
			fmt.Fprintf(&b, "and %d more\n", len(entries)-i)
			break
		}
		if e.Dir {
			fmt.Fprintf(&b, "%s/\n", e.Name)
		} else {
			fmt.Fprintf(&b, "%s  %d bytes\n", e.Name, e.Size)
		}
	}
	if b.Len() == 0 {
		b.WriteString("the folder is empty\n")
	}
	return Result{Show: p, Text: b.String()}, nil
}
