package heal

import (
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// PythonImports lists the modules that a Python source needs, as full dotted
// names in order of appearance, each once. "from google.cloud import storage"
// gives google.cloud.storage, since the parts of a shared name are separate
// packages; "from os import path" gives os. Left out are relative imports,
// those that the program can do without (in a try block that catches the
// failure, under TYPE_CHECKING, under a test for the platform or version), and
// whatever stands in comments and strings.
func PythonImports(src []byte) []string {
	lines := logicalLines(string(src))
	optional := optionalLines(lines)
	seen := map[string]bool{}
	var out []string
	for i, l := range lines {
		if optional[i] {
			continue
		}
		for _, name := range l.imports() {
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// logical is a logical line of Python: continuation lines joined, comments
// gone, the content of strings replaced by nothing.
type logical struct {
	indent int
	text   string
	raw    string // with strings, for import_module("x")
}

// pyScanner splits a source into logical lines.
type pyScanner struct {
	src       string
	i         int
	depth     int // open brackets
	text, raw strings.Builder
	lines     []logical
}

func logicalLines(src string) []logical {
	p := &pyScanner{src: strings.ReplaceAll(src, "\r\n", "\n")}
	for p.i < len(p.src) {
		p.step()
	}
	p.flush()
	return p.lines
}

func (p *pyScanner) step() {
	switch c := p.src[p.i]; c {
	case '#':
		for p.i < len(p.src) && p.src[p.i] != '\n' {
			p.i++
		}
	case '"', '\'':
		p.skipString(c)
	case '\\':
		if strings.HasPrefix(p.src[p.i:], "\\\n") {
			p.put(' ')
			p.i++
		}
		p.i++
	case '\n':
		p.newline()
	case '(', '[', '{':
		p.depth++
		p.put(c)
		p.i++
	case ')', ']', '}':
		p.depth = max(0, p.depth-1)
		p.put(c)
		p.i++
	default:
		p.put(c)
		p.i++
	}
}

func (p *pyScanner) put(c byte) {
	p.text.WriteByte(c)
	p.raw.WriteByte(c)
}

func (p *pyScanner) newline() {
	p.i++
	if p.depth > 0 && !p.statementAhead() {
		p.put(' ')
		return
	}
	p.depth = 0
	p.flush()
}

// statementAhead recovers from a bracket that was never closed: an import at
// the beginning of a line starts a statement.
func (p *pyScanner) statementAhead() bool {
	rest := p.src[p.i:min(len(p.src), p.i+8)]
	return strings.HasPrefix(rest, "import ") || strings.HasPrefix(rest, "def ") || strings.HasPrefix(rest, "class ")
}

func (p *pyScanner) flush() {
	text := p.text.String()
	trimmed := strings.TrimLeft(text, " \t\f\ufeff")
	if strings.TrimSpace(trimmed) != "" {
		indent := 0
		for _, c := range text[:len(text)-len(trimmed)] {
			if c == '\t' {
				indent += 8
			} else {
				indent++
			}
		}
		p.lines = append(p.lines, logical{indent, strings.TrimSpace(trimmed), strings.TrimSpace(p.raw.String())})
	}
	p.text.Reset()
	p.raw.Reset()
}

// skipString passes over a string literal; its text is kept in raw only.
func (p *pyScanner) skipString(quote byte) {
	start := p.i
	if triple := strings.Repeat(string(quote), 3); strings.HasPrefix(p.src[p.i:], triple) {
		p.i += 3
		if end := strings.Index(p.src[p.i:], triple); end >= 0 {
			p.i += end + 3
		} else {
			p.i = len(p.src)
		}
		p.text.WriteString(`""`)
		return
	}
	p.i++
	for p.i < len(p.src) && p.src[p.i] != quote && p.src[p.i] != '\n' {
		if p.src[p.i] == '\\' {
			p.i++
		}
		p.i++
	}
	if p.i < len(p.src) && p.src[p.i] == quote {
		p.i++
	}
	p.i = min(p.i, len(p.src))
	p.text.WriteString(`""`)
	p.raw.WriteString(p.src[start:p.i])
}

var (
	catchesImport = lazyregexp.New(`^except\s*(\*?\s*:|\*?.*\b(ImportError|ModuleNotFoundError|Exception|BaseException)\b)`)
	guardsImport  = lazyregexp.New(`^(if|elif)\b.*\b(TYPE_CHECKING|sys\.platform|os\.name|platform\.system|version_info|PY2|PY3)\b|^with\b.*\bsuppress\(.*(ImportError|ModuleNotFoundError|Exception)`)
	importPlain   = lazyregexp.New(`^import\s+(.+)$`)
	importFrom    = lazyregexp.New(`^from\s+([\w.]+)\s+import\s+(.+)$`)
	importCall    = lazyregexp.New(`\b(?:import_module|__import__)\(\s*['"]([A-Za-z_][\w.]*)['"]`)
	dottedName    = lazyregexp.New(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)
)

// optionalLines marks the lines whose imports the program can do without.
func optionalLines(lines []logical) []bool {
	out := make([]bool, len(lines))
	for i, l := range lines {
		switch {
		case isBlock(l.text, "try") && tryCatches(lines, i):
			markTry(lines, out, i)
		case guardsImport.MatchString(l.text):
			markBlock(lines, out, i)
			markElse(lines, out, i)
		}
	}
	return out
}

func isBlock(text, word string) bool {
	rest, ok := strings.CutPrefix(text, word)
	return ok && strings.HasPrefix(strings.TrimSpace(rest), ":")
}

// tryCatches tells whether the try at line i has a clause that catches a
// failed import.
func tryCatches(lines []logical, i int) bool {
	for j := i + 1; j < len(lines) && lines[j].indent >= lines[i].indent; j++ {
		if lines[j].indent > lines[i].indent {
			continue
		}
		if !clause(lines[j].text) {
			return false
		}
		if catchesImport.MatchString(lines[j].text) {
			return true
		}
	}
	return false
}

func clause(text string) bool {
	for _, w := range []string{"except", "else", "finally", "elif"} {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}

// markTry marks the body of a try and those of its except clauses.
func markTry(lines []logical, out []bool, i int) {
	markBlock(lines, out, i)
	for j := i + 1; j < len(lines) && lines[j].indent >= lines[i].indent; j++ {
		if lines[j].indent > lines[i].indent {
			continue
		}
		if !clause(lines[j].text) {
			return
		}
		if strings.HasPrefix(lines[j].text, "except") {
			markBlock(lines, out, j)
		}
	}
}

// markElse marks the other branches of the condition at line i.
func markElse(lines []logical, out []bool, i int) {
	for j := i + 1; j < len(lines) && lines[j].indent >= lines[i].indent; j++ {
		if lines[j].indent > lines[i].indent {
			continue
		}
		if !strings.HasPrefix(lines[j].text, "el") {
			return
		}
		markBlock(lines, out, j)
	}
}

func markBlock(lines []logical, out []bool, i int) {
	out[i] = true
	for j := i + 1; j < len(lines) && lines[j].indent > lines[i].indent; j++ {
		out[j] = true
	}
}

// imports are the modules that one logical line imports.
func (l logical) imports() []string {
	var out []string
	for _, part := range strings.Split(l.text, ";") {
		part = afterColon(strings.TrimSpace(part))
		if m := importPlain.FindStringSubmatch(part); m != nil {
			out = append(out, plainImports(m[1])...)
		} else if m := importFrom.FindStringSubmatch(part); m != nil {
			out = append(out, fromImports(m[1], m[2])...)
		}
	}
	for _, m := range importCall.FindAllStringSubmatch(l.raw, 8) {
		out = append(out, m[1])
	}
	return out
}

// afterColon drops the head of a one-line block: "if x: import y".
func afterColon(part string) string {
	if strings.HasPrefix(part, "import ") || strings.HasPrefix(part, "from ") {
		return part
	}
	if i := strings.LastIndex(part, ":"); i >= 0 {
		return strings.TrimSpace(part[i+1:])
	}
	return part
}

func plainImports(list string) []string {
	var out []string
	for _, item := range strings.Split(list, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(item), " ")
		if dottedName.MatchString(name) {
			out = append(out, name)
		}
	}
	return out
}

func fromImports(module, list string) []string {
	if !dottedName.MatchString(module) || module == "__future__" {
		return nil
	}
	root, _, _ := strings.Cut(module, ".")
	if !sharedRoot(root) {
		return []string{module}
	}
	var out []string
	for _, item := range strings.Split(strings.Trim(list, "() "), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(item), " ")
		if dottedName.MatchString(name) {
			out = append(out, module+"."+name)
		}
	}
	if out == nil {
		return []string{module}
	}
	return out
}

// sharedRoot tells the first parts that several packages share.
func sharedRoot(root string) bool {
	switch root {
	case "google", "azure", "zope", "ruamel", "backports", "mpl_toolkits", "sphinxcontrib", "jaraco",
		"opentelemetry", "airflow", "moviepy", "cv2", "PyQt5", "PyQt6":
		return true
	}
	return false
}
