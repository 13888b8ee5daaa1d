package heal

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// manifest is one file of rules, for one ecosystem. A large ecosystem may have
// several.
type manifest struct {
	Ecosystem string            `toml:"ecosystem"`
	Title     string            `toml:"title"`
	Managers  map[string]string `toml:"managers"` // manager → command for a person
	Runners   []runnerSpec      `toml:"runner"`
	Rules     []*rule           `toml:"rule"`
}

// extensions are those of the programs that the manifest can run.
func (m *manifest) extensions() []string {
	var out []string
	for _, s := range m.Runners {
		out = append(out, s.Extensions...)
	}
	return out
}

// rule recognises one way to fail.
type rule struct {
	ID string `toml:"id"`
	// Priority decides between rules that match: the highest wins, then the
	// one whose line is nearest to the end of the text. 10 is a rule of last
	// resort, 50 (when unset) an ordinary one, 90 a fact the sandbox reports.
	Priority int `toml:"priority"`
	// Scope "python" looks only at the exceptions that ended the program when
	// the text has a traceback; the default looks at every line.
	Scope string `toml:"scope"`
	// Any are literals: a line with one of them is a candidate.
	Any []string `toml:"any"`
	// With are literals that the text must have somewhere, Without those that
	// it must not have.
	With    []string `toml:"with"`
	Without []string `toml:"without"`
	// Match are patterns tried in turn on a candidate line; named groups
	// become placeholders. Not are patterns the line must not match. Without
	// Match the literal suffices.
	Match []string `toml:"match"`
	Not   []string `toml:"not"`
	// Need are patterns that must match near the line, Extra those that may;
	// they give more placeholders.
	Need  []string `toml:"need"`
	Extra []string `toml:"extra"`
	// Exit, Signal and Limit are guards on how the program ended.
	Exit   []int    `toml:"exit"`
	Signal []string `toml:"signal"`
	Limit  []string `toml:"limit"`
	// First makes the first candidate line count instead of the last.
	First bool `toml:"first"`
	// Lookup names a map and Key what to look up in it; the outcome is known,
	// never or unknown. Gather looks up every candidate line and joins what
	// they give. Guess is a package name made by a pattern, for what the map
	// lacks; List names the list that must have ListKey (or the guessed name)
	// for the guess to be worth trying. A row with a tag that is the name of an
	// outcome gives that outcome.
	Lookup  string `toml:"lookup"`
	Key     string `toml:"key"`
	Gather  bool   `toml:"gather"`
	Guess   string `toml:"guess"`
	List    string `toml:"list"`
	ListKey string `toml:"list_key"`
	// Resolve names a decision made in code; it picks one of the outcomes.
	Resolve string `toml:"resolve"`

	outcome
	Outcomes map[string]*outcome `toml:"outcome"`

	ecosystem string
	order     int
	anyIDs    []int
	withIDs   []int
	notIDs    []int
	compiled  func() (*patterns, error)
}

// outcome is what a rule says once it matched.
type outcome struct {
	Kind      string           `toml:"kind"`
	Heal      Class            `toml:"heal"`
	Subject   string           `toml:"subject"`
	Ecosystem string           `toml:"ecosystem"`
	Explain   string           `toml:"explain"`
	Remedies  []remedyTemplate `toml:"remedy"`
	Race      bool             `toml:"race"` // Diagnosis.Race
}

// remedyTemplate is a Remedy with placeholders.
type remedyTemplate struct {
	Action   string   `toml:"action"`
	Manager  string   `toml:"manager"`
	Packages []string `toml:"packages"`
	Env      []string `toml:"env"`
	Argv     []string `toml:"argv"`
	Append   []string `toml:"append"`
	Prepend  []string `toml:"prepend"`
	Verify   []string `toml:"verify"`
	Command  string   `toml:"command"`
	Note     string   `toml:"note"`
	// When is a placeholder that must have a value for the remedy to apply.
	When string `toml:"when"`
}

// patterns are the compiled regular expressions of a rule. Go's engine is
// linear in the text, whatever the pattern.
type patterns struct {
	match, not, need, extra []*regexp.Regexp
}

func parseManifest(name string, data []byte) (*manifest, error) {
	var m manifest
	if err := decode(data, &m); err != nil {
		return nil, fmt.Errorf("manifest %s: %w", name, err)
	}
	for _, r := range m.Rules {
		if err := r.prepare(m.Ecosystem); err != nil {
			return nil, fmt.Errorf("manifest %s: rule %q: %w", name, r.ID, err)
		}
	}
	return &m, nil
}

// decode reads TOML; a key that nothing is known about is an error. All rules
// are read whenever a program file is run, which is why this package has the
// fastest reader there is.
func decode(data []byte, into any) error {
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	err := d.Decode(into)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		first := unknown.Errors[0]
		line, _ := first.Position()
		return fmt.Errorf("line %d: unknown key %q", line, strings.Join(first.Key(), "."))
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		return fmt.Errorf("line %d: %w", line, err)
	}
	return err
}

// prepare fills defaults and checks what can be checked without compiling.
func (r *rule) prepare(ecosystem string) error {
	if r.ID == "" {
		return fmt.Errorf("needs an id")
	}
	r.ID = ecosystem + "/" + r.ID
	r.ecosystem = ecosystem
	if r.Priority == 0 {
		r.Priority = 50
	}
	if len(r.Any) == 0 && len(r.Exit) == 0 && len(r.Signal) == 0 && len(r.Limit) == 0 {
		return fmt.Errorf("needs any, exit, signal or limit")
	}
	if r.Outcomes == nil {
		r.Outcomes = map[string]*outcome{"": &r.outcome}
	}
	for name, o := range r.Outcomes {
		o.inherit(&r.outcome)
		if err := o.check(); err != nil {
			return fmt.Errorf("outcome %q: %w", name, err)
		}
	}
	r.compiled = sync.OnceValues(r.compile)
	return nil
}

// inherit takes from the rule what an outcome does not say itself.
func (o *outcome) inherit(base *outcome) {
	if o.Kind == "" {
		o.Kind = base.Kind
	}
	if o.Heal == "" {
		o.Heal = base.Heal
	}
	if o.Subject == "" {
		o.Subject = base.Subject
	}
	if o.Ecosystem == "" {
		o.Ecosystem = base.Ecosystem
	}
	if o.Explain == "" {
		o.Explain = base.Explain
	}
}

func (o *outcome) check() error {
	switch {
	case o.Kind == "":
		return fmt.Errorf("needs a kind")
	case o.Explain == "":
		return fmt.Errorf("needs an explanation")
	}
	switch o.Heal {
	case Auto, Ask, Model:
	case None:
		for _, t := range o.Remedies {
			if t.Action == "install" {
				return fmt.Errorf("heal none cannot install")
			}
		}
	default:
		return fmt.Errorf("heal is %q: use auto, ask, model or none", o.Heal)
	}
	return nil
}

func (r *rule) compile() (*patterns, error) {
	p := &patterns{}
	for _, set := range []struct {
		from []string
		to   *[]*regexp.Regexp
	}{{r.Match, &p.match}, {r.Not, &p.not}, {r.Need, &p.need}, {r.Extra, &p.extra}} {
		for _, s := range set.from {
			re, err := regexp.Compile(s)
			if err != nil {
				return nil, fmt.Errorf("rule %q: %w", r.ID, err)
			}
			*set.to = append(*set.to, re)
		}
	}
	return p, nil
}
