// Package md renders the Markdown that models write, block by block, while it
// streams in.
//
// A block is finished when what follows cannot change it. Finished blocks are
// rendered once per width and look; only the last, open block is rendered
// again when text arrives. The package understands headings, emphasis, code
// spans, fences, lists, quotes, rules and tables, and shows anything else as
// it is written. It never fails.
package md

import (
	"strings"

	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// maxBlock bounds a paragraph, in bytes: a longer one is finished at a blank,
// so that the cost of one more word stays small.
const maxBlock = 2048

type kind uint8

const (
	paragraph kind = iota
	heading
	code
	fence // the line that opens a code block, with its language
	item
	quote
	rule
	table
	gap
)

type block struct {
	kind   kind
	level  int    // of a heading; the indent of a list item
	mark   string // the bullet or number of a list item, the language of a fence
	text   string
	cached []string
	width  int
	gen    int
}

// Doc is a text in the making. The zero Doc is empty.
type Doc struct {
	blocks []block
	open   block  // being written; empty when hasOpen is false
	has    bool   // there is an open block
	line   string // the last line, without its end
	fenced bool
}

// Write adds text.
func (d *Doc) Write(s string) {
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			d.line += s
			d.split()
			return
		}
		d.endLine(d.line + s[:i])
		d.line = ""
		s = s[i+1:]
	}
}

// split ends a line that has no end in sight.
func (d *Doc) split() {
	for len(d.line) > maxBlock {
		i := strings.LastIndexByte(d.line[:maxBlock], ' ')
		if i < 0 {
			return
		}
		head := d.line[:i]
		d.line = d.line[i+1:]
		d.endLine(head)
		d.close()
	}
}

// endLine sorts a whole line into blocks.
func (d *Doc) endLine(line string) {
	line = strings.TrimRight(line, " \t\r")
	if d.fenced {
		d.endCode(line)
		return
	}
	next := classify(line)
	switch {
	case next.kind == fence:
		d.close()
		d.fenced = true
		d.blocks = append(d.blocks, next)
	case next.kind == gap:
		d.close()
		if n := len(d.blocks); n > 0 && d.blocks[n-1].kind != gap {
			d.blocks = append(d.blocks, next)
		}
	case next.kind == paragraph && d.continues(line):
		d.open.text += " " + strings.TrimSpace(line)
	case next.kind == quote && d.has && d.open.kind == quote:
		d.open.text += " " + next.text
	default:
		d.close()
		d.open, d.has = next, true
	}
	if d.has && (!open(d.open.kind) || len(d.open.text) > maxBlock) {
		d.close()
	}
}

// open says that a following line may belong to the block.
func open(k kind) bool { return k == paragraph || k == item || k == quote }

func (d *Doc) continues(line string) bool {
	return d.has && (d.open.kind == paragraph || d.open.kind == quote ||
		d.open.kind == item && strings.HasPrefix(line, " "))
}

func (d *Doc) endCode(line string) {
	if isFence(line) {
		d.fenced = false
		d.blocks = append(d.blocks, block{kind: fence})
		return
	}
	d.blocks = append(d.blocks, block{kind: code, text: line})
}

func (d *Doc) close() {
	if d.has {
		d.blocks = append(d.blocks, d.open)
	}
	d.open, d.has = block{}, false
}

// Empty says that nothing was written.
func (d *Doc) Empty() bool { return len(d.blocks) == 0 && !d.has && strings.TrimSpace(d.line) == "" }

// Len is the number of blocks, the open one included.
func (d *Doc) Len() int {
	n := len(d.blocks)
	if d.has || d.line != "" {
		n++
	}
	if d.has && d.line != "" && !d.joined() {
		n++
	}
	return n
}

// joined says that the unfinished line continues the open block.
func (d *Doc) joined() bool {
	if d.fenced || !d.has {
		return false
	}
	next := classify(d.line)
	return next.kind == paragraph && d.continues(d.line) || next.kind == quote && d.open.kind == quote
}

// Rows renders block i to rows of exactly width cells.
func (d *Doc) Rows(i, width int, l *look.Look, base cell.Style) []string {
	if i < len(d.blocks) {
		b := &d.blocks[i]
		if b.cached == nil || b.width != width || b.gen != l.Gen {
			b.cached, b.width, b.gen = b.render(width, l, base), width, l.Gen
		}
		return b.cached
	}
	b := d.pending(i - len(d.blocks))
	return b.render(width, l, base)
}

// pending is the open block with the unfinished line, or that line alone.
func (d *Doc) pending(i int) block {
	switch {
	case d.has && d.line != "" && d.joined():
		b := d.open
		b.text += " " + strings.TrimLeft(strings.TrimSpace(d.line), "> ")
		return b
	case d.has && i == 0:
		return d.open
	case d.fenced:
		return block{kind: code, text: d.line}
	}
	return classify(d.line)
}

// classify reads one line that is not inside a fence.
func classify(line string) block {
	trimmed := strings.TrimSpace(line)
	indent := len(line) - len(strings.TrimLeft(line, " "))
	switch {
	case trimmed == "":
		return block{kind: gap}
	case isFence(line):
		return block{kind: fence, mark: strings.Trim(trimmed, "`~ ")}
	case isRule(trimmed):
		return block{kind: rule}
	case strings.HasPrefix(trimmed, "|"):
		return block{kind: table, text: trimmed}
	case strings.HasPrefix(trimmed, ">"):
		return block{kind: quote, text: strings.TrimSpace(strings.TrimLeft(trimmed, "> "))}
	}
	if level := hashes(trimmed); level > 0 {
		return block{kind: heading, level: level, text: strings.TrimSpace(trimmed[level:])}
	}
	if mark, rest, ok := bullet(trimmed); ok {
		return block{kind: item, level: indent / 2, mark: mark, text: rest}
	}
	return block{kind: paragraph, text: trimmed}
}

func isFence(line string) bool {
	t := strings.TrimSpace(line)
	return strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~")
}

func isRule(t string) bool {
	return len(t) >= 3 && (strings.Trim(t, "-") == "" || strings.Trim(t, "*") == "" || strings.Trim(t, "_") == "")
}

func hashes(t string) int {
	n := len(t) - len(strings.TrimLeft(t, "#"))
	if n > 0 && n <= 6 && len(t) > n && t[n] == ' ' {
		return n
	}
	return 0
}

// bullet reads "- x", "* x", "+ x", "12. x" and "12) x".
func bullet(t string) (mark, rest string, ok bool) {
	if len(t) > 2 && strings.IndexByte("-*+", t[0]) >= 0 && t[1] == ' ' {
		return "", strings.TrimSpace(t[2:]), true
	}
	n := len(t) - len(strings.TrimLeft(t, "0123456789"))
	if n > 0 && n < 4 && len(t) > n+1 && (t[n] == '.' || t[n] == ')') && t[n+1] == ' ' {
		return t[:n+1], strings.TrimSpace(t[n+2:]), true
	}
	return "", "", false
}
