package main

import (
	"context"
	"testing"

	"kintsugi/agent"
	"kintsugi/agent/event"
)

// echo runs nothing: it tells what it was asked to run.
type echo struct{ calls []agent.Call }

func (e *echo) Do(_ context.Context, c agent.Call) (agent.Outcome, error) {
	e.calls = append(e.calls, c)
	return agent.Outcome{OK: true, Stdout: "ran\n"}, nil
}

// stepThrough asks about a call in step mode and answers.
func stepThrough(t *testing.T, call agent.Call, answer func(c *controller, id string)) (agent.Outcome, *echo) {
	t.Helper()
	log, err := event.Create(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	c, e := newController(t.Context()), &echo{}
	c.s = &session{log: &watchedLog{Log: log}}
	asked := make(chan event.Ask, 1)
	c.s.log.watch(func(ev event.Event) {
		if q, ok := ev.Body.(event.Ask); ok {
			asked <- q
		}
	})
	c.StepMode(true)
	type result struct {
		out agent.Outcome
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := stepper{c, e}.Do(t.Context(), call)
		done <- result{out, err}
	}()
	q := <-asked
	answer(c, q.ID)
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.out, e
}

func TestAnActIsEditedSkippedOrRun(t *testing.T) {
	t.Parallel()
	call := agent.Call{Step: 3, Tool: "python", Code: "print(1)\n", Ext: ".py"}
	out, e := stepThrough(t, call, func(c *controller, id string) { c.AnswerText(id, "run it", "print(2)\n") })
	if len(e.calls) != 1 || e.calls[0].Code != "print(2)\n" || e.calls[0].Ext != ".py" || out.Stdout != "(the user changed this code before it ran)\nran\n" {
		t.Errorf("edited: %+v, %+v", e.calls, out)
	}
	out, e = stepThrough(t, call, func(c *controller, id string) { c.Answer(id, "run it") })
	if len(e.calls) != 1 || e.calls[0].Code != "print(1)\n" || out.Stdout != "ran\n" {
		t.Errorf("run: %+v, %+v", e.calls, out)
	}
	out, e = stepThrough(t, call, func(c *controller, id string) { c.Answer(id, "skip it") })
	if len(e.calls) != 0 || out.OK {
		t.Errorf("skipped: %+v, %+v", e.calls, out)
	}
	shell := agent.Call{Tool: "shell", Argv: []string{"/bin/sh", "-c", "ls"}, Code: "ls"}
	_, e = stepThrough(t, shell, func(c *controller, id string) { c.AnswerText(id, "run it", "ls -l") })
	if got := e.calls[0]; got.Argv[2] != "ls -l" || got.Code != "ls -l" || shell.Argv[2] != "ls" {
		t.Errorf("a command line: %+v", got)
	}
}
