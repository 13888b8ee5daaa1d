package gateway

import (
	"cmp"
	"encoding/xml"
	"io"
	"strings"
)

// How many checksums are asked for before anybody wants them: at once, and
// waiting for that.
const (
	mavenAtOnce  = 4
	mavenWaiting = 200
)

// ahead asks for the checksums of what a pom names, because a client that reads
// it asks for that next, one after the other. Nothing else is fetched.
func (m *maven) ahead(body io.Reader) {
	for _, f := range m.needs(body) {
		if _, known := m.g.have(m.decided(f)); known {
			continue
		}
		select {
		case m.waiting <- struct{}{}:
		default:
			return // busy enough
		}
		if !m.g.begin() {
			return
		}
		go m.askAhead(f)
	}
}

func (m *maven) askAhead(f mavenFile) {
	defer m.g.wg.Done()
	defer func() { <-m.waiting }()
	select {
	case m.asking <- struct{}{}:
		_, _, _ = m.sum(m.g.life, f)
		<-m.asking
	case <-m.g.life.Done():
	}
}

// mavenRef is a package as a pom names it.
type mavenRef struct {
	Group    string `xml:"groupId"`
	Artifact string `xml:"artifactId"`
	Version  string `xml:"version"`
	Scope    string `xml:"scope"`
	Optional string `xml:"optional"`
}

// needs lists the poms that a pom leads to, as far as it says their versions.
func (m *maven) needs(body io.Reader) []mavenFile {
	var doc struct {
		mavenRef
		Parent       mavenRef   `xml:"parent"`
		Dependencies []mavenRef `xml:"dependencies>dependency"`
	}
	if xml.NewDecoder(body).Decode(&doc) != nil {
		return nil
	}
	own := strings.NewReplacer(
		"${project.version}", cmp.Or(doc.Version, doc.Parent.Version), "${pom.version}", cmp.Or(doc.Version, doc.Parent.Version),
		"${project.groupId}", cmp.Or(doc.Group, doc.Parent.Group), "${pom.groupId}", cmp.Or(doc.Group, doc.Parent.Group),
	)
	var out []mavenFile
	for _, d := range append([]mavenRef{doc.Parent}, doc.Dependencies...) {
		version := own.Replace(d.Version)
		if version == "" || d.Scope == "test" || d.Scope == "provided" || d.Optional == "true" {
			continue
		}
		dirs := append(strings.Split(own.Replace(d.Group), "."), d.Artifact, version)
		if f, err := m.file(dirs, d.Artifact+"-"+version+".pom"); err == nil && len(dirs) <= mavenFolders+2 {
			out = append(out, f)
		}
	}
	return out
}
