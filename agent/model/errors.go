package model

import "fmt"

// Kind tells errors apart.
type Kind string

// The kinds.
const (
	Absent   Kind = "absent"   // no server answers
	NoModel  Kind = "no model" // the server does not have the model
	Busy     Kind = "busy"     // too many requests wait
	Overflow Kind = "overflow" // the messages do not fit the window
	NoMemory Kind = "memory"   // the model does not fit this machine
	Refused  Kind = "refused"  // the server rejects the request
	Died     Kind = "died"     // the stream ended without an end
	Failed   Kind = "failed"   // the server reports an error of its own
)

// Error is a failure of a provider, in one line, with the way out.
type Error struct {
	Kind Kind
	// Text says what went wrong.
	Text string
	// Command is the exact next command, when there is one.
	Command string
	Err     error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Command == "" {
		return e.Text
	}
	return fmt.Sprintf("%s; try: %s", e.Text, e.Command)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retry says whether the same request may work a little later.
func (e *Error) Retry() bool { return e.Kind == Busy || e.Kind == Died }
