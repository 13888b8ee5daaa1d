package heal

import (
	"path"
	"slices"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

const traceHead = "Traceback (most recent call last)"

// pythonMarks are the literals the reading of tracebacks needs.
var pythonMarks = []string{traceHead, "\nFAILED ("}

const (
	maxTraces     = 12  // tracebacks read, counted from the end
	maxTraceLines = 400 // lines of one traceback
	maxMessage    = 8   // lines of one exception's message
)

// frame is one entry of a traceback.
type frame struct {
	file, row, code, raw string
}

// exception is one traceback: how it was raised and what it says.
type exception struct {
	start, pos, end int
	text            string // "Type: message", with the message's further lines
	frames          []frame
	linked          bool // raised while the one before it was handled
	direct          bool // raised "from" the one before it
}

// readTrace finds the exceptions that ended the program: the last traceback,
// and those it was chained to as far as they may be the real cause. It also
// tells where the last traceback ends.
func (s *scan) readTrace() (chain []exception, after int) {
	heads := s.hits[s.rules.literals.ids[traceHead]]
	if len(heads) > maxTraces {
		heads = heads[len(heads)-maxTraces:]
	}
	var all []exception
	for _, at := range heads {
		if e, ok := parseTrace(s.text, at); ok {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		return nil, 0
	}
	link(s.text, all)
	slices.Reverse(all)
	after = all[0].end
	if len(s.hits[s.rules.literals.ids["\nFAILED ("]]) > 0 {
		return all, after // a test runner: every traceback counts
	}
	n := 1
	for n < len(all) && all[n-1].linked && all[n-1].soft() {
		n++
	}
	return all[:n], after
}

// link notes which tracebacks continue the one before them.
func link(text string, all []exception) {
	for i := 1; i < len(all); i++ {
		if all[i].start < all[i-1].end {
			continue
		}
		between := text[all[i-1].end:all[i].start]
		if len(between) > 400 {
			continue
		}
		all[i].direct = strings.Contains(between, "direct cause of the following")
		all[i].linked = all[i].direct || strings.Contains(between, "During handling of the above")
	}
}

// soft tells that the exception probably only passes on what the one before
// it said: it was raised from it, or its type is one that wraps others.
func (e *exception) soft() bool {
	if e.direct {
		return true
	}
	switch e.shortType() {
	case "ImportError", "ModuleNotFoundError", "RuntimeError", "SystemExit", "Exception", "OSError", "ImproperlyConfigured":
		return true
	}
	head, _, _ := strings.Cut(e.text, ":")
	return strings.Contains(head, ".")
}

// shortType is the exception's type without its module.
func (e *exception) shortType() string {
	head, _, _ := strings.Cut(e.text, ":")
	head, _, _ = strings.Cut(head, "\n")
	return head[strings.LastIndexByte(head, '.')+1:]
}

// parseTrace reads the traceback whose head is at byte at. What stands before
// the head (a log prefix) is taken off the other lines too.
func parseTrace(text string, at int) (exception, bool) {
	_, start := lineAt(text, at)
	prefix := text[start:at]
	e := exception{start: start}
	switch {
	case strings.HasSuffix(prefix, "+ Exception Group "):
		prefix = "  | "
	case notebookHead.MatchString(prefix):
		return e.readNotebook(text, at, strings.TrimSpace(prefix))
	}
	i := strings.IndexByte(text[at:], '\n')
	if i < 0 {
		return e, false
	}
	pos := at + i + 1
	for n := 0; n < maxTraceLines && pos < len(text); n++ {
		line, next := nextLine(text, pos)
		line = unprefix(line, prefix)
		if line != "" && line[0] != ' ' && line[0] != '\t' {
			e.pos = pos
			e.readMessage(text, prefix)
			return e, true
		}
		e.readFrame(line)
		pos = next
	}
	return e, false
}

// notebookHead is what notebooks print before the head: the type.
var notebookHead = lazyregexp.New(`^[A-Za-z_][\w.]*\s+$`)

// readNotebook reads the traceback as notebooks print it: the type first, then
// cells and files with arrows at their lines, then "type: message".
func (e *exception) readNotebook(text string, at int, typ string) (exception, bool) {
	n := strings.Index(text[at:min(len(text), at+maxAround)], "\n"+typ+":")
	if n < 0 {
		return *e, false
	}
	e.pos = at + n + 1
	f := frame{}
	for line := range strings.Lines(text[at:e.pos]) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "Cell In"), strings.HasPrefix(line, "<ipython-input"), strings.HasPrefix(line, "File "):
			f = frame{raw: line, file: "notebook"}
		case strings.HasPrefix(line, "-") && strings.Contains(line, "> "):
			f.row, f.code, _ = strings.Cut(strings.TrimSpace(line[strings.Index(line, "> ")+2:]), " ")
			e.frames = append(e.frames, f)
		}
	}
	e.readMessage(text, "")
	return *e, true
}

// readFrame takes one indented line: a place, or the code there.
func (e *exception) readFrame(line string) {
	trimmed := strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(trimmed, `File "`); ok {
		f := frame{raw: trimmed}
		f.file, rest, _ = strings.Cut(rest, `"`)
		rest = strings.TrimPrefix(rest, ", line ")
		f.row, _, _ = strings.Cut(rest, ",")
		e.frames = append(e.frames, f)
		return
	}
	if n := len(e.frames); n > 0 && e.frames[n-1].code == "" {
		e.frames[n-1].code = trimmed
	}
}

// readMessage takes the exception's own line and those that continue it.
func (e *exception) readMessage(text, prefix string) {
	pos := e.pos
	var lines []string
	for n := 0; n < maxMessage && pos < len(text); n++ {
		line, next := nextLine(text, pos)
		line = unprefix(line, prefix)
		if n > 0 && (strings.TrimSpace(line) == "" || strings.HasPrefix(line, "Traceback") || strings.HasPrefix(line, "During handling") || strings.HasPrefix(line, "The above exc")) {
			break
		}
		lines = append(lines, line)
		pos = next
		if n == 0 {
			e.end = next
		}
	}
	e.text = strings.Join(lines, "\n")
}

// nextLine returns the line at pos, shortened, and where the next one begins.
func nextLine(text string, pos int) (line string, next int) {
	i := strings.IndexByte(text[pos:], '\n')
	if i < 0 {
		return clip(text[pos:], maxLine), len(text)
	}
	return clip(text[pos:pos+i], maxLine), pos + i + 1
}

func unprefix(line, prefix string) string {
	switch {
	case prefix == "":
		return line
	case logPrefix.MatchString(prefix):
		return logPrefix.ReplaceAllString(line, "")
	case strings.HasPrefix(line, prefix):
		return line[len(prefix):]
	case len(line) >= len(prefix):
		return strings.TrimRight(line[len(prefix):], " ")
	}
	return ""
}

// library tells a frame of the standard library or of an installed package
// from one of the user's own.
func (f *frame) library() bool {
	for _, part := range []string{"site-packages", "dist-packages", "<frozen", "lib/python", `lib\python`, `\Lib\`, "importlib"} {
		if strings.Contains(f.file, part) {
			return true
		}
	}
	return false
}

// userFrame is the innermost frame in the user's own code.
func (e *exception) userFrame() *frame {
	for i := len(e.frames) - 1; i >= 0; i-- {
		if !e.frames[i].library() {
			return &e.frames[i]
		}
	}
	return nil
}

// lastFrame is where the exception was raised, import machinery aside.
func (e *exception) lastFrame() *frame {
	for i := len(e.frames) - 1; i >= 0; i-- {
		if f := &e.frames[i]; !strings.HasPrefix(f.file, "<frozen") && path.Base(path.Dir(f.file)) != "importlib" {
			return f
		}
	}
	return nil
}

// evidence shows where in the user's code it happened, and what was raised.
func (e *exception) evidence() []string {
	var out []string
	if f := e.userFrame(); f != nil {
		out = append(out, f.raw)
		if f.code != "" {
			out = append(out, f.code)
		}
	}
	first, _, _ := strings.Cut(e.text, "\n")
	return append(out, first)
}
