package heal

import "strings"

// nodePrefixed are parts of Node that are had by their name with node:
// before it only, and whose bare name no well-known package has.
var nodePrefixed = map[string]bool{"test": true, "test/reporters": true}

// nodeModule decides what a missing Node module is. Only bare specifiers are
// packages; a path or an alias never is.
func (s *scan) nodeModule(m *match) string {
	spec := m.vars["module"]
	switch {
	case spec == "":
		return ""
	case nodePath(spec):
		return "path"
	case strings.HasPrefix(spec, "node:"):
		return "builtin"
	}
	name := NodePackage(spec)
	if name == "" {
		return "path"
	}
	m.vars["package"] = name
	switch {
	case nodePrefixed[spec]:
		return "prefixed"
	case s.rules.list("node-builtins").has(name):
		return "builtin"
	}
	v := s.rules.Vouch("npm", name)
	m.vars["packages"], m.origin, m.near = name, v.Origin, v.DidYouMean
	m.trust = s.nodeSupported(name, v.Trust)
	return s.nodeOutcome(m, name, v)
}

// nodeTypes names the package that describes a module to TypeScript.
func (s *scan) nodeTypes(m *match) string {
	types := m.vars["types"]
	switch {
	case types != "":
		m.vars["package"] = strings.TrimPrefix(types, "@types/")
	case m.vars["node"] != "":
		m.vars["package"], types = "node", "@types/node"
	default:
		name := NodePackage(m.vars["module"])
		m.vars["package"] = name
		types = "@types/" + strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "__")
	}
	v := s.rules.Vouch("npm", types)
	m.vars["packages"], m.origin, m.trust = types, v.Origin, v.Trust
	if v.Trust == Unknown {
		return "unknown"
	}
	return "known"
}

func (s *scan) nodeOutcome(m *match, name string, v Verdict) string {
	if from := s.requiringPackage(m); from != "" && from != name {
		m.vars["from"] = from
		if m.rule.Outcomes["transitive"] != nil {
			return "transitive"
		}
	}
	switch {
	case m.trust != Unknown:
		return "known"
	case v.Trust != Unknown, s.in.Imports != nil && !s.imported(name):
		return "unsupported"
	case v.Typo && len(m.near) > 0:
		m.vars["near"], m.vars["packages"] = m.near[0], ""
		return "near"
	}
	return "unknown"
}

// nodeSupported lowers the trust in a name that the user's source does not
// mention, unless the name is one of the best known.
func (s *scan) nodeSupported(name string, t Trust) Trust {
	if s.in.Imports == nil || t != Listed || s.imported(name) {
		return t
	}
	return Unknown
}

func (s *scan) imported(name string) bool {
	for _, imp := range s.in.Imports {
		if NodePackage(imp) == name {
			return true
		}
	}
	return false
}

// requiringPackage is the installed package whose code asked for the module,
// read from "imported from" or from the first frame outside Node itself.
func (s *scan) requiringPackage(m *match) string {
	if p := packageOfPath(m.vars["importer"]); p != "" || m.vars["importer"] != "" {
		return p
	}
	for _, line := range below(s.text, m.pos, 14) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "- "):
			return packageOfPath(line[2:])
		case !strings.HasPrefix(line, "at ") || strings.Contains(line, "node:internal") || strings.Contains(line, "(internal/"):
			continue
		}
		return packageOfPath(line)
	}
	return ""
}

// packageOfPath is the package that a path below node_modules belongs to.
func packageOfPath(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	i := strings.LastIndex(p, "node_modules/")
	if i < 0 {
		return ""
	}
	return NodePackage(p[i+len("node_modules/"):])
}

// nodePath tells a path, an alias of a bundler or a URL from a package.
func nodePath(spec string) bool {
	for _, p := range []string{".", "/", "~", "#", "@/", "file:", "http:", "https:", "data:"} {
		if strings.HasPrefix(spec, p) {
			return true
		}
	}
	return strings.Contains(spec, `\`) || len(spec) > 1 && spec[1] == ':'
}

// NodePackage is the package of a bare specifier: "lodash/fp" → "lodash",
// "@scope/name/x" → "@scope/name". What cannot be a package gives "".
func NodePackage(spec string) string {
	if nodePath(spec) || strings.HasPrefix(spec, "node:") {
		return ""
	}
	parts := strings.Split(spec, "/")
	n := 1
	if strings.HasPrefix(spec, "@") {
		n = 2
	}
	if len(parts) < n {
		return ""
	}
	name := strings.Join(parts[:n], "/")
	for _, c := range name {
		if !npmRune(c) {
			return ""
		}
	}
	if len(name) > 214 {
		return ""
	}
	return name
}

func npmRune(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return strings.ContainsRune("@/._-~", c)
}
