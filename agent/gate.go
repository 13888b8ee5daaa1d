package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/sandbox/gateway"
	"kintsugi/sandbox/inert"
	"kintsugi/sandbox/lazyregexp"
)

// verdict is what the policy says about a remedy.
type verdict int

const (
	allow  verdict = iota // do it
	ask                   // the user decides
	refuse                // a slip of a known name: not even asked about
)

// judgement is a verdict with its reason, in words for the log.
type judgement struct {
	verdict
	reason string
}

// offered are the remedies of a diagnosis. A near miss of a known name has
// none: that is told, unless the user vouches for exactly this name.
func (e *Engine) offered(r *run, d heal.Diagnosis) ([]heal.Remedy, error) {
	manager := map[string]string{"python": "pip", "node": "npm"}[d.Ecosystem]
	if len(d.Remedies) > 0 || len(d.DidYouMean) == 0 || manager == "" {
		return d.Remedies, nil
	}
	name := packageOf(manager, d.Subject)
	m := heal.Remedy{
		Action: "install", Manager: manager, Packages: []string{name}, Verify: []string{d.Subject},
		Origin: "--allow", Trust: heal.Unknown,
	}
	if e.vouched(manager, name) {
		return []heal.Remedy{m}, nil
	}
	return nil, e.refused(r, m, meant(name, d.DidYouMean))
}

// packageOf is the package that a missing module would be in by its name.
func packageOf(manager, module string) string {
	if manager == "pip" {
		module, _, _ = strings.Cut(module, ".")
	}
	return heal.BareName(manager, module)
}

// permitted is the policy gate: it gives the reason why a remedy may be
// carried out, or "" when it may not. A known name passes; a listed one passes
// when the user's own code imports it; a slip of a known name is refused;
// anything else is the user's to decide, and not done when nobody can answer.
func (e *Engine) permitted(ctx context.Context, r *run, d heal.Diagnosis, m heal.Remedy) (string, error) {
	rules, err := e.Rules()
	if err != nil {
		return "", err
	}
	switch j := e.judge(rules, d, m); j.verdict {
	case allow:
		return j.reason, nil
	case refuse:
		return "", e.refused(r, m, j.reason)
	default:
		return e.askUser(ctx, r, d, m, j.reason)
	}
}

// MayInstall asks the policy about packages that a person names: nil when they
// may be installed, else an error with the reason.
func (e *Engine) MayInstall(manager string, packages ...string) error {
	rules, err := e.Rules()
	if err != nil {
		return err
	}
	j := e.judge(rules, heal.Diagnosis{Heal: heal.Auto}, heal.Remedy{Action: "install", Manager: manager, Packages: packages})
	if j.verdict == allow {
		return nil
	}
	var names []string
	for _, p := range packages {
		names = append(names, heal.BareName(manager, p))
	}
	return fmt.Errorf("%s (to have it all the same: --allow %s)", j.reason, strings.Join(names, ","))
}

// judge gives the strictest verdict on the packages of a remedy.
func (e *Engine) judge(rules *heal.Rules, d heal.Diagnosis, m heal.Remedy) judgement {
	if m.Action != "install" {
		if d.Heal == heal.Auto {
			return judgement{allow, "it installs nothing"}
		}
		return judgement{ask, "the rule leaves this to you"}
	}
	var worst judgement
	for _, p := range m.Packages {
		if j := e.judgeName(rules, d, m, p); worst.reason == "" || j.verdict > worst.verdict {
			worst = j
		}
	}
	return worst
}

// judgeName gives the verdict on one package. A remedy without a tier of trust
// of its own, such as a lock's, has that of each name.
func (e *Engine) judgeName(rules *heal.Rules, d heal.Diagnosis, m heal.Remedy, p string) judgement {
	name := heal.BareName(m.Manager, p)
	if m.Trust == "" {
		v := rules.Vouch(m.Manager, name)
		m.Trust, m.Origin = v.Trust, v.Origin
	}
	switch {
	case e.vouched(m.Manager, name):
		return judgement{allow, "you allowed " + name}
	case d.Heal == heal.Auto && e.trusted(m.Trust):
		return judgement{allow, fmt.Sprintf("%s name: %s", m.Trust, m.Origin)}
	}
	v := rules.Vouch(m.Manager, name)
	switch {
	case v.Trust == heal.Unknown && len(v.DidYouMean) > 0:
		return judgement{refuse, meant(name, v.DidYouMean)}
	case v.Trust == heal.Unknown:
		return judgement{ask, "nothing vouches for the name " + name}
	case m.Trust == heal.Listed && d.Heal == heal.Auto:
		return judgement{ask, name + " is well known, but no curated map has it"}
	case m.Note != "":
		return judgement{ask, m.Note}
	}
	return judgement{ask, "the rule leaves this to you"}
}

// trusted says whether names of a tier are installed without asking.
func (e *Engine) trusted(t heal.Trust) bool {
	return t == heal.Known || t == heal.Listed && !e.OnlyKnown
}

// vouched says whether the user named the package in Config.Allowed.
func (e *Engine) vouched(manager, name string) bool {
	return slices.ContainsFunc(e.Allowed, func(a string) bool { return heal.BareName(manager, a) == name })
}

func meant(name string, near []string) string {
	return fmt.Sprintf("%s is no known name; did you mean %s?", name, strings.Join(near, " or "))
}

// refused tells that a remedy was not even asked about.
func (e *Engine) refused(r *run, m heal.Remedy, reason string) error {
	r.denied = reason
	return e.log(event.Note{
		Step: r.call.Step, Level: "warn", Text: inert.String("refused to " + title(m) + ": " + reason), Command: e.consent(r, m),
	})
}

// askUser asks, and gives the reason why the remedy may be carried out: the
// user's word.
func (e *Engine) askUser(ctx context.Context, r *run, d heal.Diagnosis, m heal.Remedy, reason string) (string, error) {
	if e.Ask == nil {
		return "", e.unanswered(r, m, reason)
	}
	about, none := e.about(ctx, m)
	if none {
		return "", e.refused(r, m, about)
	}
	q := event.Ask{
		ID: fmt.Sprintf("ask-%d-%d", r.call.Step, len(r.tried)), Step: r.call.Step,
		Question: "May I " + title(m) + "?", Why: slices.Concat([]string{reason + about}, []string{d.Explanation}, d.Evidence),
		Choices: []string{"no", "yes"},
	}
	for i, line := range q.Why {
		q.Why[i] = inert.String(line)
	}
	if err := e.log(q); err != nil {
		return "", err
	}
	choice, ok := e.Ask(ctx, q)
	if !ok {
		choice = "no"
	}
	if err := e.log(event.Answer{ID: q.ID, Choice: choice}); err != nil {
		return "", err
	}
	switch {
	case !ok && ctx.Err() == nil:
		return "", e.unanswered(r, m, reason)
	case choice == "yes":
		return "you agreed", nil
	}
	return "", nil
}

// aboutTime is how long a question may wait for what the index tells.
const aboutTime = 5 * time.Second

// about tells how long the index has known the packages, which says more than
// their names; none is set when it does not know one at all.
func (e *Engine) about(ctx context.Context, m heal.Remedy) (text string, none bool) {
	if m.Action != "install" || e.Installer == nil || e.Installer.Mirror == nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, aboutTime)
	defer cancel()
	for _, p := range m.Packages {
		name := heal.BareName(m.Manager, p)
		a, err := e.Installer.Mirror.About(ctx, m.Manager, name)
		switch {
		case gateway.Absent(err):
			return err.Error(), true
		case err == nil && !a.First.IsZero():
			text += fmt.Sprintf("; %s came on %s (releases: %d)", name, a.First.Format(time.DateOnly), a.Releases)
		case err == nil:
			text += fmt.Sprintf("; %s has %d releases", name, a.Releases)
		}
	}
	return text, false
}

// unanswered tells that a remedy needs a word that nobody could give.
func (e *Engine) unanswered(r *run, m heal.Remedy, reason string) error {
	r.consent = true
	return e.log(event.Note{
		Step: r.call.Step, Level: "warn", Text: inert.String("not done without your consent: " + title(m) + " (" + reason + ")"),
		Command: e.consent(r, m),
	})
}

// consent is the command that allows the remedy.
func (e *Engine) consent(r *run, m heal.Remedy) string {
	if m.Action != "install" {
		return m.Command
	}
	line := []string{"kintsugi"}
	if r.call.Code == "" {
		line = append(line, "run")
	}
	for _, p := range m.Packages {
		line = append(line, "--allow", heal.BareName(m.Manager, p))
	}
	switch {
	case r.call.File != "":
		line = append(append(line, r.call.File), r.call.Args...)
	case r.call.Code == "":
		line = append(append(line, "--"), r.argv...)
	}
	return inert.String(spoken(line))
}

var plainWord = lazyregexp.New(`^[A-Za-z0-9@%+=:,./_-]+$`)

// spoken writes a command as a person would type it.
func spoken(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		if words[i] = a; !plainWord.MatchString(a) {
			words[i] = quoted([]string{a})
		}
	}
	return strings.Join(words, " ")
}
