package heal

import (
	"path"
	"slices"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// resolver decides in code what a match means; it returns the name of one of
// the rule's outcomes, or "" when the rule has to stand back.
type resolver func(*scan, *match) string

func resolverFor(name string) resolver {
	switch name {
	case "python-module":
		return (*scan).pythonModule
	case "python-api":
		return (*scan).pythonAPI
	case "python-file":
		return (*scan).pythonFile
	case "python-dist":
		return (*scan).pythonDist
	case "python-start":
		return (*scan).pythonStart
	case "python-visible":
		return (*scan).pythonVisible
	case "python-advice":
		return (*scan).pythonAdvice
	case "python-needs":
		return (*scan).pythonNeeds
	case "python-removed":
		return (*scan).pythonRemoved
	case "pip-command":
		return (*scan).pipCommand
	case "python-known-dist":
		return (*scan).pythonKnownDist
	case "python-exception":
		return (*scan).pythonException
	case "node-types":
		return (*scan).nodeTypes
	case "node-module":
		return (*scan).nodeModule
	case "name":
		return (*scan).plainName
	case "python-shadow":
		return (*scan).pythonShadow
	case "script":
		return (*scan).scriptFile
	case "header":
		return (*scan).header
	case "ruby-gem":
		return (*scan).rubyGem
	case "perl-module":
		return (*scan).perlModule
	case "r-package":
		return (*scan).rPackage
	case "rust-crate":
		return (*scan).rustCrate
	case "imports":
		return (*scan).ownImports
	case "java-package":
		return (*scan).javaPackage
	case "jdbc-driver":
		return (*scan).jdbcDriver
	case "maven-package":
		return (*scan).mavenPackage
	case "tex-style":
		return (*scan).texStyle
	case "lua-module":
		return (*scan).luaModule
	case "tool":
		return (*scan).plainTool
	case "modifier":
		return func(*scan, *match) string { return "" }
	}
	return nil
}

// lookup asks a map for what the rule captured. Its outcomes are known, never,
// guess (the map lacks it, a pattern made the name) and unknown.
func (s *scan) lookup(m *match) string {
	name := s.lookupOne(m)
	if !m.rule.Gather {
		return name
	}
	seen := map[string]bool{m.line: true}
	for _, other := range s.places(m.rule) {
		if len(seen) > maxGather {
			break
		}
		if !s.recognise(&other) || seen[other.line] {
			continue
		}
		seen[other.line] = true
		if s.lookupOne(&other) == "known" {
			s.join(m, &other, name != "known")
			name = "known"
		}
	}
	return name
}

// speaksOfInstalling is what a sentence about a missing tool says, as told from
// one about a thing of that name in a program's own world.
var speaksOfInstalling = lazyregexp.New(`(?i)install|executable|\bPATH\b|command|\bon your system\b|Cannot run program|version`)

// plainTool is lookup for sentences such as “error: X not found”. When X is an
// everyday word, as tree and node are, they may be about anything.
func (s *scan) plainTool(m *match) string {
	name := strings.ToLower(m.vars["command"])
	everyday := s.rules.list("everyday").has(name) || s.rules.list("common-local").has(name)
	if everyday && !speaksOfInstalling.MatchString(m.line) {
		return ""
	}
	return s.lookupOne(m)
}

// join adds what another line of the same rule found. When the first line
// found nothing, the other one takes its place.
func (s *scan) join(m, other *match, replace bool) {
	if replace {
		m.vars, m.origin, m.trust, m.line = other.vars, other.origin, other.trust, other.line
		return
	}
	m.evidence = append(m.evidence, other.line)
	for _, key := range []string{"packages", "flags", "found"} {
		m.vars[key] = joinWords(m.vars[key], other.vars[key])
	}
}

func joinWords(a, b string) string {
	words := strings.Fields(a)
	for _, w := range strings.Fields(b) {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

func (s *scan) lookupOne(m *match) string {
	key := expand(m.rule.Key, m.vars)
	if key == "" {
		return ""
	}
	m.vars["found"] = key
	if w, ok := s.rules.table(m.rule.Lookup).find(key); ok {
		m.useRow(m.rule.Lookup, w)
		tag := w.columns["tag"]
		switch {
		case tag != "" && m.rule.Outcomes[tag] != nil:
			return tag
		case w.never():
			return "never"
		}
		return "known"
	}
	if m.rule.Guess != "" {
		return s.guess(m)
	}
	m.near = s.rules.near(m.rule.Lookup, key)
	if len(m.near) > 0 {
		m.vars["near"] = m.near[0]
	}
	return "unknown"
}

// useRow makes what a map row says available as placeholders.
func (m *match) useRow(table string, w row) {
	for k, v := range w.columns {
		m.vars[k] = v
	}
	m.vars["packages"] = strings.Join(w.packages, " ")
	if w.never() {
		m.vars["packages"] = ""
	}
	m.origin, m.trust = "map "+table+": "+w.key, Known
}

// guess makes a package's name by the rule's pattern. It is known when the
// rule's list has it. The system's own archive is curated, so a name that is
// there may be installed without asking.
func (s *scan) guess(m *match) string {
	name := expand(m.rule.Guess, m.vars)
	manager, bare := splitManager(name, "")
	m.vars["packages"], m.origin, m.trust = name, "pattern of rule "+m.rule.ID, Listed
	if m.rule.List == "" {
		return "guess"
	}
	if m.rule.ListKey != "" {
		bare = expand(m.rule.ListKey, m.vars)
	}
	v := s.rules.Vouch(m.rule.List, bare)
	if v.Trust == Unknown {
		m.near, m.trust = v.DidYouMean, Unknown
		return "unknown"
	}
	m.origin, m.trust = v.Origin, v.Trust
	if manager == "apt" {
		m.trust = Known
	}
	return "known"
}

// plainName is for ecosystems whose import names are package names: the
// outcomes are known, listed, unknown and never (by the map of that name).
// Key gives the name and List the manager that vouches for it.
func (s *scan) plainName(m *match) string {
	name := expand(m.rule.Key, m.vars)
	if name == "" {
		return ""
	}
	if s.isLocal(name) && m.rule.Outcomes["local"] != nil {
		return "local"
	}
	v := s.rules.Vouch(m.rule.List, name)
	m.vars["packages"], m.near, m.trust = name, v.DidYouMean, v.Trust
	m.origin = v.Origin
	if v.Trust == Unknown {
		return "unknown"
	}
	return "known"
}

// pythonShadow tells a file of the user's own that hides a module of Python or
// of a known package from one that merely is the user's own.
func (s *scan) pythonShadow(m *match) string {
	root, _, _ := strings.Cut(expand(m.rule.Key, m.vars), ".")
	_, mapped := s.rules.importRow(root)
	known := mapped || s.rules.stdlib(root, s.in.Python) == stdPresent
	switch {
	case known && ownModule(m.vars["path"], root):
		return "local"
	case (known || s.rules.list("pypi").has(root)) && s.isLocal(root):
		return "local"
	}
	return "other"
}

// ownModule tells that the file of a module, as an error names it, is one of
// the user's own and bears the module's name.
func ownModule(file, module string) bool {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	return base == module+".py" && !(&frame{file: file}).library()
}

// isLocal tells whether a file of that name, with or without its extension,
// lies in the project.
func (s *scan) isLocal(name string) bool {
	if name == "" {
		return false
	}
	base := path.Base(name)
	stem := strings.TrimSuffix(base, path.Ext(base))
	for _, f := range s.in.Files {
		fb := path.Base(f)
		if fb == base || fb == stem || strings.TrimSuffix(fb, path.Ext(fb)) == base {
			return true
		}
	}
	return false
}

// scriptFile judges a program file that the system refused to start: the
// outcomes are crlf, missing, interpreter and absent.
func (s *scan) scriptFile(m *match) string {
	file := m.vars["file"]
	text := strings.ToLower(around(s.text, min(m.pos, len(s.text))))
	switch {
	case strings.Contains(text, "crlf") || strings.Contains(text, `\r`) || strings.Contains(text, "^m") || strings.Contains(text, "line ending"):
		return "crlf"
	case strings.Contains(m.line, "required file not found"): // said of a file that is there
		if isScript(file) {
			return "crlf"
		}
		return "interpreter"
	case !strings.Contains(file, "/") && m.rule.Outcomes["absent"] != nil:
		return "absent"
	case len(s.in.Files) > 0 && !s.isLocal(file), len(s.in.Files) == 0 && strings.Contains(m.line, "No such file"):
		return "absent"
	case isScript(file):
		return "crlf"
	}
	return "interpreter"
}

func isScript(file string) bool {
	switch path.Ext(file) {
	case ".sh", ".bash", ".py", ".pl", ".rb", ".js", ".zsh", ".lua", ".r", ".R", ".php", ".awk":
		return true
	}
	return false
}

// header decides what a missing header is: one of a package the map knows, a
// file of the user's own (it is in quotes in the source), or unknown.
func (s *scan) header(m *match) string {
	header := m.vars["header"]
	name := s.lookupOne(m)
	if name != "unknown" {
		return name
	}
	if m.vars["quoted"] == header || s.isLocal(header) {
		return "local"
	}
	return "unknown"
}
