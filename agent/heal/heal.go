// Package heal reads what a failed attempt left behind and says what went
// wrong and what would mend it.
//
// Rules are data: one TOML manifest per ecosystem below manifests/, embedded
// and overridable by the user. Diagnosis is pure, costs microseconds and never
// looks anything up: it gives a Diagnosis with a kind, a subject, the evidence
// lines, an explanation in plain words and the remedies, each with its origin.
//
// The package never installs anything (heal/install does) and never trusts a
// name that neither a map nor the user's own source code supports.
package heal

// Class says who can mend a failure.
type Class string

// The classes.
const (
	Auto  Class = "auto"  // a rule knows, and may act by itself
	Ask   Class = "ask"   // a rule knows, and the user decides
	Model Class = "model" // a change of the code: for the model, or the user
	None  Class = "none"  // nothing to mend by acting
)

// Trust says how well the name of a package is known.
type Trust string

// The tiers of trust in a package's name.
const (
	Known   Trust = "known"   // curated map: may be installed without asking
	Listed  Trust = "listed"  // same name in the list of known packages
	Unknown Trust = "unknown" // nothing vouches for it: ask, or refuse
)

// Input is what a diagnosis is made from.
type Input struct {
	// Text is the output of the attempt (stderr, then stdout when stderr is
	// silent). Only its last megabyte is read.
	Text string
	// Exit is the exit code, or -1 when unknown (kintsugi explain).
	Exit int
	// Signal and Limit are those of sandbox.Result.
	Signal, Limit string
	// Argv is the command that failed, when known.
	Argv []string
	// Files lists names in the script's folder and the project (base names
	// without extension for modules): local modules are never installed.
	Files []string
	// Imports are the module names that the user's own source imports, when
	// known; a name that only the output mentions is not trusted.
	Imports []string
	// Python is the interpreter's version ("3.11"), when known.
	Python string
}

// Diagnosis is what went wrong.
//
// Heal says whether a rule knows the mend; Trust says, for each remedy that
// installs, whether its names may be installed without asking. In Node and Go,
// where the name in the code is the package's name, a rule knows the mend
// (auto) even of a name that nothing vouches for (unknown): whoever carries
// remedies out must look at both.
type Diagnosis struct {
	Kind        string   `json:"kind"`
	Subject     string   `json:"subject,omitempty"`
	Ecosystem   string   `json:"ecosystem,omitempty"`
	Rule        string   `json:"rule,omitempty"`
	Evidence    []string `json:"evidence,omitempty"`
	Explanation string   `json:"explanation"`
	Heal        Class    `json:"heal"`
	Remedies    []Remedy `json:"remedies,omitempty"`
	// Race says that the remedies are equally good, so that whoever carries them
	// out may try several at the same time.
	Race bool `json:"race,omitempty"`
	// DidYouMean are known names close to one that nothing vouches for.
	DidYouMean []string `json:"did_you_mean,omitempty"`
}

// Remedy is one thing that would mend a failure.
type Remedy struct {
	// Action is "install" (packages by a manager), "env" (set variables),
	// "command" (run Argv in the workspace copy, such as chmod), "limit"
	// (raise a limit), "append" (add arguments to the command that failed),
	// "code" (change the code).
	Action   string   `json:"action"`
	Manager  string   `json:"manager,omitempty"` // pip, npm, apt, go, cargo, gem, …
	Packages []string `json:"packages,omitempty"`
	Env      []string `json:"env,omitempty"`
	Argv     []string `json:"argv,omitempty"`
	// Append are arguments to add at the end of the command that failed
	// (action "append"), such as -lm for a compiler.
	Append []string `json:"append,omitempty"`
	// Prepend are arguments to put before the command from now on, once the
	// remedy is in place, such as xvfb-run -a. An install may have both this
	// and Env.
	Prepend []string `json:"prepend,omitempty"`
	// Verify names what must be there afterwards: modules for pip and npm,
	// features for gem; for apt commands, libraries (libz.so.1) and headers as
	// a source includes them (openssl/ssl.h). Empty: only the retry will tell.
	Verify []string `json:"verify,omitempty"`
	// Origin is the rule, or the map row, that the remedy comes from.
	Origin string `json:"origin"`
	Trust  Trust  `json:"trust,omitempty"`
	// Command is what a person would type on their own machine.
	Command string `json:"command,omitempty"`
	Note    string `json:"note,omitempty"`
}
