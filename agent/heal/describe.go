package heal

// RuleInfo is one rule, told to a person.
type RuleInfo struct {
	ID        string   `json:"id"`
	Ecosystem string   `json:"ecosystem"`
	Kind      string   `json:"kind"`
	Heal      Class    `json:"heal"`
	Explain   string   `json:"explain"` // with its placeholders
	Priority  int      `json:"priority"`
	Literals  []string `json:"literals,omitempty"`
	Patterns  []string `json:"patterns,omitempty"`
	Map       string   `json:"map,omitempty"`
	Remedies  []string `json:"remedies,omitempty"` // action, manager and packages
}

// List tells every rule, and every outcome of a rule as an entry of its own
// ("python/module.known"), in the order of the manifests. The texts are in the
// loaded language.
func (r *Rules) List() []RuleInfo {
	var out []RuleInfo
	for _, rl := range r.rules {
		for _, name := range sortedKeys(rl.Outcomes) {
			out = append(out, r.info(rl, name, rl.Outcomes[name]))
		}
	}
	return out
}

func (r *Rules) info(rl *rule, name string, o *outcome) RuleInfo {
	i := RuleInfo{
		ID: rl.ID, Ecosystem: rl.ecosystem, Kind: o.Kind, Heal: o.Heal, Explain: r.explanation(rl, name, o),
		Priority: rl.Priority, Literals: rl.Any, Patterns: rl.Match, Map: rl.Lookup,
	}
	if name != "" {
		i.ID += "." + name
	}
	if i.Kind == noKind {
		i.Kind = ""
	}
	for _, t := range o.Remedies {
		i.Remedies = append(i.Remedies, t.text())
	}
	return i
}

// text is a remedy in a few words.
func (t *remedyTemplate) text() string {
	words := t.Action
	if t.Manager != "" {
		words += " " + t.Manager + ":"
	}
	for _, list := range [][]string{t.Packages, t.Env, t.Argv, t.Append} {
		for _, w := range list {
			words += " " + w
		}
	}
	return words
}

// Ecosystems lists the ecosystems that have rules, each with its title.
func (r *Rules) Ecosystems() [][2]string {
	seen := map[string]bool{}
	var out [][2]string
	for _, m := range r.manifests {
		if !seen[m.Ecosystem] {
			seen[m.Ecosystem] = true
			out = append(out, [2]string{m.Ecosystem, m.Title})
		}
	}
	return out
}
