package agent

import (
	"context"
	"testing"

	"kintsugi/agent/event"
	"kintsugi/sandbox"
)

// TestStandardOutputIsReadWhenErrorsSayNothing: a tool that complains on its
// standard output is understood, and words that a program printed there before
// it broke for another reason are not.
func TestStandardOutputIsReadWhenErrorsSayNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stdout, stderr, kind string
		installs             int
	}{
		"wrapper":      {"! Undefined control sequence.\nl.1 \\foo\n", "Latexmk: If appropriate, the -f option can be used\n", "syntax_error", 0},
		"script":       {noPandas, "npm ERR! code ELIFECYCLE\n", "missing_module", 1},
		"own bug":      {"sh: 1: jq: not found\n", "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    1/0\nZeroDivisionError: division by zero\n", "exception", 0},
		"silent":       {noPandas, "", "missing_module", 1},
		"nothing said": {"hello\n", "goodbye\n", "unknown", 0},
	} {
		b := newBench(t, python(func(sandbox.Spec) reply { return reply{stdout: c.stdout, stderr: c.stderr, exit: 1} }))
		if _, err := b.Do(context.Background(), code("import pandas\n")); err != nil {
			t.Fatal(err)
		}
		if got := firstFailure(b.log); got != c.kind {
			t.Errorf("%s: the failure is %s, want %s", name, got, c.kind)
		}
		if n := b.rt.installs(); n != c.installs {
			t.Errorf("%s: %d installations, want %d", name, n, c.installs)
		}
	}
}

// firstFailure is the kind of the first failure in a log.
func firstFailure(l *memoryLog) string {
	for _, e := range l.events {
		if f, ok := e.Body.(event.Failure); ok {
			return f.What
		}
	}
	return ""
}
