package main

import (
	"strings"
	"testing"

	"kintsugi/agent/event"
	"kintsugi/agent/heal/programs"
)

// TestJudge feeds the judge stories that must not count as right.
func TestJudge(t *testing.T) {
	t.Parallel()
	mends := programs.Program{Kind: "missing_module", Want: "42", Needs: []string{"pip pyserial"}}
	says := programs.Program{Kind: "syntax_error"}
	asks := programs.Program{Kind: "missing_module", Asks: true}
	install := func(name string) []event.Body {
		return []event.Body{
			event.Attempt{Attempt: 1}, event.Failure{What: "missing_module"},
			event.Remedy{ID: "1", Manager: "pip", Packages: []string{name}}, event.RemedyEnd{ID: "1", OK: true},
			event.Attempt{Attempt: 2}, event.Output{Text: "42\n"},
		}
	}
	for _, c := range []struct {
		name  string
		p     programs.Program
		exit  int
		story []event.Body
		want  string
	}{
		{"mended", mends, 0, install("pyserial"), "mended"},
		{"wrong package", mends, 0, install("serial"), "WRONG: installed pip serial"},
		{"installed for a bug", says, 1, install("pyserial"), "WRONG: installed"},
		{"no output", mends, 0, install("pyserial")[:5], "FAILED"},
		{"other kind", says, 1, []event.Body{event.Failure{What: "exception"}}, "WRONG: called exception"},
		{"explained", says, 1, []event.Body{event.Failure{What: "syntax_error"}}, "explained: syntax error"},
		{"nothing failed", says, 0, nil, "WRONG: nothing failed"},
		{"asked", asks, exitConsent, []event.Body{event.Failure{What: "missing_module"}}, "asked"},
		{"did not ask", asks, 1, []event.Body{event.Failure{What: "missing_module"}}, "WRONG: did not ask"},
	} {
		s := readStory(nil)
		for _, b := range c.story {
			s.add(b)
		}
		r := s.row(c.p, c.exit, 0)
		bad := strings.HasPrefix(c.want, "WRONG") || strings.HasPrefix(c.want, "FAILED")
		if !strings.HasPrefix(r.Outcome, c.want) || r.Right == bad {
			t.Errorf("%s: got %q, right %v; want %q", c.name, r.Outcome, r.Right, c.want)
		}
	}
}

func TestNaive(t *testing.T) {
	t.Parallel()
	p := programs.Program{Needs: []string{"npm lodash", "apt jq"}}
	for text, want := range map[string]string{
		"ModuleNotFoundError: No module named 'yaml'":                                   "pip install yaml: wrong",
		"Error: Cannot find module 'lodash/chunk'":                                      "npm install lodash: right",
		"Error: Cannot find module './own'":                                             "-",
		"a.sh: 1: jq: not found":                                                        "apt install jq: right",
		"OSError: libz.so.0: cannot open shared object file: No such file or directory": "apt install libz.so.0: wrong",
		"SyntaxError: invalid syntax":                                                   "-",
	} {
		if _, got := naive(p, text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
