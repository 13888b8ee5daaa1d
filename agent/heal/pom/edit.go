package pom

import (
	"slices"
	"strings"
)

// With gives the text of the project file with dependencies added. Those that
// it has stay as they are; one whose version it manages gets none.
func (p *Project) With(add []Dependency) string {
	add = slices.DeleteFunc(slices.Clone(add), func(d Dependency) bool { return p.Has(d.Name()) })
	if len(add) == 0 {
		return p.text
	}
	line := "\n"
	if strings.Contains(p.text, "\r\n") {
		line = "\r\n"
	}
	list, ok := p.find("project/dependencies")
	unit := p.unit()
	if !ok {
		at := p.before()
		block := "<dependencies>" + p.entries(add, line+unit+unit, unit) + line + unit + "</dependencies>" + line
		return p.text[:at] + unit + block + p.text[at:]
	}
	outer := p.indent(list.start)
	if list.from == list.after { // <dependencies/>
		block := "<dependencies>" + p.entries(add, line+outer+unit, unit) + line + outer + "</dependencies>"
		return p.text[:list.start] + block + p.text[list.after:]
	}
	inside, at := outer+unit, list.from
	for _, e := range p.elements {
		if e.path == "project/dependencies/dependency" {
			inside, at = p.indent(e.start), e.after
		}
	}
	block := p.entries(add, line+inside, unit)
	if at == list.from && strings.TrimSpace(p.text[list.from:list.to]) == "" {
		return p.text[:at] + block + line + outer + p.text[list.to:]
	}
	return p.text[:at] + block + p.text[at:]
}

// entries writes dependencies, each on a line of its own that lead begins.
func (p *Project) entries(add []Dependency, lead, unit string) string {
	var b strings.Builder
	for _, d := range add {
		b.WriteString(lead + "<dependency>")
		field := func(name, value string) {
			if value != "" {
				b.WriteString(lead + unit + "<" + name + ">" + value + "</" + name + ">")
			}
		}
		field("groupId", d.Group)
		field("artifactId", d.Artifact)
		if !p.managed(d) {
			field("version", d.Version)
		}
		field("scope", d.Scope)
		b.WriteString(lead + "</dependency>")
	}
	return b.String()
}

func (p *Project) find(path string) (element, bool) {
	i := slices.IndexFunc(p.elements, func(e element) bool { return e.path == path })
	if i < 0 {
		return element{}, false
	}
	return p.elements[i], true
}

// indent is the white space before an offset, back to the line's start.
func (p *Project) indent(at int) string {
	from := strings.LastIndexByte(p.text[:at], '\n') + 1
	if strings.TrimSpace(p.text[from:at]) != "" {
		return ""
	}
	return p.text[from:at]
}

// unit is how far the file indents what lies in an element.
func (p *Project) unit() string {
	for _, e := range p.elements {
		if strings.Count(e.path, "/") == 1 && p.indent(e.start) != "" {
			return p.indent(e.start)
		}
	}
	return "  "
}

// before is where a new list of dependencies belongs: before the line of the
// build, or of the end of the project.
func (p *Project) before() int {
	at := p.elements[0].to
	if e, ok := p.find("project/build"); ok {
		at = e.start
	}
	return at - len(p.indent(at))
}

// WithoutExecutions gives the text of the project file less what its plugins
// are told to do on their own.
func (p *Project) WithoutExecutions() string {
	var b strings.Builder
	at := 0
	for _, e := range p.elements {
		if strings.HasSuffix(e.path, "/plugin/executions") && e.start >= at {
			b.WriteString(p.text[at:e.start])
			at = e.after
		}
	}
	return b.String() + p.text[at:]
}
