package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Entry is the record of one request.
type Entry struct {
	Time      time.Time     `json:"time"`
	Session   string        `json:"session,omitempty"`
	Ecosystem string        `json:"ecosystem,omitempty"`
	Name      string        `json:"name,omitempty"`
	Version   string        `json:"version,omitempty"`
	Artefact  string        `json:"artefact,omitempty"` // file name; empty for index pages
	Method    string        `json:"method"`
	Path      string        `json:"path"`               // as asked for, at most 256 bytes
	Upstream  string        `json:"upstream,omitempty"` // host that was asked
	Status    int           `json:"status"`
	Bytes     int64         `json:"bytes"`              // sent to the client
	Hit       bool          `json:"hit,omitempty"`      // answered from the cache
	Stale     bool          `json:"stale,omitempty"`    // from the cache because the upstream did not answer
	Verified  string        `json:"verified,omitempty"` // what was checked: "sha256", "sumdb", …
	Hash      string        `json:"hash,omitempty"`     // "sha256:…" of the artefact
	Refused   string        `json:"refused,omitempty"`  // why nothing was served
	Withheld  []string      `json:"withheld,omitempty"` // versions left out for their age: "2.0 (3 days old)"
	Duration  time.Duration `json:"duration"`

	fetched   int64 // bytes of the artefact that this request had fetched
	abandoned bool  // the client went away while its artefact was fetched
}

// refusal is an error with the status and the sentence that the client gets.
// The statuses are ones that clients do not try again: the gateway has done
// its own tries.
type refusal struct {
	status int
	reason string
	denied bool // the upstream answered that it does not let us have it
}

func (r *refusal) Error() string { return r.reason }

// The statuses of refusals.
const (
	statusGrammar = http.StatusBadRequest       // the request makes no sense
	statusPolicy  = http.StatusForbidden        // a rule of the gateway forbids it
	statusAbsent  = http.StatusNotFound         // there is no such thing
	statusFailed  = http.StatusFailedDependency // the upstream did not deliver
)

func refuse(status int, format string, args ...any) error {
	return &refusal{status: status, reason: fmt.Sprintf(format, args...)}
}

// asRefusal gives every error a status and a sentence.
func asRefusal(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return &refusal{status: statusFailed, reason: err.Error()}
}
