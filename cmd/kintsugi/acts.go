package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/sandbox/inert"
	"kintsugi/sandbox/workspace"
)

// stepper waits for the user before each act while step mode is on.
type stepper struct {
	c *controller
	agent.Doer
}

// Do implements agent.Doer.
func (s stepper) Do(ctx context.Context, call agent.Call) (agent.Outcome, error) {
	if !s.c.stepped.Load() {
		return s.Doer.Do(ctx, call)
	}
	got, err := s.c.question(ctx, event.Ask{
		Step: call.Step, Question: "Run this now?", Why: strings.Split(strings.TrimSpace(preview(call)), "\n"),
		Choices: []string{"run it", "skip it"}, Text: inert.String(call.Code),
	})
	if err != nil || got.choice != "run it" {
		return agent.Outcome{Exit: 1, Stderr: "the user skipped this call"}, err
	}
	if got.text == "" {
		return s.Doer.Do(ctx, call)
	}
	out, err := s.Doer.Do(ctx, edited(call, got.text))
	out.Stdout = "(the user changed this code before it ran)\n" + out.Stdout
	return out, err
}

// edited is a call with another code.
func edited(c agent.Call, code string) agent.Call {
	if n := len(c.Argv); n > 0 && c.Argv[n-1] == c.Code {
		c.Argv = append(slices.Clone(c.Argv[:n-1]), code)
	}
	c.Code = code
	return c
}

// preview is what a call would run, at most a dozen lines of it.
func preview(c agent.Call) string {
	text := c.Code
	switch {
	case text == "" && c.File != "":
		text = strings.Join(append([]string{c.File}, c.Args...), " ")
	case text == "":
		text = strings.Join(c.Argv, " ")
	}
	if lines := strings.Split(text, "\n"); len(lines) > 12 {
		text = strings.Join(append(lines[:12], "…"), "\n")
	}
	return text
}

// question puts a question into the log and waits for its answer.
func (c *controller) question(ctx context.Context, q event.Ask) (answer, error) {
	c.mu.Lock()
	c.asked++
	q.ID = fmt.Sprintf("you-%d", c.asked)
	c.mu.Unlock()
	waits := c.expect(q.ID)
	if _, err := c.s.log.Append(q); err != nil {
		return answer{}, err
	}
	got, ok := await(ctx, waits)
	if !ok {
		return answer{}, ctx.Err()
	}
	_, err := c.s.log.Append(event.Answer{ID: q.ID, Choice: got.choice, Text: got.text})
	return got, err
}

// StepMode implements ui.Stepper.
func (c *controller) StepMode(on bool) { c.stepped.Store(on) }

// Rewind implements ui.Traveller.
func (c *controller) Rewind(checkpoint string) {
	c.queue(func(context.Context) error {
		if err := c.s.store.tree.Rewind(checkpoint); err != nil {
			return err
		}
		return c.tell("the workspace is as it was at checkpoint %s", checkpoint)
	})
}

// Fork implements ui.Traveller.
func (c *controller) Fork(checkpoint string) {
	c.queue(func(context.Context) error {
		if err := c.s.store.tree.Leave(checkpoint); err != nil {
			return err
		}
		return c.tell("a new line of work begins at checkpoint %s", checkpoint)
	})
}

func (c *controller) tell(format string, args ...any) error {
	_, err := c.s.log.Append(event.Note{Level: "info", Text: fmt.Sprintf(format, args...)})
	return err
}

// Apply implements ui.Applier: it shows what would change and asks.
func (c *controller) Apply() {
	c.queue(func(ctx context.Context) error {
		head := c.s.store.tree.Head()
		rep, err := c.s.store.Apply(ctx, head, workspace.Selection{}, workspace.ApplyOptions{DryRun: true, SkipConflicts: true})
		if err != nil {
			return err
		}
		if rep.Applied.Total == 0 {
			return c.tell("there is nothing to bring to the project")
		}
		got, err := c.question(ctx, event.Ask{
			Question: fmt.Sprintf("Bring %d changes to %s?", rep.Applied.Total, c.s.project.Source), Why: reportLines(rep),
			Choices: []string{"no", "yes"},
		})
		if err != nil || got.choice != "yes" {
			return err
		}
		rep, err = c.s.store.Apply(ctx, head, workspace.Selection{}, workspace.ApplyOptions{SkipConflicts: true})
		if err != nil {
			return err
		}
		return c.tell("%d changes are in the project now, %d were left out", rep.Applied.Total, rep.Conflicts.Total+rep.Held.Total+rep.Skipped.Total)
	})
}

// reportLines lists what would be applied and what would not, shortly.
func reportLines(rep workspace.Report) []string {
	var b strings.Builder
	printReport(&b, rep)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) > 12 {
		lines = append(lines[:12], "…")
	}
	return lines
}
