package heal

import (
	"strconv"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// pythonModule decides what a missing Python module is: a part of the
// language, a file of the user's own, something that lives only inside another
// program, or a package; and of a package, what vouches for its name. Equal
// names come last: for dozens of well-known modules the package of the same
// name is a stranger's.
func (s *scan) pythonModule(m *match) string {
	name := strings.Trim(m.vars["module"], ".")
	if name == "" {
		return ""
	}
	m.vars["module"] = name
	root, _, dotted := strings.Cut(name, ".")
	m.vars["root"] = root
	if o := s.pythonOwn(m, name, root, dotted); o != "" {
		return o
	}
	if o := s.pythonMapped(m, name, root, dotted); o != "" {
		return o
	}
	return s.pythonUnmapped(m, name, root, dotted)
}

// pythonOwn handles what is part of Python, or of the user's project.
func (s *scan) pythonOwn(m *match, name, root string, dotted bool) string {
	shadow := strings.Contains(m.line, "is not a package")
	tag := s.rules.table("import").rows[root].columns["tag"]
	if s.isLocal(root) && (shadow || dotted && s.rules.stdlib(root, s.in.Python) == stdPresent) {
		return "shadowed"
	}
	if shadow && s.rules.list("python-packages").has(root) {
		return "shadowed"
	}
	switch s.rules.stdlib(root, s.in.Python) {
	case stdNewer:
		return "newer"
	case stdPresent:
		if tag == "" || tag == "stdlib" {
			if dotted {
				return "submodule"
			}
			return "stdlib"
		}
	}
	if s.isLocal(root) {
		if dotted {
			return "ownpart"
		}
		return "local"
	}
	if shadow {
		return "shadowed"
	}
	return ""
}

// pythonMapped handles what the curated maps know, the longest dotted prefix
// first.
func (s *scan) pythonMapped(m *match, name, root string, dotted bool) string {
	for _, n := range []string{name, root} {
		if w, ok := s.rules.table("host").rows[n]; ok {
			m.vars["host"] = w.packagesText()
			return "host"
		}
	}
	w, ok := s.rules.importRow(s.deepest(m, name))
	if !ok {
		return ""
	}
	m.useRow("import", w)
	if w.columns["tag"] == "namespace" {
		return s.pythonNamespace(m, name, w)
	}
	quoted := m.vars["q"] != ""
	m.vars["system"] = map[string]string{"windows": "Windows", "macos": "macOS"}[w.columns["tag"]]
	if o := taggedOutcome(w); o != "" {
		return o
	}
	if dotted && quoted && len(w.key) < len(name) && !s.namespaceAbove(w.key) {
		if o := s.pythonAPI(m); o != "" {
			return o
		}
		return "submodule"
	}
	switch {
	case w.never():
		return "never"
	case m.exc == nil && s.supported(m, Known) == Unknown:
		return "unsupported" // the program may have printed it by itself
	}
	return "known"
}

// taggedOutcome is what a row of the import map says about itself.
func taggedOutcome(w row) string {
	switch tag := w.columns["tag"]; tag {
	case "removed":
		if w.never() {
			return "nocopy"
		}
		return "removed"
	case "windows", "macos":
		return "platform"
	case "tk", "split", "stdlib", "python2", "dead", "host", "hardware", "gone", "newer", "data", "renamed":
		return tag
	}
	return ""
}

// packagesText gives the second column as it was written.
func (w row) packagesText() string { return strings.Join(w.packages, " ") }

// importRow finds the row of the longest dotted prefix of name.
func (r *Rules) importRow(name string) (row, bool) {
	t := r.table("import")
	for {
		if w, ok := t.rows[name]; ok {
			return w, true
		}
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return row{}, false
		}
		name = name[:i]
	}
}

func (s *scan) namespaceAbove(key string) bool {
	i := strings.LastIndexByte(key, '.')
	if i < 0 {
		return false
	}
	return s.rules.table("import").rows[key[:i]].columns["tag"] == "namespace"
}

// pythonNamespace handles modules whose first part is shared by many packages
// (google, azure): the package's name is made of more parts.
func (s *scan) pythonNamespace(m *match, name string, w row) string {
	if !w.never() && name == w.key {
		return "known"
	}
	full := s.deepest(m, name)
	parts := strings.Split(full, ".")
	for n := len(parts); n > strings.Count(w.key, ".")+1; n-- {
		dist := strings.Join(parts[:n], "-")
		if parts[0] == "airflow" {
			dist = "apache-" + dist
		}
		if v := s.rules.Vouch("pip", dist); v.Trust != Unknown {
			m.vars["packages"], m.origin, m.trust = dist, "list pypi: "+dist, s.supported(m, v.Trust)
			return "known"
		}
	}
	m.vars["packages"] = ""
	return "namespace"
}

// deepest is the longest name that the failing line of code, or the user's
// imports, give for a module: "google.cloud" may be "google.cloud.storage".
func (s *scan) deepest(m *match, name string) string {
	best := name
	for _, full := range s.namesNear(m) {
		if strings.HasPrefix(full, name+".") && len(full) > len(best) {
			if w, ok := s.rules.importRow(full); ok && len(w.key) > len(name) {
				best = full
			} else if best == name {
				best = full
			}
		}
	}
	return best
}

// namesNear are the module names in the line of code that failed, and in the
// user's source.
func (s *scan) namesNear(m *match) []string {
	names := append([]string{}, s.in.Imports...)
	if m.exc != nil {
		if f := m.exc.lastFrame(); f != nil && f.code != "" {
			names = append(names, PythonImports([]byte(f.code))...)
		}
	}
	return names
}

// pythonUnmapped handles names that no curated map has.
func (s *scan) pythonUnmapped(m *match, name, root string, dotted bool) string {
	if s.pythonAPIRow(m, name) {
		return s.pythonAPI(m)
	}
	if s.rules.list("common-local").has(strings.ToLower(root)) {
		return "ownfile"
	}
	if dotted && m.vars["q"] != "" {
		return "submodule"
	}
	dist := strings.ReplaceAll(root, "_", "-")
	v := s.rules.Vouch("pip", dist)
	m.vars["packages"], m.origin, m.near = dist, v.Origin, v.DidYouMean
	m.trust = s.supported(m, v.Trust)
	switch {
	case m.trust != Unknown:
		return "listed"
	case v.Trust != Unknown:
		return "unsupported"
	case len(m.near) > 0:
		m.vars["near"], m.vars["packages"] = m.near[0], ""
		return "near"
	case strings.HasPrefix(root, "_") || strings.ContainsAny(root, "<>"):
		return "private"
	}
	return "unknown"
}

// supported lowers the trust in a name that only the output mentions: the
// user's own source must import it.
func (s *scan) supported(m *match, t Trust) Trust {
	if s.in.Imports == nil || t == Unknown {
		return t
	}
	root, _, _ := strings.Cut(m.vars["module"], ".")
	for _, imp := range s.in.Imports {
		have, _, _ := strings.Cut(imp, ".")
		if have == root {
			return t
		}
	}
	return Unknown
}

type stdState int

const (
	stdForeign stdState = iota // no part of the language
	stdPresent                 // part of this version
	stdGone                    // was part of an older version
	stdNewer                   // is part of a newer version
)

// stdlib says whether a module belongs to the standard library of a Python
// version ("3.11"; empty means a current one).
func (r *Rules) stdlib(module, version string) stdState {
	w, ok := r.table("stdlib").rows[module]
	if !ok {
		return stdForeign
	}
	minor := 99
	if v, ok := minorOf(version); ok {
		minor = v
	}
	first, _ := minorOf(w.packagesText())
	last, bounded := minorOf(w.columns["last"])
	switch {
	case bounded && minor > last:
		return stdGone
	case minor < first:
		return stdNewer
	}
	return stdPresent
}

var versionText = lazyregexp.New(`^3\.(\d+)`)

func minorOf(version string) (int, bool) {
	m := versionText.FindStringSubmatch(version)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// pythonAPI looks a moved or removed part of a package up: which version of
// the package still has it. Outcomes: api (a version constraint heals),
// apicode (the code must change).
func (s *scan) pythonAPI(m *match) string {
	for _, key := range apiKeys(m) {
		if !s.pythonAPIRow(m, key) {
			continue
		}
		if m.vars["packages"] == "" {
			return "apicode"
		}
		return "api"
	}
	if m.rule.Outcomes["other"] != nil {
		return "other"
	}
	return ""
}

// pythonAPIRow fills the placeholders from the row of api.tsv for key.
func (s *scan) pythonAPIRow(m *match, key string) bool {
	w, ok := s.rules.table("api").find(key)
	if !ok {
		return false
	}
	m.useRow("api", w)
	return true
}

// apiKeys are the keys to try: module and name, the module above with it, the
// name alone with its first part, the module alone.
func apiKeys(m *match) []string {
	module, name := m.vars["module"], m.vars["name"]
	if name == "" {
		return []string{module}
	}
	keys := []string{module + ":" + name}
	for mod := module; strings.Contains(mod, "."); {
		mod = mod[:strings.LastIndexByte(mod, '.')]
		keys = append(keys, mod+":"+name)
	}
	return append(keys, module+":*")
}

// pythonFile tells a missing command from a missing data file.
func (s *scan) pythonFile(m *match) string {
	file := m.vars["missing"]
	starts := m.exc != nil && m.exc.startsProcess()
	if strings.Contains(file, "/") || strings.Contains(file, `\`) {
		return "file"
	}
	w, ok := s.rules.table("command").find(file)
	switch {
	case ok && w.never():
		m.useRow("command", w)
		return "never"
	case ok && (starts || m.exc == nil):
		m.useRow("command", w)
		return "command"
	case starts && strings.ContainsAny(file, " "):
		return "shellwords"
	case starts:
		return "nocommand"
	}
	return "file"
}

// startsProcess tells that the exception was raised while starting a program.
func (e *exception) startsProcess() bool {
	for _, f := range e.frames {
		if strings.Contains(f.file, "subprocess.py") || strings.Contains(f.file, "asyncio/base_events") || strings.Contains(f.file, "ptyprocess") || strings.Contains(f.code, "os.exec") {
			return true
		}
	}
	return false
}

// pythonException lets the rule of last resort speak for real tracebacks only.
func (s *scan) pythonException(m *match) string {
	if m.exc == nil {
		return ""
	}
	return "user"
}

// pythonKnownDist is known for a distribution that certainly exists.
func (s *scan) pythonKnownDist(m *match) string {
	if s.rules.Vouch("pip", m.vars["package"]).Trust == Unknown {
		return ""
	}
	return "known"
}

// pythonStart is for a program that could not be started, as told from a file
// that could not be opened.
func (s *scan) pythonStart(m *match) string {
	if m.exc == nil || !m.exc.startsProcess() {
		return ""
	}
	return "start"
}
