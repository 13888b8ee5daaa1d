package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MaxLine bounds one line of a log, in bytes. Append refuses more, and a
// reader passes over what is longer.
const MaxLine = 8 << 20

// timeLayout is RFC 3339 with milliseconds, always UTC.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// record is an event as the file has it.
type record struct {
	V int             `json:"v"`
	N int64           `json:"n"`
	T string          `json:"t"`
	K Kind            `json:"k"`
	B json.RawMessage `json:"b"`
}

// Unknown is an event of a kind that this version does not know. Folds pass
// over it; encoding it gives back what was read.
type Unknown struct {
	K   Kind
	Raw json.RawMessage
}

// Kind implements Body.
func (u Unknown) Kind() Kind { return u.K }

// MarshalJSON gives back the body as it was read.
func (u Unknown) MarshalJSON() ([]byte, error) {
	if len(u.Raw) == 0 {
		return []byte("{}"), nil
	}
	return u.Raw, nil
}

// Encode gives the line of an event, with its line feed.
func Encode(e Event) ([]byte, error) {
	if e.Body == nil {
		return nil, errors.New("event without a body")
	}
	body, err := marshal(e.Body)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.Body.Kind(), err)
	}
	line, err := marshal(record{Version, e.Seq, e.At.UTC().Format(timeLayout), e.Body.Kind(), body})
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.Body.Kind(), err)
	}
	if len(line) >= MaxLine {
		return nil, fmt.Errorf("event %s is too large for the log (%d bytes, at most %d)", e.Body.Kind(), len(line), MaxLine)
	}
	return append(line, '\n'), nil
}

// marshal is json.Marshal that leaves <, > and & readable.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Decode reads one line. A kind that this version does not know is kept as
// Unknown and is no error.
func Decode(line []byte) (Event, error) {
	rec, err := decodeRecord(line)
	if err != nil {
		return Event{}, err
	}
	return rec.event()
}

func decodeRecord(line []byte) (record, error) {
	var rec record
	if err := json.Unmarshal(line, &rec); err != nil {
		return record{}, fmt.Errorf("not an event: %w", err)
	}
	if rec.K == "" || rec.V < 1 {
		return record{}, errors.New("not an event: no kind or version")
	}
	return rec, nil
}

func (r record) event() (Event, error) {
	at, err := time.Parse(time.RFC3339Nano, r.T)
	if err != nil {
		return Event{}, fmt.Errorf("event %d: bad time: %w", r.N, err)
	}
	body, err := decodeBody(r.K, r.B)
	if err != nil {
		if r.V <= Version {
			return Event{}, fmt.Errorf("event %d (%s): %w", r.N, r.K, err)
		}
		body = Unknown{K: r.K, Raw: r.B}
	}
	return Event{Seq: r.N, At: at.UTC().Truncate(time.Millisecond), Body: body}, nil
}

// into decodes a body of type T. An absent body is T's zero value.
func into[T Body](raw json.RawMessage) (Body, error) {
	var body T
	if len(raw) == 0 {
		return body, nil
	}
	err := json.Unmarshal(raw, &body)
	return body, err
}

func decodeBody(kind Kind, raw json.RawMessage) (Body, error) {
	switch kind {
	case KindSession:
		return into[Session](raw)
	case KindTask:
		return into[Task](raw)
	case KindStepStart:
		return into[StepStart](raw)
	case KindReasoning:
		return into[Reasoning](raw)
	case KindCall:
		return into[Call](raw)
	case KindAttempt:
		return into[Attempt](raw)
	case KindBorn:
		return into[Born](raw)
	case KindOutput:
		return into[Output](raw)
	case KindUsage:
		return into[Usage](raw)
	case KindAttemptEnd:
		return into[AttemptEnd](raw)
	case KindFailure:
		return into[Failure](raw)
	case KindRemedy:
		return into[Remedy](raw)
	case KindProgress:
		return into[Progress](raw)
	case KindRemedyEnd:
		return into[RemedyEnd](raw)
	case KindSeam:
		return into[Seam](raw)
	case KindCheckpoint:
		return into[Checkpoint](raw)
	case KindArtefact:
		return into[Artefact](raw)
	case KindLane:
		return into[Lane](raw)
	case KindAsk:
		return into[Ask](raw)
	case KindAnswer:
		return into[Answer](raw)
	case KindModel:
		return into[Model](raw)
	case KindNote:
		return into[Note](raw)
	case KindStepEnd:
		return into[StepEnd](raw)
	case KindEnd:
		return into[End](raw)
	}
	return Unknown{K: kind, Raw: raw}, nil
}
