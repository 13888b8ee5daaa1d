// Package probe is the half of the abuse matrix that runs inside a box: small
// hostile programs, compiled into the workbench itself so that a box needs no
// compiler and no interpreter. Each tries one thing and prints one line of
// JSON that says whether the walls held.
//
// A probe never relies on the box being good: what it tries is chosen so that
// a success is noticed and harmless. The package never judges what can only
// be seen from outside, and imports nothing of the rest of the workbench.
package probe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

// The verdicts. Ready is not final: the probe holds what it has taken and goes
// on when its standard input ends.
const (
	Held   = "held"
	Breach = "breach"
	Error  = "error"
	Ready  = "ready"
)

// Verdict is what a probe prints, one line of JSON.
type Verdict struct {
	Verdict string `json:"verdict"`
	Detail  string `json:"detail,omitempty"`
	// Exit is added to the exit code, for probes whose program would fail.
	Exit int `json:"-"`
}

// Heldf says that the walls held, and what was seen.
func Heldf(format string, a ...any) Verdict { return Verdict{Held, fmt.Sprintf(format, a...), 0} }

// Breachf says that a wall gave way, and which.
func Breachf(format string, a ...any) Verdict { return Verdict{Breach, fmt.Sprintf(format, a...), 0} }

// Errorf says that the probe could not find out.
func Errorf(format string, a ...any) Verdict { return Verdict{Error, fmt.Sprintf(format, a...), 0} }

// Args are the arguments of a probe.
type Args struct {
	// Token marks the trial; it is on the command line of every process of it.
	Token string
	// Params are "key=value" arguments that the host's side gives.
	Params map[string]string
}

// Text returns the parameter key.
func (a Args) Text(key string) string { return a.Params[key] }

// Int returns the number in parameter key, or 0.
func (a Args) Int(key string) int {
	n, err := strconv.Atoi(a.Params[key])
	if err != nil {
		return 0
	}
	return n
}

// List returns the parameter key split at commas.
func (a Args) List(key string) []string {
	if a.Params[key] == "" {
		return nil
	}
	return strings.Split(a.Params[key], ",")
}

// Func is one probe.
type Func func(Args) Verdict

// Names lists the probes that this system can run, sorted.
func Names() []string {
	var out []string
	for name := range table() {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// Main runs the probe that args name (name, token, key=value …), prints its
// verdict and returns the exit code: 0 held, 2 error, 3 breach.
func Main(args []string, stdout io.Writer) int {
	if len(args) < 2 {
		return say(stdout, Errorf("usage: NAME TOKEN [KEY=VALUE …]"))
	}
	run, known := table()[args[0]]
	if !known {
		return say(stdout, Errorf("no probe %q", args[0]))
	}
	a := Args{Token: args[1], Params: map[string]string{}}
	for _, kv := range args[2:] {
		key, value, _ := strings.Cut(kv, "=")
		a.Params[key] = value
	}
	return say(stdout, run(a))
}

func say(w io.Writer, v Verdict) int {
	line, err := json.Marshal(v)
	if err != nil {
		return 2
	}
	fmt.Fprintf(w, "%s\n", line)
	switch v.Verdict {
	case Held:
		return v.Exit
	case Breach:
		return 3
	}
	return 2
}

// hold tells the host that what was taken is now held, and waits until the
// host closes standard input.
func hold() {
	say(os.Stdout, Verdict{Verdict: Ready})
	_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
}

// forever sleeps until somebody ends the process.
func forever() Verdict {
	for {
		time.Sleep(time.Hour)
	}
}
