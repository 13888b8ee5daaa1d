package main

import (
	"slices"
	"strings"
	"testing"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/agent/heal"
)

func TestAnEnvironmentIsShownChangedAndAgreedTo(t *testing.T) {
	t.Parallel()
	log, err := event.Create(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	c := newController(t.Context())
	c.loop = &agent.Loop{}
	c.s = &session{log: &watchedLog{Log: log}, engine: agent.NewEngine(agent.Config{Rules: func() (*heal.Rules, error) { return heal.Load() }})}
	asks := make(chan event.Ask, 1)
	c.s.log.watch(func(e event.Event) {
		if q, ok := e.Body.(event.Ask); ok {
			asks <- q
		}
	})
	m, err := c.readEnvironment(t.Context(), "Python 3.12 with pandas and ffmpeg")
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]struct {
		ok   bool
		pip  []string
		fail string
	}{
		"":                                   {true, []string{"pandas"}, ""},
		"no":                                 {false, nil, ""},
		"name = \"mine\"\npip = [\"numpy\"]": {true, []string{"numpy"}, ""},
		"name = \"mine\"\npip = [\"--index-url=http://x\"]": {false, nil, "no name of a package"},
		"colour = \"gold\"": {false, nil, "no part of an environment"},
	} {
		go func() {
			q := <-asks
			if !slices.Contains(q.Why, "with pip: pandas") || !strings.Contains(q.Text, "pip = [\"pandas\"]") {
				t.Errorf("the question is %+v", q)
			}
			if answer == "no" {
				c.Answer(q.ID, "not now")
				return
			}
			c.AnswerText(q.ID, "make it", answer)
		}()
		got, ok, err := c.agreedEnvironment(t.Context(), m)
		if ok != want.ok || want.ok && !slices.Equal(got.Pip, want.pip) || (err != nil) != (want.fail != "") || err != nil && !strings.Contains(err.Error(), want.fail) {
			t.Errorf("%q: %+v, %v, %v", answer, got, ok, err)
		}
	}
	for words, want := range map[string]string{"Python with pandsa": "did you mean pandas", "please": "nothing was asked for"} {
		if _, err := c.readEnvironment(t.Context(), words); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", words, err)
		}
	}
}
