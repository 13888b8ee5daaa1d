// Package event is the session log: everything that happens in Kintsugi is an
// event in one append-only file, and every face of the product is a fold over
// it.
//
// The log is JSON Lines. Each event is appended in one write and the file is
// synced at the end of every step. A torn last line (a crash in the middle of
// a write) is dropped on reading and noted, never an error. Reading a finished
// log, following a live one and folding either are the same code.
//
// The package never runs anything and knows no other package of Kintsugi.
package event

import "time"

// Version is the format of the log, written in its first event.
const Version = 1

// Event is one line of the log.
type Event struct {
	// Seq numbers events from 1 without gaps.
	Seq int64
	// At is wall-clock time, to the millisecond.
	At time.Time
	// Body is one of the types of this package.
	Body Body
}

// Body is what an event says. The set of kinds is closed.
type Body interface{ Kind() Kind }

// Kind names a type of Body in the log.
type Kind string

// The kinds.
const (
	KindSession    Kind = "session"
	KindTask       Kind = "task"
	KindStepStart  Kind = "step.start"
	KindReasoning  Kind = "reasoning"
	KindCall       Kind = "call"
	KindAttempt    Kind = "attempt.start"
	KindBorn       Kind = "box.born"
	KindOutput     Kind = "output"
	KindUsage      Kind = "box.usage"
	KindAttemptEnd Kind = "attempt.end"
	KindFailure    Kind = "failure"
	KindRemedy     Kind = "remedy.start"
	KindProgress   Kind = "remedy.progress"
	KindRemedyEnd  Kind = "remedy.end"
	KindSeam       Kind = "seam"
	KindCheckpoint Kind = "checkpoint"
	KindArtefact   Kind = "artefact"
	KindLane       Kind = "lane"
	KindAsk        Kind = "ask"
	KindAnswer     Kind = "answer"
	KindModel      Kind = "model"
	KindNote       Kind = "note"
	KindStepEnd    Kind = "step.end"
	KindEnd        Kind = "session.end"
)

// Session opens a log, and opens it again when a session is resumed.
type Session struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	Runtime string `json:"runtime"`
	// Image is what boxes see, when it is not this machine.
	Image   string `json:"image,omitempty"`
	Project string `json:"project"`
	// Title is a few words for lists and window titles.
	Title   string `json:"title,omitempty"`
	Resumed bool   `json:"resumed,omitempty"`
	// Lesson names the built-in lesson whose reasoning is scripted.
	Lesson string `json:"lesson,omitempty"`
}

// Task is what the user asked for.
type Task struct {
	Text string `json:"text"`
}

// StepStart opens one turn: reasoning, then a call. Steps count from 1.
type StepStart struct {
	Step int `json:"step"`
}

// Reasoning is a chunk of what the model thinks or says.
type Reasoning struct {
	Step int    `json:"step"`
	Text string `json:"text"`
	// Thinking tells the private chain of thought from the text meant for the
	// user.
	Thinking bool `json:"thinking,omitempty"`
}

// Call is what is about to run, or a tool the model used.
type Call struct {
	Step int    `json:"step"`
	Tool string `json:"tool"` // "run", "shell", "python", "write", …
	// Argv is the command, for tools that run one.
	Argv []string `json:"argv,omitempty"`
	// Text is the code, the path or whatever the tool was given.
	Text string `json:"text,omitempty"`
	// File is the program that runs, a path on the host.
	File string `json:"file,omitempty"`
	// Origin is "user", "model", "lesson".
	Origin string `json:"origin"`
}

// Attempt opens one execution of a call in a fresh box. Attempts count from 1
// within a step.
type Attempt struct {
	Step    int      `json:"step"`
	Attempt int      `json:"attempt"`
	Box     string   `json:"box"`
	Argv    []string `json:"argv"`
	Layers  []string `json:"layers,omitempty"`
	Limits  string   `json:"limits,omitempty"` // "2 GB, 256 processes, 2 min"
}

// Born says that the box runs the program's first instruction.
type Born struct {
	Step    int           `json:"step"`
	Attempt int           `json:"attempt"`
	Took    time.Duration `json:"took_ns"`
}

// Output is a coalesced chunk of a stream, already made harmless: colours
// survive, every other control sequence is visible text.
type Output struct {
	Step    int    `json:"step"`
	Attempt int    `json:"attempt"`
	Stderr  bool   `json:"stderr,omitempty"`
	Text    string `json:"text"`
	// Dropped counts bytes that the log left out here; they are in the
	// attempt's side file as far as its bound allows.
	Dropped int64 `json:"dropped,omitempty"`
	// Remedy is set for the output of an installer.
	Remedy string `json:"remedy,omitempty"`
}

// Usage samples what a live box uses.
type Usage struct {
	Step      int           `json:"step"`
	Attempt   int           `json:"attempt"`
	CPU       time.Duration `json:"cpu_ns"`
	Memory    int64         `json:"memory"`
	Processes int           `json:"processes"`
}

// AttemptEnd closes an attempt.
type AttemptEnd struct {
	Step      int           `json:"step"`
	Attempt   int           `json:"attempt"`
	Exit      int           `json:"exit"`
	Signal    string        `json:"signal,omitempty"`
	Limit     string        `json:"limit,omitempty"`
	Mechanism string        `json:"mechanism,omitempty"`
	Took      time.Duration `json:"took_ns"`
	CPU       time.Duration `json:"cpu_ns,omitempty"`
	Memory    int64         `json:"memory,omitempty"`
}

// Failure is a diagnosed attempt.
type Failure struct {
	Step      int      `json:"step"`
	Attempt   int      `json:"attempt"`
	Ecosystem string   `json:"ecosystem,omitempty"`
	What      string   `json:"kind"` // "missing_module", …
	Subject   string   `json:"subject,omitempty"`
	Evidence  []string `json:"evidence,omitempty"` // lines of the output
	// Explanation is two or three plain sentences.
	Explanation string `json:"explanation"`
	Heal        string `json:"heal"` // auto, ask, model, none
	Rule        string `json:"rule,omitempty"`
	// Command is what a person would type to mend it.
	Command string `json:"command,omitempty"`
}

// Remedy opens the mending of a failure.
type Remedy struct {
	Step     int      `json:"step"`
	Attempt  int      `json:"attempt"` // the failed attempt it answers
	ID       string   `json:"id"`
	Action   string   `json:"action"` // install, adjust, ask
	Manager  string   `json:"manager,omitempty"`
	Packages []string `json:"packages,omitempty"`
	// Along are those of the packages that the failure did not ask for: the
	// program imports them too, and they are missing as well.
	Along  []string `json:"along,omitempty"`
	Origin string   `json:"origin"` // rule id, "model", "lesson", "lock"
	Title  string   `json:"title"`  // "install pandas with pip"
	// Why says what allowed it: a known name, the user's word.
	Why string `json:"why,omitempty"`
	// Lane numbers remedies that are tried side by side, from 1.
	Lane int `json:"lane,omitempty"`
}

// Progress is a short, replaceable line about a running remedy.
type Progress struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// RemedyEnd closes a remedy.
type RemedyEnd struct {
	Step     int           `json:"step"`
	ID       string        `json:"id"`
	OK       bool          `json:"ok"`
	Layer    string        `json:"layer,omitempty"`
	Reused   bool          `json:"reused,omitempty"`
	Versions []string      `json:"versions,omitempty"` // "pandas 2.3.3"
	Error    string        `json:"error,omitempty"`
	Took     time.Duration `json:"took_ns"`
}

// Seam is a failure, its remedies and the retry that worked.
type Seam struct {
	Step     int      `json:"step"`
	Attempt  int      `json:"attempt"` // the attempt that worked
	Failures []string `json:"failures"`
	Remedies []string `json:"remedies"` // titles
	// Text is the gold line: "missing pandas: installed, worked on attempt 2".
	Text string        `json:"text"`
	Took time.Duration `json:"took_ns"` // what the mending cost
}

// Checkpoint records the workspace after a successful step.
type Checkpoint struct {
	Step    int      `json:"step"`
	ID      string   `json:"id"`
	Parent  string   `json:"parent,omitempty"`
	Changed []string `json:"changed,omitempty"` // at most 100 paths
	Total   int      `json:"total"`
}

// Artefact is a file that an attempt made or changed: a plot, a table, a model.
// Its bytes are in the workspace, at the checkpoint named.
type Artefact struct {
	Step    int `json:"step"`
	Attempt int `json:"attempt"`
	// Path is relative to the project, with slashes.
	Path string `json:"path"`
	// Media is a media type judged by the name alone; whoever shows the bytes
	// must not trust it.
	Media      string `json:"media"`
	Size       int64  `json:"size"` // bytes
	Checkpoint string `json:"checkpoint"`
	// Changed says that the file was there before.
	Changed bool `json:"changed,omitempty"`
}

// The states of a Lane.
const (
	LaneRunning = "running"
	LaneWorked  = "worked"
	LaneFailed  = "failed"
)

// Lane is one of several lines of work that run side by side in a step, each
// with a log of its own: the agents of a race. A later event of the same lane
// takes the place of an earlier one.
type Lane struct {
	Step  int    `json:"step"`
	Lane  int    `json:"lane"` // from 1
	Name  string `json:"name"`
	State string `json:"state"`
	// Text says how it ended.
	Text     string `json:"text,omitempty"`
	Steps    int    `json:"steps,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	Seams    int    `json:"seams,omitempty"`
	Tokens   int    `json:"tokens,omitempty"`
}

// Ask is a question only the user may answer.
type Ask struct {
	ID       string   `json:"id"`
	Step     int      `json:"step"`
	Question string   `json:"question"`
	Why      []string `json:"why,omitempty"`
	Choices  []string `json:"choices"`
	// Text is what the question is about, when the answer may change it: the
	// code that is about to run.
	Text string `json:"text,omitempty"`
}

// Answer closes an Ask.
type Answer struct {
	ID     string `json:"id"`
	Choice string `json:"choice"`
	// Text is another text than the question's, when the user changed it.
	Text string `json:"text,omitempty"`
}

// Model says which model reasons, and how it fares.
type Model struct {
	Name     string        `json:"name"`
	Provider string        `json:"provider"`
	State    string        `json:"state"` // loading, thinking, idle, absent, error
	Detail   string        `json:"detail,omitempty"`
	Speed    float64       `json:"tokens_per_second,omitempty"`
	Load     time.Duration `json:"load_ns,omitempty"`
	Context  int           `json:"context,omitempty"` // tokens in use
	Window   int           `json:"window,omitempty"`  // tokens at most
}

// Note is a line for the user that changes nothing.
type Note struct {
	Step  int    `json:"step,omitempty"`
	Level string `json:"level"` // info, warn, error
	Text  string `json:"text"`
	// Command is the exact next command, when there is one.
	Command string `json:"command,omitempty"`
}

// StepEnd closes a step. OK means that its call worked.
type StepEnd struct {
	Step   int    `json:"step"`
	OK     bool   `json:"ok"`
	Answer string `json:"answer,omitempty"` // the final answer, when it was one
}

// End closes a session.
type End struct {
	Exit   int    `json:"exit"`
	Reason string `json:"reason,omitempty"`
}

// Kind implements Body.
func (Session) Kind() Kind    { return KindSession }
func (Task) Kind() Kind       { return KindTask }       // Kind implements Body.
func (StepStart) Kind() Kind  { return KindStepStart }  // Kind implements Body.
func (Reasoning) Kind() Kind  { return KindReasoning }  // Kind implements Body.
func (Call) Kind() Kind       { return KindCall }       // Kind implements Body.
func (Attempt) Kind() Kind    { return KindAttempt }    // Kind implements Body.
func (Born) Kind() Kind       { return KindBorn }       // Kind implements Body.
func (Output) Kind() Kind     { return KindOutput }     // Kind implements Body.
func (Usage) Kind() Kind      { return KindUsage }      // Kind implements Body.
func (AttemptEnd) Kind() Kind { return KindAttemptEnd } // Kind implements Body.
func (Failure) Kind() Kind    { return KindFailure }    // Kind implements Body.
func (Remedy) Kind() Kind     { return KindRemedy }     // Kind implements Body.
func (Progress) Kind() Kind   { return KindProgress }   // Kind implements Body.
func (RemedyEnd) Kind() Kind  { return KindRemedyEnd }  // Kind implements Body.
func (Seam) Kind() Kind       { return KindSeam }       // Kind implements Body.
func (Checkpoint) Kind() Kind { return KindCheckpoint } // Kind implements Body.
func (Artefact) Kind() Kind   { return KindArtefact }   // Kind implements Body.
func (Lane) Kind() Kind       { return KindLane }       // Kind implements Body.
func (Ask) Kind() Kind        { return KindAsk }        // Kind implements Body.
func (Answer) Kind() Kind     { return KindAnswer }     // Kind implements Body.
func (Model) Kind() Kind      { return KindModel }      // Kind implements Body.
func (Note) Kind() Kind       { return KindNote }       // Kind implements Body.
func (StepEnd) Kind() Kind    { return KindStepEnd }    // Kind implements Body.
func (End) Kind() Kind        { return KindEnd }        // Kind implements Body.
