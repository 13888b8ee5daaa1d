package heal

import (
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// pythonVisible is for a package that was installed where Python does not look.
func (s *scan) pythonVisible(m *match) string {
	if s.pythonDist(m) == "known" {
		return "known"
	}
	return "other"
}

// pythonAdvice is pythonDist for names that only an error's advice gives: a
// curated name may be taken, any other is unknown.
func (s *scan) pythonAdvice(m *match) string {
	found := s.pythonDist(m)
	if m.trust == Known {
		return found
	}
	m.trust, m.origin = Unknown, "the text of the error"
	return "unknown"
}

// needWords are what a message about a missing package says besides its name;
// “the name is required” alone is about something else.
var needWords = lazyregexp.New(`(?i)install|package|library|module|dependency|distribution|metadata|^(?:\w+\.)*ImportError`)

// pythonNeeds is pythonAdvice for messages of many forms: a name that nothing
// knows is taken for one only when the message speaks of installing it.
func (s *scan) pythonNeeds(m *match) string {
	if !needWords.MatchString(m.line) {
		return ""
	}
	found := s.pythonAdvice(m)
	if found == "unknown" && !strings.Contains(strings.ToLower(m.line), "install") {
		return ""
	}
	return found
}

// pythonRemoved is for messages that say which version of a package took
// something away: the versions before it still have it.
func (s *scan) pythonRemoved(m *match) string {
	if s.pythonAdvice(m) != "known" || strings.ContainsAny(m.vars["packages"], " <=>") {
		return ""
	}
	m.vars["packages"] += "<" + m.vars["version"]
	return "known"
}

// pipCommand takes the packages from the pip command that failed.
func (s *scan) pipCommand(m *match) string {
	var names []string
	trust, on := Known, false
	for _, a := range s.in.Argv {
		switch {
		case a == "install":
			on = true
		case !on || strings.HasPrefix(a, "-") || strings.ContainsAny(a, "/\\:"):
		default:
			names = append(names, a)
			trust = worse(trust, s.rules.Vouch("pip", a).Trust)
		}
	}
	if len(names) == 0 || !strings.Contains(strings.Join(s.in.Argv, " "), "pip") {
		return "other"
	}
	m.vars["packages"], m.trust, m.origin = strings.Join(names, " "), trust, "the command that failed"
	return "named"
}

// worse is the lower of two tiers of trust.
func worse(a, b Trust) Trust {
	rank := map[Trust]int{Known: 2, Listed: 1, Unknown: 0}
	if rank[b] < rank[a] {
		return b
	}
	return a
}

// pythonDist names the package for a distribution or module that a message
// gives, whichever it is; Vouch decides about trust.
func (s *scan) pythonDist(m *match) string {
	name := m.vars["module"]
	if w, ok := s.rules.importRow(name); ok && !w.never() {
		m.useRow("import", w)
		if m.vars["extra"] == "" {
			return "known"
		}
	}
	if w, ok := s.rules.table("wrong").rows["pip "+bareName("pip", name)]; ok && len(w.packages) == 1 && m.vars["extra"] == "" {
		name = w.packages[0] // what people call it by mistake
	}
	v := s.rules.Vouch("pip", name)
	m.vars["packages"], m.origin, m.trust, m.near = name+m.vars["extra"], v.Origin, v.Trust, v.DidYouMean
	if v.Trust == Unknown {
		return "unknown"
	}
	return "known"
}
