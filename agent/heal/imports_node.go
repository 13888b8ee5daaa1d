package heal

import "strings"

// NodeImports lists the bare specifiers that a JavaScript or TypeScript source
// asks for (require, import, export from), as written and in order of
// appearance, each once. Paths, type-only imports, and whatever stands in
// comments, strings and try blocks are left out.
func NodeImports(src []byte) []string {
	p := &jsScanner{src: string(src)}
	p.run()
	seen := map[string]bool{}
	var out []string
	for _, spec := range p.found {
		if spec != "" && !nodePath(spec) && !seen[spec] {
			seen[spec] = true
			out = append(out, spec)
		}
	}
	return out
}

// jsToken is a word, a punctuation mark or a string literal.
type jsToken struct {
	kind byte // 'w', 'p', 's'
	text string
}

// jsScanner reads a source as tokens and looks at the last few of them.
type jsScanner struct {
	src   string
	i     int
	last  [4]jsToken // the newest is last[3]
	open  []bool     // for each open brace, whether it is a try block
	tries int        // how many of them are
	inImp bool       // inside an import or export statement
	types bool       // which is type-only
	found []string
}

func (p *jsScanner) run() {
	for p.i < len(p.src) {
		c := p.src[p.i]
		switch {
		case c == '\n' || c == ' ' || c == '\t' || c == '\r':
			p.i++
		case strings.HasPrefix(p.src[p.i:], "//"), strings.HasPrefix(p.src[p.i:], "#!"):
			p.skipTo("\n")
		case strings.HasPrefix(p.src[p.i:], "/*"):
			p.skipTo("*/")
		case c == '"' || c == '\'':
			p.push(jsToken{'s', p.str(c)})
		case c == '`':
			p.push(jsToken{'s', p.template()})
		case c == '/' && p.regexAhead():
			p.regex()
			p.push(jsToken{'s', ""})
		case wordByte(c):
			p.push(jsToken{'w', p.word()})
		default:
			p.i++
			p.push(jsToken{'p', string(c)})
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

func (p *jsScanner) skipTo(end string) {
	if n := strings.Index(p.src[p.i:], end); n >= 0 {
		p.i += n + len(end)
		return
	}
	p.i = len(p.src)
}

func (p *jsScanner) word() string {
	start := p.i
	for p.i < len(p.src) && wordByte(p.src[p.i]) {
		p.i++
	}
	return p.src[start:p.i]
}

func (p *jsScanner) str(quote byte) string {
	p.i++
	start := p.i
	for p.i < len(p.src) && p.src[p.i] != quote && p.src[p.i] != '\n' {
		if p.src[p.i] == '\\' {
			p.i++
		}
		p.i++
	}
	end := min(p.i, len(p.src))
	p.i = min(end+1, len(p.src))
	return p.src[start:end]
}

// template passes over a template literal; one without placeholders counts as
// a string.
func (p *jsScanner) template() string {
	p.i++
	start, depth := p.i, 0
	plain := true
	for ; p.i < len(p.src); p.i++ {
		switch c := p.src[p.i]; {
		case c == '\\':
			p.i++
		case c == '$' && strings.HasPrefix(p.src[p.i:], "${"):
			depth++
			plain = false
		case c == '}' && depth > 0:
			depth--
		case c == '`' && depth == 0:
			end := p.i
			p.i++
			if plain {
				return p.src[start:end]
			}
			return ""
		}
	}
	p.i = len(p.src)
	return ""
}

// regexAhead tells a regular expression from a division by what came before.
func (p *jsScanner) regexAhead() bool {
	t := p.last[3]
	switch t.kind {
	case 0:
		return true
	case 'p':
		return t.text != ")" && t.text != "]" && t.text != "}"
	case 'w':
		return t.text == "return" || t.text == "typeof" || t.text == "case" || t.text == "in" || t.text == "of"
	}
	return false
}

func (p *jsScanner) regex() {
	class := false
	for p.i++; p.i < len(p.src); p.i++ {
		switch c := p.src[p.i]; {
		case c == '\\':
			p.i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '\n', c == '/' && !class:
			p.i++
			return
		}
	}
	p.i = min(p.i, len(p.src))
}

// push takes the next token and notes what it completes.
func (p *jsScanner) push(t jsToken) {
	p.statement(t)
	p.braces(t)
	if t.kind == 's' && p.tries == 0 {
		p.request(t)
	}
	copy(p.last[:], p.last[1:])
	p.last[3] = t
}

// statement follows import and export statements to their source.
func (p *jsScanner) statement(t jsToken) {
	before := p.last[3]
	switch {
	case t.kind == 'w' && (t.text == "import" || t.text == "export") && before.text != ".":
		p.inImp, p.types = true, false
	case t.kind == 'w' && t.text == "type" && (before.text == "import" || before.text == "export"):
		p.types = true
	case t.kind == 'p' && t.text == ";":
		p.inImp = false
	}
}

func (p *jsScanner) braces(t jsToken) {
	switch {
	case t.kind != 'p':
	case t.text == "{":
		try := p.last[3].kind == 'w' && p.last[3].text == "try"
		p.open = append(p.open, try)
		if try {
			p.tries++
		}
	case t.text == "}" && len(p.open) > 0:
		if p.open[len(p.open)-1] {
			p.tries--
		}
		p.open = p.open[:len(p.open)-1]
	}
}

// request looks whether a string is what a require or an import asks for.
func (p *jsScanner) request(t jsToken) {
	before, earlier := p.last[3], p.last[2]
	switch {
	case before.text == "(" && before.kind == 'p' && earlier.kind == 'w' && (earlier.text == "require" || earlier.text == "import") && p.last[1].text != ".":
		p.found = append(p.found, t.text)
	case before.kind == 'w' && before.text == "import" && p.inImp,
		before.kind == 'w' && before.text == "from" && p.inImp && !p.types:
		p.found = append(p.found, t.text)
		p.inImp = false
	}
}
