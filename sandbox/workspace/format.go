package workspace

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"kintsugi/sandbox/inert"
	"kintsugi/sandbox/workspace/beneath"
)

// FormatOptions say how changes are written out.
type FormatOptions struct {
	// Brief gives one line per path instead of a diff.
	Brief bool
	// Raw gives a patch for tools: text byte by byte as it is, nothing cut. The
	// default is for eyes: harmless for a terminal, long lines and files cut.
	Raw bool
	// Hunks adds the id of each hunk to its header.
	Hunks bool
	// Paths limits the output to these paths and what is beneath them.
	Paths []string
}

// What the output for eyes shows at most, per line in bytes and per file in
// lines.
const (
	maxLineShown  = 2000
	maxLinesShown = 2000
)

// FormatChanges writes the changes of a comparison, as a diff in the manner of
// git or as a list. It returns how many paths there were.
func FormatChanges(w io.Writer, c *Comparison, o FormatOptions) (int, error) {
	o.Paths = cleanPaths(o.Paths)
	p := printer{w: bufio.NewWriter(w), o: o}
	n := 0
	for ch, err := range c.Changes() {
		if err != nil {
			return n, err
		}
		if !within(ch.Path, o.Paths) {
			continue
		}
		n++
		if err := p.change(c, ch); err != nil {
			return n, err
		}
	}
	return n, p.w.Flush()
}

// within says whether path is one of the paths or beneath one; no paths stand
// for all.
func within(path string, paths []string) bool {
	if len(paths) == 0 {
		return true
	}
	for _, p := range paths {
		if p == "." || path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// printer remembers no errors of its own: bufio.Writer does, until Flush.
type printer struct {
	w *bufio.Writer
	o FormatOptions
}

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *printer) change(c *Comparison, ch Change) error {
	if p.o.Brief {
		p.line("%s", Brief(ch))
		return nil
	}
	if ch.Kind == Skipped {
		p.line("# skipped %s: %s", Quote(ch.Path), ch.Notice)
		return nil
	}
	d, err := c.Diff(ch)
	if err != nil {
		return err
	}
	if ch.Kind == Retyped {
		p.retyped(d)
		return nil
	}
	p.file(d)
	return nil
}

// Brief is a change in one line: letter, path, what else matters.
func Brief(ch Change) string {
	name := ch.Path
	if ch.New.Kind == beneath.Directory || ch.New.Kind == beneath.Absent && ch.Old.Kind == beneath.Directory {
		name += "/"
	}
	line := ch.Kind.Letter() + " " + Quote(name)
	switch {
	case ch.Kind == Remoded:
		line += fmt.Sprintf(" (%03o, was %03o)", ch.New.Mode, ch.Old.Mode)
	case ch.Kind == Retyped:
		line += fmt.Sprintf(" (%s, was %s)", ch.New.Kind, ch.Old.Kind)
	case ch.New.Kind == beneath.Symlink:
		line += " -> " + Quote(ch.New.Target)
	case ch.New.Kind == beneath.File:
		line += " (" + Size(ch.New.Size) + ")"
	}
	return line + remarks(ch)
}

func remarks(ch Change) string {
	var s string
	for _, r := range [...][2]string{{"conflict", ch.Conflict}, {"held back", ch.Held}, {"look", ch.Flag}, {"skipped", ch.Notice}} {
		if r[1] != "" {
			s += "  [" + r[0] + ": " + r[1] + "]"
		}
	}
	return s
}

// retyped is a deletion and an addition, as git has it.
func (p *printer) retyped(d FileDiff) {
	gone, added := d, d
	gone.Kind, gone.New, gone.Hunks = Deleted, Entry{}, hunks(d.old, "")
	added.Kind, added.Old, added.Hunks = Added, Entry{}, hunks("", d.new)
	if d.Old.Kind != beneath.Directory {
		p.file(gone)
	}
	p.file(added)
}

func (p *printer) file(d FileDiff) {
	a, b := Quote("a/"+d.Path), Quote("b/"+d.Path)
	if note := remarks(d.Change); note != "" {
		p.line("#%s %s", note, Quote(d.Path))
	}
	if d.Old.Kind == beneath.Directory || d.New.Kind == beneath.Directory {
		p.line("# %s directory %s/ (%03o)", d.Kind, Quote(d.Path), max(d.New.Mode, d.Old.Mode))
		return
	}
	p.line("diff --git %s %s", a, b)
	switch {
	case d.Kind == Added:
		p.line("new file mode %s", gitMode(d.New))
		a = "/dev/null"
	case d.Kind == Deleted:
		p.line("deleted file mode %s", gitMode(d.Old))
		b = "/dev/null"
	case d.Old.Mode != d.New.Mode && d.New.Kind == beneath.File:
		p.line("old mode %s", gitMode(d.Old))
		p.line("new mode %s", gitMode(d.New))
	}
	p.body(d, a, b)
}

func (p *printer) body(d FileDiff, a, b string) {
	switch {
	case d.TooBig:
		p.line("# too large to show: %s, was %s", Size(d.New.Size), Size(d.Old.Size))
	case d.Binary:
		p.line("Binary files %s and %s differ (%s, was %s)", a, b, Size(d.New.Size), Size(d.Old.Size))
	case len(d.Hunks) > 0:
		p.line("--- %s", a)
		p.line("+++ %s", b)
		p.hunks(d.Hunks)
	}
}

func (p *printer) hunks(hunks []Hunk) {
	shown := 0
	for i := range hunks {
		h := &hunks[i]
		header := h.Header()
		if p.o.Hunks {
			header += " " + h.ID
		}
		p.line("%s", header)
		for j, l := range h.Lines {
			if shown++; shown > maxLinesShown && !p.o.Raw {
				p.line("# truncated: %d more lines in this hunk, %d more hunks", len(h.Lines)-j, len(hunks)-i-1)
				return
			}
			p.text(l)
		}
	}
}

func (p *printer) text(l Line) {
	text, ended := strings.CutSuffix(l.Text, "\n")
	if !p.o.Raw {
		text = Harmless(text, maxLineShown)
	}
	p.line("%c%s", l.Op, text)
	if !ended {
		p.line("\\ No newline at end of file")
	}
}

// Harmless is one line of text for a terminal, cut after about limit bytes.
func Harmless(text string, limit int) string {
	rest := 0
	if len(text) > limit {
		rest = len(text) - limit
		text = text[:limit]
	}
	text = inert.String(text, inert.NoColour)
	if rest > 0 {
		text += fmt.Sprintf("… (%d more bytes)", rest)
	}
	return text
}

// Quote is a path for display: as it is when it is plain, else in double quotes
// with escapes, so that no name can forge another line or steer a terminal.
func Quote(path string) string {
	plain := path != "" && path == strings.TrimSpace(path) && !strings.ContainsAny(path, "\"\\\n\t") &&
		inert.String(path, inert.NoColour) == path
	if plain {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for len(path) > 0 {
		r, size := utf8.DecodeRuneInString(path)
		quoteRune(&b, path[:size], r)
		path = path[size:]
	}
	b.WriteByte('"')
	return b.String()
}

func quoteRune(b *strings.Builder, raw string, r rune) {
	switch {
	case r == '"' || r == '\\':
		b.WriteString(`\` + raw)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == utf8.RuneError || inert.String(raw, inert.NoColour) != raw:
		for i := range len(raw) {
			fmt.Fprintf(b, `\%03o`, raw[i])
		}
	default:
		b.WriteString(raw)
	}
}

// gitMode is the mode as git writes it; git knows few.
func gitMode(e Entry) string {
	switch {
	case e.Kind == beneath.Symlink:
		return "120000"
	case e.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// Size is a size in bytes for people: "512 B", "1.5 kB", "10.0 GB"; a thousand
// to the step.
func Size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, units := float64(n), "kMGTPE"
	for i := range units {
		f /= 1000
		if f < 999.95 || i == len(units)-1 {
			return fmt.Sprintf("%.1f %cB", f, units[i])
		}
	}
	return ""
}
