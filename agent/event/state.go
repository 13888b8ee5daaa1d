package event

import "time"

// State is the fold of a log: everything a screen, an export or a resume needs
// to know. It is derived from events alone; State.Apply is the only writer.
type State struct {
	Session Session
	Seq     int64
	Start   time.Time
	Now     time.Time // time of the last event applied
	Tasks   []Task
	Steps   []*Step
	Model   Model
	Asks    []Ask   // open questions, oldest first
	Notes   []Note  // those that belong to no step
	NotesAt []int64 // the Seq of each of them
	Ended   *End

	steps    map[int]*Step
	remedies map[string]*RemedyState
	task     string // the task that the next step begins with
	settled  int    // steps before this index are done or cut
}

// Step is one turn.
type Step struct {
	N          int
	Start, End time.Time
	Task       string   // the task it began with, when it is the first of one
	Thinking   []string // chunks, in order
	Text       []string // chunks, in order
	Calls      []Call
	Attempts   []*AttemptState
	Lanes      []*LaneState
	Seam       *Seam
	Checkpoint *Checkpoint
	Notes      []Note
	Done, OK   bool
	// Cut means that the session ended, or was resumed after a crash, in the
	// middle of the step: it will never be done.
	Cut      bool
	Answer   string
	FirstSeq int64
	LastSeq  int64

	attempts map[int]*AttemptState
}

// AttemptState is one execution and what came of it.
type AttemptState struct {
	Attempt
	Start    time.Time
	Born     time.Duration
	Output   []Output
	Usage    Usage
	End      *AttemptEnd
	EndAt    time.Time
	Failure  *Failure
	Remedies []*RemedyState
	// Artefacts are the files that it left, in their order.
	Artefacts []Artefact
	FirstSeq  int64
}

// LaneState is one of several lines of work of a step.
type LaneState struct {
	Lane
	Start, Seen time.Time // of its first and its last event
	End         time.Time // zero while it runs
	FirstSeq    int64
}

// RemedyState is one mending of a failure.
type RemedyState struct {
	Remedy
	Start    time.Time
	Progress string
	Output   []Output
	End      *RemedyEnd
	FirstSeq int64
}
