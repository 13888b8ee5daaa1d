package pane

import (
	"strings"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// Bounds of what the sandbox pane keeps.
const (
	ringLines = 10_000   // of one stream of output
	maxLine   = 16 << 10 // bytes of a line; the rest is counted
)

// line is one line of output.
type line struct {
	text   string
	pen    cell.Pen // at its start
	stderr bool
	cut    int // bytes left out at its end
	rows   []string
	width  int
	gen    int
}

// ring keeps the newest lines of an output. Lines are numbered from 0; the
// first ones may be gone.
type ring struct {
	lines   []line // a circle once it is full
	start   int    // index of the oldest
	first   int    // number of the oldest
	open    bool   // the newest line has no end yet
	pens    [2]cell.Pen
	lost    int64 // bytes that the log left out
	rewrite bool  // a carriage return waits for text
}

func (r *ring) count() int { return len(r.lines) }
func (r *ring) end() int   { return r.first + len(r.lines) }

// at is line n, nil when it is gone.
func (r *ring) at(n int) *line {
	if n < r.first || n >= r.end() {
		return nil
	}
	return &r.lines[(r.start+n-r.first)%len(r.lines)]
}

// write takes a chunk of output.
func (r *ring) write(o event.Output) {
	r.lost += o.Dropped
	text := r.skip(o.Text, o.Stderr)
	for text != "" {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			r.part(text, o.Stderr)
			return
		}
		r.part(text[:i], o.Stderr)
		if !r.open {
			r.push(line{stderr: o.Stderr, pen: r.pens[stream(o.Stderr)]})
		}
		r.open, r.rewrite = false, false
		text = text[i+1:]
	}
}

// skip drops the lines of a chunk that would not survive it anyway, so that a
// flood costs no more than what is kept of it.
func (r *ring) skip(text string, stderr bool) string {
	if len(text) <= ringLines {
		return text
	}
	at := len(text)
	for n := 0; n <= ringLines; n++ {
		at = strings.LastIndexByte(text[:at], '\n')
		if at < 0 {
			return text
		}
	}
	r.pass(text[:at+1], stderr)
	return text[at+1:]
}

// pass counts the lines of a text that are not kept, nor any line before.
func (r *ring) pass(gone string, stderr bool) {
	r.pens[stream(stderr)] = cell.Scan(gone, r.pens[stream(stderr)])
	ends := strings.Count(gone, "\n")
	if r.open && ends > 0 {
		ends-- // the end of the open line, which is counted already
	}
	r.first += ends + len(r.lines)
	r.lines, r.start, r.open, r.rewrite = r.lines[:0], 0, false, false
}

// survivors is the index of the first of some outputs of which a line can be
// left once all are written: those after it have more lines than are kept.
func survivors(outputs []event.Output) int {
	lines := 0
	for i := len(outputs) - 1; i > 0; i-- {
		if lines += strings.Count(outputs[i].Text, "\n"); lines > ringLines {
			return i
		}
	}
	return 0
}

func stream(stderr bool) int {
	if stderr {
		return 1
	}
	return 0
}

// part adds text without line ends to the open line. A carriage return starts
// the line anew as soon as something follows it.
func (r *ring) part(text string, stderr bool) {
	for text != "" {
		i := strings.IndexByte(text, '\r')
		piece := text
		if i >= 0 {
			piece = text[:i]
		}
		if piece != "" {
			r.extend(piece, stderr)
		}
		if i < 0 {
			return
		}
		r.rewrite = true
		text = text[i+1:]
	}
}

func (r *ring) extend(text string, stderr bool) {
	pen := &r.pens[stream(stderr)]
	last := r.at(r.end() - 1)
	if !r.open || last.stderr != stderr {
		r.push(line{stderr: stderr, pen: *pen})
		last, r.open, r.rewrite = r.at(r.end()-1), true, false
	}
	if r.rewrite {
		*last = line{stderr: stderr, pen: *pen}
		r.rewrite = false
	}
	keep := text
	if room := maxLine - len(last.text); len(keep) > room {
		keep = keep[:max(room, 0)]
		last.cut += len(text) - len(keep)
	}
	last.text += keep
	last.rows = nil
	*pen = cell.Scan(text, *pen)
}

func (r *ring) push(l line) {
	if len(r.lines) < ringLines {
		r.lines = append(r.lines, l)
		return
	}
	r.lines[r.start] = l
	r.start = (r.start + 1) % len(r.lines)
	r.first++
}

// render draws line n behind its gutter, w cells wide.
func (r *ring) render(n, w int, l *look.Look) []string {
	ln := r.at(n)
	if ln == nil {
		return nil
	}
	if ln.rows != nil && ln.width == w && ln.gen == l.Gen {
		return ln.rows
	}
	gutter := cell.S(l.Text, " "+l.Glyphs.Stdout+" ")
	palette := l.Palette
	if ln.stderr {
		gutter = cell.S(l.Stderr, " "+l.Glyphs.Stderr+" ")
		palette.Base = l.Stderr
	}
	spans, _ := cell.Parse(withoutMotion(ln.text), ln.pen, &palette)
	if ln.cut > 0 {
		spans = append(spans, cell.S(l.Muted, " … "+look.Count(ln.cut)+" bytes more"))
	}
	rows := cell.Wrap(spans, max(w-4, 1))
	for i := range rows {
		rows[i] = append(cell.Row{gutter}, rows[i]...)
	}
	ln.rows, ln.width, ln.gen = render(rows, w, l), w, l.Gen
	return ln.rows
}

// backlog is output that becomes lines when someone looks at it.
type backlog struct {
	ring    ring
	waiting []event.Output
	size    int // bytes that wait
	held    int // bytes taken since the last drop
}

// maxWaiting is how many bytes wait before they become lines anyway, which
// bounds them.
const maxWaiting = 4 << 20

// add takes a chunk and returns how many bytes more are held.
func (b *backlog) add(o event.Output) int {
	b.waiting = append(b.waiting, o)
	b.size += len(o.Text)
	before := b.held
	b.held += len(o.Text)
	if b.size > maxWaiting {
		b.lines()
		b.held = min(b.held, b.ring.bytes())
	}
	return b.held - before
}

// lines turns what waits into lines.
func (b *backlog) lines() *ring {
	first := survivors(b.waiting)
	for i, o := range b.waiting {
		if i < first {
			b.ring.lost += o.Dropped
			b.ring.pass(o.Text, o.Stderr)
			continue
		}
		b.ring.write(o)
	}
	clear(b.waiting)
	b.waiting, b.size = b.waiting[:0], 0
	return &b.ring
}

// drop forgets all output but its number of lines. It returns the bytes freed.
func (b *backlog) drop() int {
	r := b.lines()
	*r = ring{first: r.end(), lost: r.lost}
	held := b.held
	b.held = 0
	return held
}

// bytes is the size of the text in the ring.
func (r *ring) bytes() int {
	n := 0
	for i := range r.lines {
		n += len(r.lines[i].text)
	}
	return n
}

// escape is how the log shows the start of a control sequence that it made
// harmless.
const escape = "␛["

// withoutMotion leaves out what progress bars send to move and erase: the log
// made it harmless and visible, here it would only be noise.
func withoutMotion(s string) string {
	if !strings.Contains(s, escape) {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, escape)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		n := motion(s[i+len(escape):])
		if n == 0 {
			b.WriteString(escape)
		}
		s = s[i+len(escape)+n:]
	}
}

// motion is the length of the parameters and the final letter of a sequence
// that moves or erases, or 0.
func motion(s string) int {
	for i := 0; i < len(s) && i < 12; i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == ';', c == '?':
		case strings.IndexByte("ABCDEFGHJKhlsu", c) >= 0:
			return i + 1
		default:
			return 0
		}
	}
	return 0
}
