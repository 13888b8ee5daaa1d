package heal

import "strings"

// rubyGem decides what a missing Ruby feature is.
func (s *scan) rubyGem(m *match) string {
	name := m.vars["module"]
	if s.isLocal(name) {
		return "local"
	}
	if found := s.lookupOne(m); found != "unknown" {
		m.vars["deb"] = s.rubyDeb(m.vars["packages"])
		return found
	}
	root, _, _ := strings.Cut(name, "/")
	for _, gem := range []string{strings.ReplaceAll(name, "/", "-"), name, root} {
		v := s.rules.Vouch("gem", gem)
		if v.Trust != Unknown {
			m.vars["packages"], m.origin, m.trust, m.near = gem, v.Origin, v.Trust, nil
			m.vars["deb"] = s.rubyDeb(gem)
			return "known"
		}
		m.near = append(m.near, v.DidYouMean...)
	}
	m.vars["packages"], m.trust, m.origin = strings.ReplaceAll(name, "/", "-"), Unknown, ""
	if len(m.near) > 0 {
		m.near, m.vars["packages"] = firstNames(m.near), ""
	}
	return "unknown"
}

// rubyDeb is the system's package of a gem, if there is one: it is called as
// the gem is.
func (s *scan) rubyDeb(gem string) string {
	name := strings.ReplaceAll(strings.ToLower(gem), "_", "-")
	if !s.rules.list("gem-apt").has(name) {
		return ""
	}
	return "ruby-" + name
}

// perlModule decides what a missing Perl module is.
func (s *scan) perlModule(m *match) string {
	if m.vars["module"] == "" {
		m.vars["module"] = strings.ReplaceAll(m.vars["path"], "/", "::")
	}
	name := m.vars["module"]
	if s.isLocal(name[strings.LastIndexByte(name, ':')+1:]) {
		return "local"
	}
	return s.lookupOne(m)
}

// rPackage decides what a missing R package is. R's own collection is large;
// what neither the system nor our list has is asked about.
func (s *scan) rPackage(m *match) string {
	name := m.vars["package"]
	lower := strings.ToLower(name)
	m.vars["cran"] = name
	switch {
	case s.rules.list("r-base").has(name):
		return "base"
	case s.rules.list("r-apt").has(lower):
		m.vars["packages"], m.origin, m.trust = "r-cran-"+lower, "list r-apt: "+lower, Known
	case s.rules.list("r-bioc").has(lower):
		m.vars["packages"], m.origin, m.trust = "r-bioc-"+lower, "list r-bioc: "+lower, Known
		m.vars["cran"] = ""
	case s.rules.list("r").has(name):
		m.vars["packages"], m.origin, m.trust = "", "list r: "+name, Known
	default:
		m.vars["cran"] = ""
		m.near = firstNames(append(closest(s.rules.list("r").all, name), closest(s.rules.list("r-apt").all, name)...))
		return "unknown"
	}
	return "known"
}

// rustCrate decides what an unknown Rust path begins with.
func (s *scan) rustCrate(m *match) string {
	name := m.vars["crate"]
	if s.isLocal(name) || s.ownPath(m) {
		return "local"
	}
	if s.insideCrate(m) {
		return ""
	}
	dashed := strings.ReplaceAll(name, "_", "-")
	for _, crate := range []string{name, dashed} {
		if v := s.rules.Vouch("cargo", crate); v.Trust != Unknown {
			m.vars["packages"], m.origin, m.trust = s.rules.crate(crate), v.Origin, v.Trust
			return "known"
		}
	}
	m.vars["packages"], m.trust = dashed, Unknown
	m.near, _ = s.rules.nearNames("cargo", dashed)
	return "unknown"
}

// ownPath tells that the error is about a path that begins in the program
// itself, as crate::util does.
func (s *scan) ownPath(m *match) bool {
	if m.pos >= len(s.text) {
		return false
	}
	above := s.text[max(0, m.pos-maxAbove):m.pos] + m.line
	head := above[strings.LastIndex(above, "error")+1:]
	for _, own := range []string{"`crate::", "`self::", "`super::"} {
		if strings.Contains(head, "unresolved import "+own) || strings.Contains(head, "use "+own[1:]+m.vars["crate"]) {
			return true
		}
	}
	return false
}

// maxAbove is how far above a line of rustc's its error's head may stand.
const maxAbove = 600

// insideCrate tells that the crate is there, and something in it is not: rustc
// says so below the first line of the error.
func (s *scan) insideCrate(m *match) bool {
	if m.pos >= len(s.text) || !strings.Contains(m.line, "unresolved import `") {
		return false
	}
	rest, _, _ := strings.Cut(s.text[m.pos:], "\nerror")
	return strings.Contains(rest, " could not find `") || strings.Contains(rest, "^ no `")
}

// crate is a crate with the features that its usual programs cannot do
// without: "tokio[full]".
func (r *Rules) crate(name string) string {
	if w, ok := r.table("crate").find(name); ok {
		return name + "[" + strings.Join(w.packages, ",") + "]"
	}
	return name
}

// ownImports is for failures whose message names no package: it takes those that
// the user's own code imports and that are known. Outcomes are known and none.
func (s *scan) ownImports(m *match) string {
	for _, r := range s.rules.Plan(m.rule.ecosystem, s.in.Imports, func(string) bool { return false }, s.in.Files, s.in.Python) {
		if r.Action == "install" && r.Trust == Known {
			m.vars["packages"], m.origin, m.trust = strings.Join(r.Packages, " "), r.Origin, Known
			return "known"
		}
	}
	return "none"
}

// texStyle decides what a missing style file is.
func (s *scan) texStyle(m *match) string {
	if s.isLocal(m.vars["style"]) {
		return "local"
	}
	return s.lookupOne(m)
}

// luaModule decides what a missing Lua module is.
func (s *scan) luaModule(m *match) string {
	name := m.vars["module"]
	if s.isLocal(changed(name, "root")) || s.isLocal(name) {
		return "local"
	}
	if found := s.lookupOne(m); found != "unknown" {
		return found
	}
	v := s.rules.Vouch("luarocks", name)
	if v.Trust != Unknown {
		m.vars["packages"], m.origin, m.trust = name, v.Origin, v.Trust
		return "rock"
	}
	m.near, m.trust = v.DidYouMean, Unknown
	return "unknown"
}
