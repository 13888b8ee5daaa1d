package heal

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

const (
	maxPerRule  = 12  // candidate lines of one rule that are looked at
	maxPatterns = 600 // candidates that may cost a pattern, over all rules
	maxGather   = 24  // lines whose findings are joined
)

// scan is the reading of one Input.
type scan struct {
	rules *Rules
	in    Input
	text  string
	hits  hits
	trace []exception // the exceptions that ended a Python program, last first
	after int         // where the last traceback ends
}

// match is a rule that recognised a line.
type match struct {
	rule *rule
	pos  int
	rank int // orders matches of equal priority; nearest the end is best
	line string
	exc  *exception
	vars map[string]string
	// origin and trust are those of the packages found; near are names that
	// may have been meant.
	origin   string
	trust    Trust
	near     []string
	evidence []string
}

// Diagnose says what went wrong, by the first rule that recognises it: rules
// of high priority first, then those whose line is nearest to the end of the
// output. A program that ended with 0 has no failure, whatever it printed.
func (r *Rules) Diagnose(in Input) Diagnosis {
	if in.Exit == 0 && in.Limit == "" {
		return r.plain("system/fine", in)
	}
	s := r.scan(in)
	cands := s.candidates()
	for i := range cands {
		if i >= maxPatterns {
			break
		}
		if d, ok := s.try(&cands[i]); ok {
			return s.poisoned(s.cause(d, cands[i:]), cands[i].pos)
		}
	}
	if in.Exit > 0 {
		return r.plain("system/unknown", in)
	}
	return r.plain("system/unclear", in)
}

// cause prefers, among chained Python exceptions of one rule, one that heals by
// itself: when a stand-in for a missing module is missing too, the module
// itself is what should be installed.
func (s *scan) cause(d Diagnosis, cands []match) Diagnosis {
	if d.Heal != Ask || cands[0].exc == nil {
		return d
	}
	for i := range cands {
		if cands[i].rule != cands[0].rule || cands[i].exc == nil {
			continue
		}
		if other, ok := s.try(&cands[i]); ok && other.Heal == Auto {
			return other
		}
	}
	return d
}

func (r *Rules) scan(in Input) *scan {
	s := &scan{rules: r, in: in, text: clean(in.Text)}
	s.hits = r.literals.find(s.text)
	s.trace, s.after = s.readTrace()
	return s
}

// plain is the diagnosis of a rule that has no line to point at.
func (r *Rules) plain(id string, in Input) Diagnosis {
	rl := r.byID[id]
	if rl == nil {
		return Diagnosis{Heal: None}
	}
	s := &scan{rules: r, in: in}
	d := s.diagnosis(&match{rule: rl, vars: s.baseVars(nil)}, "", &rl.outcome)
	d.Evidence = nil
	if rl.Kind == noKind {
		d.Kind = ""
	}
	return d
}

// noKind marks, in a manifest, the absence of a failure.
const noKind = "nothing"

// candidates lists the lines that rules may recognise, best first.
func (s *scan) candidates() []match {
	var out []match
	for _, rl := range s.rules.rules {
		if !s.guarded(rl) {
			continue
		}
		if len(rl.anyIDs) == 0 {
			out = append(out, match{rule: rl, pos: len(s.text), rank: len(s.text)})
			continue
		}
		out = append(out, s.places(rl)...)
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.rule.Priority != b.rule.Priority {
			return a.rule.Priority > b.rule.Priority
		}
		if a.rank != b.rank {
			return a.rank > b.rank
		}
		return a.rule.order < b.rule.order
	})
	return out
}

// guarded checks what a rule says about the end of the program and about the
// rest of the text. An unknown exit code satisfies a rule that has a line to
// look for.
func (s *scan) guarded(rl *rule) bool {
	unknown := s.in.Exit < 0 && len(rl.anyIDs) > 0
	if len(rl.Exit) > 0 && !unknown && !slices.Contains(rl.Exit, s.in.Exit) {
		return false
	}
	if len(rl.Signal) > 0 && !slices.Contains(rl.Signal, s.in.Signal) {
		return false
	}
	if len(rl.Limit) > 0 && !slices.Contains(rl.Limit, s.in.Limit) {
		return false
	}
	for _, id := range rl.withIDs {
		if len(s.hits[id]) == 0 {
			return false
		}
	}
	for _, id := range rl.notIDs {
		if len(s.hits[id]) > 0 {
			return false
		}
	}
	return true
}

// places are the candidate lines of one rule.
func (s *scan) places(rl *rule) []match {
	var out []match
	python := rl.Scope == "python" && len(s.trace) > 0
	if python {
		out = s.exceptionsWith(rl)
	}
	var at []int
	for _, id := range rl.anyIDs {
		for _, pos := range s.hits[id] {
			if !python || pos >= s.after {
				at = append(at, pos)
			}
		}
	}
	sort.Ints(at)
	if !rl.First {
		slices.Reverse(at)
	}
	for _, pos := range at[:min(len(at), maxPerRule)] {
		m := match{rule: rl, pos: pos, rank: pos}
		if rl.First { // they stay in order, where the last of them is
			m.rank = at[len(at)-1]
		}
		out = append(out, m)
	}
	return out
}

// exceptionsWith are the exceptions whose text has one of the rule's literals.
func (s *scan) exceptionsWith(rl *rule) []match {
	var out []match
	for i := range s.trace {
		e := &s.trace[i]
		for _, w := range rl.Any {
			if w == traceHead || strings.Contains(e.text, w) {
				out = append(out, match{rule: rl, pos: e.pos, rank: e.pos, exc: e})
				break
			}
		}
	}
	return out
}

// try lets a rule look at a candidate with its patterns, maps and resolver.
func (s *scan) try(m *match) (Diagnosis, bool) {
	if !s.recognise(m) {
		return Diagnosis{}, false
	}
	name := ""
	switch {
	case m.rule.Resolve != "":
		name = resolverFor(m.rule.Resolve)(s, m)
	case m.rule.Lookup != "":
		name = s.lookup(m)
	}
	decided := m.rule.Resolve != "" || m.rule.Lookup != ""
	o := m.rule.Outcomes[name]
	if o == nil || decided && name == "" {
		return Diagnosis{}, false
	}
	return s.diagnosis(m, name, o), true
}

// recognise applies the patterns of the rule and fills the placeholders.
func (s *scan) recognise(m *match) bool {
	p, err := m.rule.compiled()
	if err != nil {
		return false
	}
	switch {
	case m.exc != nil:
		m.line = m.exc.text
	case len(m.rule.anyIDs) > 0:
		m.line, _ = lineAt(s.text, m.pos)
		m.line = logPrefix.ReplaceAllString(m.line, "")
	}
	m.vars = s.baseVars(m.exc)
	found := map[string]string{}
	for _, re := range p.not {
		if re.MatchString(m.line) {
			return false
		}
	}
	if len(p.match) > 0 && !capture(p.match, m.line, found, false) {
		return false
	}
	near := around(s.text, min(m.pos, len(s.text)))
	if !capture(p.need, near, found, true) {
		return false
	}
	for _, re := range p.extra {
		more := map[string]string{}
		captureOne(re, near, more)
		adopt(found, more)
	}
	maps.Copy(m.vars, found)
	return true
}

// adopt adds to found what it does not have yet.
func adopt(found, more map[string]string) {
	for k, v := range more {
		if found[k] == "" {
			found[k] = v
		}
	}
}

// diagnosis puts an outcome into words.
func (s *scan) diagnosis(m *match, name string, o *outcome) Diagnosis {
	id := m.rule.ID
	if name != "" {
		id += "." + name
	}
	d := Diagnosis{
		Kind: o.Kind, Heal: o.Heal, Rule: id, Ecosystem: o.Ecosystem,
		Subject:    clip(strings.Trim(expand(o.Subject, m.vars), " :"), 200),
		Evidence:   s.evidenceOf(m),
		DidYouMean: m.near,
		Race:       o.Race,
	}
	if d.Ecosystem == "" {
		d.Ecosystem = s.ecosystem(m)
	}
	m.vars["subject"] = d.Subject
	d.Remedies = s.remedies(m, id, o)
	d.Explanation = s.explain(m, name, o)
	return d
}

// ecosystem is that of the rule, unless the rule belongs to no language and
// the text says which one is at work.
func (s *scan) ecosystem(m *match) string {
	switch m.rule.ecosystem {
	case "system", "c", "shell":
		if m.exc != nil {
			return "python"
		}
	}
	return m.rule.ecosystem
}

// evidenceOf are the lines that prove the diagnosis: for a Python exception
// also the line of code that raised it.
func (s *scan) evidenceOf(m *match) []string {
	var out []string
	if m.exc != nil {
		out = append(out, m.exc.evidence()...)
	} else if line := strings.TrimSpace(m.line); line != "" {
		out = append(out, line)
	}
	for _, e := range m.evidence {
		if e = strings.TrimSpace(e); e != "" && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	for i := range out {
		out[i] = clip(out[i], 300)
	}
	return out[:min(len(out), 6)]
}
