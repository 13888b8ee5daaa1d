// Package agent decides: what to run, what a failure means, what to try next.
//
// Engine runs one call: an attempt in a fresh box, a diagnosis, a remedy in a
// box of its own, a retry. Loop lets a model choose the calls. Both write all
// they do to the session's log and show nothing themselves.
//
// The package never touches the user's project and never installs a name on a
// model's word alone.
package agent

import (
	"io"
	"time"

	"kintsugi/agent/heal"
)

// Call is one thing to run in a box.
type Call struct {
	Step   int    // the step it belongs to; the caller opens and closes steps
	Tool   string // "run", "shell", "code", …
	Origin string // "user", "model", "lesson"

	// Argv is the command, or File a program whose runner is chosen by its
	// extension or first line, with Args; or Code a program text in the
	// language that Ext (".py") names, shown in the box as a file called Name
	// ("main" and Ext when empty).
	Argv []string
	File string
	Args []string
	Code string
	Ext  string
	Name string

	// Stdin reaches every attempt: what one attempt consumed is replayed to
	// the next.
	Stdin io.Reader
	// Sink, when set, gets the raw output of attempts; the log gets it in any
	// case.
	Sink Sink

	NoHeal bool
}

// Sink receives the raw output of a call, attempt by attempt.
type Sink interface {
	// Attempt gives the writers for the next attempt. last says that no
	// further attempt can follow it.
	Attempt(n int, last bool) (stdout, stderr io.Writer)
	// Ended closes an attempt; final says that its output is the call's.
	Ended(final bool) error
}

// Outcome is how a call ended, after all healing.
type Outcome struct {
	OK       bool
	Exit     int
	Limit    string
	Attempts int
	// Stdout and Stderr are the last 64 KiB of the final attempt's streams,
	// made harmless.
	Stdout, Stderr string
	// Diagnosis is set when the call failed.
	Diagnosis *heal.Diagnosis
	// Tried are the titles of the remedies tried, in order.
	Tried []string
	// NeedsConsent is set when a remedy was left out because it needs the
	// user's word and nobody could give it; the log has the command that does.
	NeedsConsent bool
	// Changed are the paths that the call changed in the workspace.
	Changed []string
	Took    time.Duration
}
