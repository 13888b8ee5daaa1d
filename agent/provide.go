package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/sandbox/inert"
)

// Wish is an installation that somebody asked for; no failure did.
type Wish struct {
	Step     int // the open step that it is logged in
	Manager  string
	Packages []string
	Origin   string // who asked: "environment stats", "model"
	// Sure: the user named exactly these packages. Otherwise only names of the
	// curated maps pass without a question.
	Sure bool
}

// Provided is what came of a wish.
type Provided struct {
	OK       bool
	Versions []string
	Why      string // why not, in a line
}

// Provide installs what was wished for into the session's environment, when
// the policy gate lets it. The error is Kintsugi's own failure.
func (e *Engine) Provide(ctx context.Context, w Wish) (Provided, error) {
	r := &run{call: Call{Step: w.Step, Code: w.Origin}, started: e.Now(), tried: map[string]bool{}, failed: map[string]bool{}}
	m := heal.Remedy{Action: "install", Manager: w.Manager, Packages: w.Packages, Origin: w.Origin, Note: w.Origin + " asks for it"}
	d := heal.Diagnosis{Heal: heal.Auto, Explanation: w.Origin + " asks for it."}
	if w.Sure {
		e.Allowed = union(e.Allowed, w.Packages)
	} else if err := e.onlyCurated(w, &d); err != nil {
		return Provided{}, err
	}
	why, err := e.permitted(ctx, r, d, m)
	switch {
	case err != nil:
		return Provided{}, err
	case why == "" && r.denied != "":
		return Provided{Why: r.denied}, nil
	case why == "":
		return Provided{Why: "it was not allowed: nothing vouches for the name, and the user did not agree"}, nil
	}
	id := fmt.Sprintf("%d-wish-%s-%d", w.Step, w.Manager, e.wishes)
	e.wishes++
	open := event.Remedy{
		Step: w.Step, Attempt: 1, ID: id, Action: "install", Manager: w.Manager, Packages: w.Packages,
		Origin: w.Origin, Title: title(m), Why: inert.String(why),
	}
	if err := e.log(open); err != nil {
		return Provided{}, err
	}
	end := e.carryOut(ctx, r, id, m)
	end.Step, end.ID, end.Took = w.Step, id, e.Now().Sub(r.started)
	return Provided{OK: end.OK, Versions: end.Versions, Why: end.Error}, e.log(end)
}

// onlyCurated has the gate ask about names that no curated map holds.
func (e *Engine) onlyCurated(w Wish, d *heal.Diagnosis) error {
	rules, err := e.Rules()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(w.Packages, func(p string) bool { return rules.Vouch(w.Manager, p).Trust != heal.Known }) {
		d.Heal = heal.Ask
	}
	return nil
}

// Ask for a package by a word: what tools of a model are given.
func (e *Engine) wish(ctx context.Context, step int, word string) (string, error) {
	rules, err := e.Rules()
	if err != nil {
		return "", err
	}
	found, ok, near := rules.Word(word, false)
	if !ok {
		text := word + " is not known"
		if len(near) > 0 {
			text += "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return text, nil
	}
	p, err := e.Provide(ctx, Wish{Step: step, Manager: found.Manager, Packages: []string{found.Package}, Origin: "model"})
	switch {
	case err != nil:
		return "", err
	case p.OK:
		return fmt.Sprintf("%s is there (%s, with %s)", word, some(p.Versions, 4), found.Manager), nil
	}
	return word + " could not be had: " + line(p.Why, 200), nil
}

// maxWished bounds how many words one request of a model may name.
const maxWished = 8

// Request installs what a model asks for in a few words, through the same gate
// as any remedy, and tells how it went.
func (e *Engine) Request(ctx context.Context, step int, words string) (string, error) {
	var told []string
	for _, word := range strings.FieldsFunc(words, func(r rune) bool { return strings.ContainsRune(" ,;\n\t", r) }) {
		word = strings.Trim(strings.ToLower(word), `"'.`)
		if slices.Contains([]string{"", "and", "pip", "npm", "apt", "install", "apt-get", "with", "the", "package"}, word) || len(told) == maxWished {
			continue
		}
		text, err := e.wish(ctx, step, word)
		if err != nil {
			return "", err
		}
		told = append(told, text)
	}
	if len(told) == 0 {
		return "name at least one package or command", nil
	}
	return strings.Join(told, "\n"), nil
}
