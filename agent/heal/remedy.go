package heal

import (
	"strconv"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// remedies builds what the outcome offers. Packages of several managers make
// several remedies.
func (s *scan) remedies(m *match, id string, o *outcome) []Remedy {
	var out []Remedy
	for i := range o.Remedies {
		t := &o.Remedies[i]
		if t.When != "" && m.vars[t.When] == "" {
			continue
		}
		base := Remedy{
			Action: t.Action, Origin: "rule " + id,
			Env: expandEach(t.Env, m.vars), Argv: expandEach(t.Argv, m.vars),
			Append: expandWords(t.Append, m.vars), Prepend: expandWords(t.Prepend, m.vars),
			Verify: expandWords(t.Verify, m.vars), Note: expand(t.Note, m.vars),
			Command: strings.TrimSpace(expand(t.Command, m.vars)),
		}
		if t.Action != "install" {
			out = append(out, base.spoken())
			continue
		}
		out = append(out, s.installs(m, t, base)...)
	}
	return out
}

// installs splits the packages of one template by manager.
func (s *scan) installs(m *match, t *remedyTemplate, base Remedy) []Remedy {
	found := strings.Contains(strings.Join(t.Packages, " "), "{")
	if found && m.origin != "" {
		base.Origin += "; " + m.origin
	}
	base.Trust = Known
	if found && m.trust != "" {
		base.Trust = m.trust
	}
	var order []string
	byManager := map[string][]string{}
	for _, p := range expandWords(t.Packages, m.vars) {
		manager, name := splitManager(p, t.Manager)
		if byManager[manager] == nil {
			order = append(order, manager)
		}
		byManager[manager] = append(byManager[manager], name)
	}
	var out []Remedy
	for _, manager := range order {
		one := base
		one.Manager, one.Packages = manager, byManager[manager]
		if manager == "apt" {
			one.Verify = s.checkable(one.Verify)
		}
		if one.Command == "" || manager != t.Manager {
			one.Command = s.rules.installCommand(manager, one.Packages)
		}
		out = append(out, one)
	}
	return out
}

// checkable keeps of what should be there afterwards what can be looked for
// without knowing the ecosystem: commands, libraries and headers.
func (s *scan) checkable(names []string) []string {
	var out []string
	for _, n := range names {
		_, command := s.rules.table("command").rows[n]
		if command || strings.HasSuffix(n, ".h") || strings.HasSuffix(n, ".hpp") || strings.HasSuffix(n, ".so") || strings.Contains(n, ".so.") {
			out = append(out, n)
		}
	}
	return out
}

// splitManager takes "apt:graphviz" apart; a bare name belongs to fallback.
func splitManager(p, fallback string) (manager, name string) {
	if m, n, ok := strings.Cut(p, ":"); ok && managerWord.MatchString(m) {
		return m, n
	}
	return fallback, p
}

var managerWord = lazyregexp.New(`^(apt|pip|npm|gem|cargo|go|cran|cpan|luarocks|composer|maven|rustup)$`)

// installCommand is what a person would type to install packages.
func (r *Rules) installCommand(manager string, packages []string) string {
	t, ok := r.managers[manager]
	if !ok {
		t = manager + " install {packages}"
	}
	if manager == "cargo" {
		packages = crateWords(packages)
	}
	if manager == "maven" {
		return mavenCommands(t, packages)
	}
	quoted := make([]string, len(packages))
	for i, p := range packages {
		quoted[i] = shellQuote(p)
	}
	return expand(t, map[string]string{"packages": strings.Join(quoted, " ")})
}

// mavenCommands is a command for each package, which must have a version.
func mavenCommands(template string, packages []string) string {
	var out []string
	for _, p := range packages {
		if strings.Count(p, ":") == 1 {
			p += ":LATEST"
		}
		out = append(out, expand(template, map[string]string{"packages": shellQuote(p)}))
	}
	return strings.Join(out, " && ")
}

// crateWords writes crates with features as cargo add takes them.
func crateWords(packages []string) []string {
	var names, features []string
	for _, p := range packages {
		name, list, _ := strings.Cut(strings.TrimSuffix(p, "]"), "[")
		names = append(names, name)
		for _, f := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' }) {
			features = append(features, name+"/"+f)
		}
	}
	if len(features) > 0 {
		names = append(names, "--features", strings.Join(features, ","))
	}
	return names
}

var shellSafe = lazyregexp.New(`^[A-Za-z0-9@%+=:,./_\-]+$`)

func shellQuote(s string) string {
	if shellSafe.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// spoken gives a remedy that is not an install the words a person would type.
func (r Remedy) spoken() Remedy {
	if r.Command != "" {
		return r
	}
	switch {
	case len(r.Env) > 0:
		quoted := make([]string, len(r.Env))
		for i, kv := range r.Env {
			key, value, _ := strings.Cut(kv, "=")
			quoted[i] = key + "=" + shellQuote(value)
		}
		r.Command = "export " + strings.Join(quoted, " ")
	case len(r.Argv) > 0:
		quoted := make([]string, len(r.Argv))
		for i, a := range r.Argv {
			quoted[i] = shellQuote(a)
		}
		r.Command = strings.Join(quoted, " ")
	}
	return r
}

func expandEach(templates []string, vars map[string]string) []string {
	var out []string
	for _, t := range templates {
		out = append(out, expand(t, vars))
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }
