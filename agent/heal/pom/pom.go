// Package pom reads Maven project files and adds dependencies to them. What it
// does not change stays byte for byte as it was: comments, order, indentation.
//
// The package never looks anything up and follows no parent or profile: it says
// what one file says.
package pom

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Dependency is a package that a project file names. Version is empty when the
// file leaves it to another one.
type Dependency struct {
	Group, Artifact, Version, Scope string
	// Plugin is set for what builds the project instead of being used by it.
	Plugin bool
}

// Name is "group:artifact".
func (d Dependency) Name() string { return d.Group + ":" + d.Artifact }

// Parse reads "group:artifact" or "group:artifact:version".
func Parse(name string) Dependency {
	part := append(strings.SplitN(name, ":", 3), "", "")
	return Dependency{Group: part[0], Artifact: part[1], Version: part[2], Plugin: IsPlugin(part[1])}
}

// IsPlugin tells plugins by the names that Maven keeps for them.
func IsPlugin(artifact string) bool {
	return strings.HasSuffix(artifact, "-maven-plugin") || strings.HasPrefix(artifact, "maven-") && strings.HasSuffix(artifact, "-plugin")
}

// Project is a project file.
type Project struct {
	text     string
	elements []element
	values   map[string]string
}

// element is one element of the file by its path ("project/build"), with the
// offsets of its start, of its content, of the end of that, and of its end.
type element struct {
	path                   string
	start, from, to, after int
}

// Read reads the text of a project file.
func Read(text string) (*Project, error) {
	p := &Project{text: text, values: map[string]string{}}
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var open []int
	for {
		before := int(d.InputOffset())
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("pom.xml cannot be read: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			path := t.Name.Local
			if len(open) > 0 {
				path = p.elements[open[len(open)-1]].path + "/" + path
			}
			open = append(open, len(p.elements))
			p.elements = append(p.elements, element{path: path, start: before, from: int(d.InputOffset())})
		case xml.EndElement:
			e := &p.elements[open[len(open)-1]]
			e.to, e.after = before, int(d.InputOffset())
			open = open[:len(open)-1]
		}
	}
	if len(p.elements) == 0 || p.elements[0].path != "project" {
		return nil, errors.New("pom.xml is no project of Maven")
	}
	p.readValues()
	return p, nil
}

// readValues gathers what ${…} may stand for.
func (p *Project) readValues() {
	for _, e := range p.elements {
		if name, ok := strings.CutPrefix(e.path, "project/properties/"); ok {
			p.values[name] = p.inner(e)
		}
	}
	for _, name := range []string{"groupId", "version"} {
		v := p.value("project/" + name)
		if v == "" {
			v = p.value("project/parent/" + name)
		}
		p.values["project."+name], p.values["pom."+name] = v, v
	}
	p.values["project.artifactId"] = p.value("project/artifactId")
}

func (p *Project) inner(e element) string { return strings.TrimSpace(p.text[e.from:e.to]) }

// value is the content of the first element with that path.
func (p *Project) value(path string) string {
	for _, e := range p.elements {
		if e.path == path {
			return p.inner(e)
		}
	}
	return ""
}

// child is the content of a child element, with properties filled in.
func (p *Project) child(of element, name string) string {
	for _, e := range p.elements {
		if e.path == of.path+"/"+name && e.start >= of.start && e.after <= of.after {
			return p.filled(p.inner(e))
		}
	}
	return ""
}

// filled replaces ${…}; what is not known stays.
func (p *Project) filled(s string) string {
	for range 4 {
		from := strings.Index(s, "${")
		to := strings.IndexByte(s, '}')
		if from < 0 || to < from {
			break
		}
		v, ok := p.values[s[from+2:to]]
		if !ok {
			break
		}
		s = s[:from] + v + s[to+1:]
	}
	return s
}

// Packaging is what the project becomes: "jar", "war", "pom".
func (p *Project) Packaging() string {
	if v := p.value("project/packaging"); v != "" {
		return v
	}
	return "jar"
}

// named are the places of a project file that name packages.
var named = []string{
	"project/dependencies/dependency", "project/build/plugins/plugin", "project/build/extensions/extension",
	"project/parent", "project/dependencyManagement/dependencies/dependency",
}

// Dependencies lists the packages that have to be there when the project is
// built, other modules of the same project left out.
func (p *Project) Dependencies() []Dependency {
	var out []Dependency
	for _, e := range p.elements {
		if !slices.Contains(named, e.path) {
			continue
		}
		d := Dependency{
			Group: p.child(e, "groupId"), Artifact: p.child(e, "artifactId"), Version: p.child(e, "version"),
			Scope: p.child(e, "scope"), Plugin: strings.HasSuffix(e.path, "/plugin"),
		}
		if d.Plugin && d.Group == "" {
			d.Group = "org.apache.maven.plugins"
		}
		managed := strings.Contains(e.path, "dependencyManagement") && d.Scope != "import"
		if !managed && d.Scope != "system" && d.Artifact != "" && d.Group != p.values["project.groupId"] {
			out = append(out, d)
		}
	}
	return out
}

// Names lists the packages that the text of a project file names, each once;
// none when it cannot be read.
func Names(text string) []string {
	p, err := Read(text)
	if err != nil {
		return nil
	}
	var out []string
	for _, d := range p.Dependencies() {
		if !slices.Contains(out, d.Name()) {
			out = append(out, d.Name())
		}
	}
	return out
}

// PluginVersion is the version that the project gives to a plugin, with what
// the other project files say about properties; "" when none of it does.
func (p *Project) PluginVersion(name string, others ...*Project) string {
	for _, e := range p.elements {
		if !strings.HasSuffix(e.path, "/plugins/plugin") {
			continue
		}
		group := p.child(e, "groupId")
		if group == "" {
			group = "org.apache.maven.plugins"
		}
		version := p.child(e, "version")
		if group+":"+p.child(e, "artifactId") != name || version == "" {
			continue
		}
		for _, o := range others {
			version = o.filled(version)
		}
		if !strings.Contains(version, "$") {
			return version
		}
	}
	return ""
}

// Has says whether the project names a dependency or a plugin.
func (p *Project) Has(name string) bool {
	return slices.ContainsFunc(p.Dependencies(), func(d Dependency) bool { return d.Name() == name })
}

// Inherits says whether another file may give versions to what this one names.
func (p *Project) Inherits() bool {
	return slices.ContainsFunc(p.elements, func(e element) bool {
		return e.path == "project/parent" || e.path == "project/dependencyManagement/dependencies/dependency" && p.child(e, "scope") == "import"
	})
}

// managed says whether the project gives versions to a dependency elsewhere.
func (p *Project) managed(d Dependency) bool {
	return slices.ContainsFunc(p.elements, func(e element) bool {
		return e.path == "project/dependencyManagement/dependencies/dependency" &&
			p.child(e, "groupId") == d.Group && p.child(e, "artifactId") == d.Artifact
	})
}
