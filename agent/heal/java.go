package heal

import (
	"slices"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

var javaImport = lazyregexp.New(`(?m)^\s*import\s+(?:static\s+)?([A-Za-z_][\w.]*)`)

// JavaImports lists what a Java source imports, by whole names, less what Java
// itself brings.
func JavaImports(src []byte) []string {
	var out []string
	for _, m := range javaImport.FindAllStringSubmatch(string(src), -1) {
		name := strings.TrimSuffix(m[1], ".")
		if !strings.HasPrefix(name, "java.") && !strings.HasPrefix(name, "javax.") && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// RunsMaven tells that a command has Maven build the program.
func RunsMaven(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	switch argv[0][strings.LastIndexByte(argv[0], '/')+1:] {
	case "mvn", "mvnw", "mvnd":
		return true
	case "sh": // a runner's: build, then run
		return len(argv) > 2 && strings.HasPrefix(argv[2], "'mvn' ")
	}
	return false
}

// javaPackage decides what a missing Java package or class is.
func (s *scan) javaPackage(m *match) string {
	if m.vars["package"] == "" {
		m.vars["package"] = strings.NewReplacer("/", ".", "$", ".").Replace(m.vars["path"])
	}
	found := s.jarOf(m)
	if found != "known" || len(m.rule.anyIDs) == 0 {
		return found
	}
	if s.onlyText() {
		found = "told"
	}
	for _, other := range s.places(m.rule) { // a compiler tells about all at once
		if s.recognise(&other) && other.vars["path"] == "" && s.jarOf(&other) == "known" && other.vars["jars"] != "" && m.vars["jars"] != "" {
			m.vars["jars"] = joinWords(m.vars["jars"], other.vars["jars"])
		}
	}
	return found
}

// onlyText says that nothing is known but the text: no run it comes from, no
// source that imports what is missing. A JAR is then asked about.
func (s *scan) onlyText() bool { return len(s.in.Argv) == 0 && len(s.in.Imports) == 0 }

// jarOf looks up the JAR of one package.
func (s *scan) jarOf(m *match) string {
	name := m.vars["package"]
	i := strings.LastIndexByte(name, '.')
	if i < 0 || s.isLocal(name[i+1:]) || s.isLocal(changed(name, "root")) {
		return "local"
	}
	found := s.lookupOne(m)
	if found == "known" && !wholePackage(name, strings.TrimPrefix(m.origin, "map jar: ")) {
		return "unknown"
	}
	s.jarSources(m)
	return found
}

// wholePackage says whether a row of the map of JARs is about the package: it
// may not end within a word of it.
func wholePackage(name, row string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(row, "*"))
	return !ok || rest == "" || rest[0] == '.' || strings.HasSuffix(row, ".*")
}

// jarSources tells apart where a JAR can come from: Maven's repository, and the
// system's packages, of which a Maven project sees nothing.
func (s *scan) jarSources(m *match) {
	var jars, debs []string
	for _, p := range strings.Fields(m.vars["packages"]) {
		switch manager, name := splitManager(p, "maven"); manager {
		case "maven":
			jars = append(jars, name)
		case "apt":
			debs = append(debs, name)
		}
	}
	m.vars["jars"], m.vars["debs"] = strings.Join(jars, " "), strings.Join(debs, " ")
	if RunsMaven(s.in.Argv) && len(jars) > 0 {
		m.vars["debs"] = ""
	}
}

// jdbcDriver decides what brings the driver of a database.
func (s *scan) jdbcDriver(m *match) string {
	found := s.lookupOne(m)
	s.jarSources(m)
	if found == "known" && s.onlyText() {
		return "told"
	}
	return found
}

// mavenPackage decides what Maven lacks when there is no network. It is asked
// about what a project names before anything else is brought: known names are
// brought together, and a name that nothing vouches for comes first.
func (s *scan) mavenPackage(m *match) string {
	if !RunsMaven(s.in.Argv) {
		return ""
	}
	asked := m.vars["group"] + ":" + m.vars["artifact"]
	var known, unknown []string
	trust := Known
	for _, name := range s.in.Imports {
		if !strings.Contains(name, ":") {
			continue
		}
		v := s.rules.Vouch("maven", name)
		switch v.Trust {
		case Unknown:
			unknown = append(unknown, name)
			m.near = append(m.near, v.DidYouMean...)
			continue
		case Listed:
			trust = Listed
		}
		known = append(known, name)
	}
	m.origin = "the project names it"
	if len(unknown) > 0 {
		m.vars["artifact"], m.vars["packages"], m.trust = unknown[0], unknown[0], Unknown
		m.near = firstNames(m.near)
		return "unknown"
	}
	m.near = nil
	m.vars["artifact"] = asked
	if !slices.Contains(known, asked) {
		v := s.rules.Vouch("maven", asked)
		if v.Trust == Unknown {
			m.vars["packages"], m.trust = asked+":"+m.vars["version"], Unknown
			return "unknown"
		}
		if v.Trust == Listed {
			trust = Listed
		}
		known = append(known, s.mavenWord(asked, m.vars["version"]))
	}
	m.vars["packages"], m.trust = strings.Join(known, " "), trust
	return "known"
}

// mavenWord is a package that Maven asks for beside those of the project. The
// version of a plugin is the project's business, unless the command names it.
func (s *scan) mavenWord(name, version string) string {
	artifact := name[strings.IndexByte(name, ':')+1:]
	plugin := strings.HasSuffix(artifact, "-plugin")
	if plugin && !strings.Contains(strings.Join(s.in.Argv, " "), name+":"+version) {
		return name
	}
	return name + ":" + version
}

// readCuratedMaven are the Java packages that any map names.
func (r *Rules) readCuratedMaven() *nameList {
	l := &nameList{names: map[string]bool{}}
	for _, table := range []string{"jar", "jdbc"} {
		t := r.table(table)
		for _, key := range sortedKeys(t.rows) {
			for _, p := range t.rows[key].packages {
				if manager, name := splitManager(p, "apt"); manager == "maven" {
					l.add(name)
				}
			}
		}
	}
	for _, name := range r.list("maven-known").all {
		l.add(name)
	}
	return l
}

// readMavenGroups are the groups of those packages. A group has one owner, so
// that whatever is in a known one comes from somebody known.
func (r *Rules) readMavenGroups() *nameList {
	l := &nameList{names: map[string]bool{}}
	for _, name := range r.list("curated maven").all {
		group, _, _ := strings.Cut(name, ":")
		l.add(group)
	}
	return l
}

// vouchMaven says how well a Java package is known.
func (r *Rules) vouchMaven(name string) Verdict {
	group, _, _ := strings.Cut(name, ":")
	switch {
	case r.list("curated maven").has(name):
		return Verdict{Trust: Known, Origin: "maps: " + name}
	case r.list("maven groups").has(group):
		return Verdict{Trust: Listed, Origin: "the group " + group}
	}
	near := closest(r.list("curated maven").all, name)
	return Verdict{Trust: Unknown, DidYouMean: near, Typo: len(near) > 0}
}
