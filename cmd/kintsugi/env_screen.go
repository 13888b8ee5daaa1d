package main

import (
	"context"
	"errors"
	"strings"

	"kintsugi/agent/envs"
	"kintsugi/agent/event"
	"kintsugi/sandbox/inert"
	"kintsugi/ui"
)

// Environment implements ui.Environer: the words become a manifest, which is
// shown, may be edited, and is built once the user agrees.
func (c *controller) Environment(words string) {
	c.queue(func(ctx context.Context) error {
		folder, err := environments()
		if err != nil {
			return err
		}
		if _, err := folder.Load(words); err == nil {
			return c.s.useEnvironment(ctx, words)
		}
		m, err := c.readEnvironment(ctx, words)
		if err != nil {
			return err
		}
		m, ok, err := c.agreedEnvironment(ctx, m)
		if !ok || err != nil {
			return err
		}
		if err := folder.Save(m); err != nil {
			return err
		}
		return c.s.useEnvironment(ctx, m.Name)
	})
}

// readEnvironment makes the manifest: the rules first, the session's model
// second.
func (c *controller) readEnvironment(ctx context.Context, words string) (envs.Manifest, error) {
	rules, err := c.s.engine.Rules()
	if err != nil {
		return envs.Manifest{}, err
	}
	m, unknown := envs.Read(words, rules)
	if len(unknown) > 0 && c.loop.Model != nil {
		if err := c.tell("asking %s about %s", c.loop.Name, inert.String(unknown[0].Word)); err != nil {
			return m, err
		}
		if m, unknown, err = envs.Ask(ctx, c.loop.Model, c.loop.Name, m, unknown, rules); err != nil && ctx.Err() != nil {
			return m, err
		}
	}
	switch {
	case len(unknown) > 0:
		return m, errors.New(notKnown(unknown))
	case m.Empty():
		return m, errors.New("nothing was asked for; try: /env Python 3.12 with pandas")
	}
	return m, nil
}

// agreedEnvironment shows a manifest and asks; the user may have changed it.
func (c *controller) agreedEnvironment(ctx context.Context, m envs.Manifest) (envs.Manifest, bool, error) {
	data, err := m.Bytes()
	if err != nil {
		return m, false, err
	}
	got, err := c.question(ctx, event.Ask{
		Question: "Make the environment " + m.Name + "?", Why: manifestLines(m),
		Choices: []string{"make it", "not now"}, Text: string(data),
	})
	if err != nil || got.choice != "make it" {
		return m, false, err
	}
	if got.text == "" {
		return m, true, nil
	}
	changed, err := envs.Parse([]byte(got.text))
	if err == nil {
		err = changed.Check()
	}
	return changed, err == nil, err
}

// manifestLines tells what an environment holds.
func manifestLines(m envs.Manifest) []string {
	var out []string
	for _, v := range [][2]string{{"Python", m.Python}, {"Node", m.Node}} {
		if v[1] != "" {
			out = append(out, v[0]+" "+v[1])
		}
	}
	for _, p := range m.Parts() {
		out = append(out, "with "+p.Manager+": "+strings.Join(p.Packages, ", "))
	}
	return append(out, "Installed in the sandbox only, and kept under its name: kintsugi run --environment "+m.Name+" FILE")
}

var _ ui.Environer = (*controller)(nil)
