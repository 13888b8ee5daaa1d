package workspace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"kintsugi/sandbox/workspace/beneath"
)

// The project lies live beneath the overlay, so starting a session copies and
// hashes nothing. What a box saw of a file is written down when an attempt that
// touched it is committed: identity, size, times and, for files of everyday
// size, a hash. A file whose inode changed after the draft began is marked
// unsure, since nobody can tell which version the box copied.

// maxSum is the largest file that is hashed for its base record, maxSums the
// most bytes hashed in one commit. Beyond them identity and times must do.
const (
	maxSum  = 64 << 20
	maxSums = 512 << 20
)

// racy is how close a change may lie to the moment of recording and still be
// missed by the times, in nanoseconds: two ticks of the slowest usual clock. It
// is compared with time.Now, the clock of the file system.
const racy = 20e6

// record is what the project had at a path when a box first touched it.
type record struct {
	Path   rawString    `json:"p"`
	Kind   beneath.Kind `json:"k"` // Absent for a deletion that was applied
	Mode   uint32       `json:"m,omitempty"`
	Size   int64        `json:"s,omitempty"`
	Mtime  int64        `json:"t,omitempty"`
	Ctime  int64        `json:"c,omitempty"`
	Ino    uint64       `json:"i,omitempty"`
	Sum    string       `json:"h,omitempty"`
	Target rawString    `json:"l,omitzero"`
	Unsure bool         `json:"u,omitempty"` // changed while the box ran
	Racy   bool         `json:"r,omitempty"` // times cannot be trusted
	At     int64        `json:"a"`           // when it was written, nanoseconds since 1970
	// Up is the inode of the layer's file that is no change by the box: copied
	// up and left the same, or already applied. Whatever the user does to the
	// project's file since, the box's is not held against it. For a deletion
	// any number stands for yes.
	Up uint64 `json:"y,omitempty"`
}

// rawString survives JSON also when it is not UTF-8.
type rawString string

// MarshalJSON implements json.Marshaler.
func (s rawString) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(s)) {
		return json.Marshal(string(s))
	}
	return json.Marshal([][]byte{[]byte(s)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *rawString) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*s = rawString(text)
		return nil
	}
	var raw [][]byte
	if err := json.Unmarshal(b, &raw); err != nil || len(raw) != 1 {
		return fmt.Errorf("neither text nor bytes: %.40q", b)
	}
	*s = rawString(raw[0])
	return nil
}

// newRecord describes the project's side at the moment now.
func newRecord(path string, e Entry, now int64) record {
	return record{
		Path: rawString(path), Kind: e.Kind, Mode: e.Mode, Size: e.Size,
		Mtime: e.Mtime, Ctime: e.Ctime, Ino: e.Ino, Target: rawString(e.Target),
		At: now, Racy: e.Ctime >= now-racy,
	}
}

// recordBase writes down what the project has at each path that the draft is
// the first to touch.
func (s *Store) recordBase(d *Draft) error {
	uppers := []layerDir{{id: d.ID, upper: d.Upper}}
	below, err := s.uppers(d.Parent)
	if err != nil {
		return err
	}
	st, err := openStack(append(uppers, below...), s.project)
	if err != nil {
		return err
	}
	defer st.close()
	out, err := createRecords(filepath.Join(filepath.Dir(d.Upper), "base.jsonl"))
	if err != nil {
		return err
	}
	r := recorder{s: st, began: d.began, now: time.Now().UnixNano(), out: out}
	for c, err := range st.walk(1, true) {
		if err == nil {
			err = r.note(c)
		}
		if err != nil {
			out.close()
			return err
		}
	}
	return out.close()
}

type recorder struct {
	s          stack
	began, now int64
	summed     int64
	out        *recordWriter
}

func (r *recorder) note(c Change) error {
	old := c.Old
	if old.Kind == beneath.Absent || c.base != r.s.bottom() || c.Kind == Skipped {
		return nil
	}
	if old.Kind == beneath.Directory && c.Kind != Deleted && c.Kind != Retyped && !c.hides {
		return nil // its content goes on showing through
	}
	rec := newRecord(c.Path, old, r.now)
	if c.Kind == Unchanged {
		rec.Up = c.New.Ino
	}
	rec.Unsure = old.Ctime > r.began && c.Kind != Unchanged && old.Kind != beneath.Directory
	if old.Kind == beneath.File && old.Size <= maxSum && r.summed+old.Size <= maxSums {
		r.summed += old.Size
		var err error
		if rec.Sum, err = r.s.sum(c.base, c.Path); err != nil {
			return err
		}
	}
	return r.out.write(rec)
}

// sum hashes the file that tree t has at path; empty when it may not be read
// or is not there any more.
func (s stack) sum(t int, path string) (string, error) {
	f, err := s.open(t, path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	return sum(f)
}

type recordWriter struct {
	f   *os.File
	buf *bufio.Writer
	enc *json.Encoder
}

func createRecords(path string) (*recordWriter, error) {
	return openRecords(path, os.O_TRUNC)
}

func openRecords(path string, flag int) (*recordWriter, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	if err != nil {
		return nil, err
	}
	buf := bufio.NewWriter(f)
	return &recordWriter{f: f, buf: buf, enc: json.NewEncoder(buf)}, nil
}

func (w *recordWriter) write(r record) error { return w.enc.Encode(r) }

func (w *recordWriter) close() error {
	return errors.Join(w.buf.Flush(), w.f.Close())
}

// readRecords calls f for each record in a file; a file that is not there has
// none, and an incomplete last line is ignored.
func readRecords(path string, f func(record)) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	dec := json.NewDecoder(bufio.NewReader(file))
	for {
		var r record
		err := dec.Decode(&r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		f(r)
	}
}

// bases are the base records of a stack: what Apply checks the project against.
type bases map[string]record

// bases loads the records of the layers and of what was applied. The latest of
// a path holds.
func (s *Store) bases(uppers []layerDir) (bases, error) {
	b := bases{}
	add := func(r record) {
		if was, ok := b[string(r.Path)]; !ok || was.At <= r.At {
			b[string(r.Path)] = r
		}
	}
	for _, u := range uppers {
		if err := readRecords(s.layerPath(u.id, "base.jsonl"), add); err != nil {
			return nil, err
		}
	}
	return b, readRecords(filepath.Join(s.dir, "applied.jsonl"), add)
}

// untouched says whether c is no change of the box's at all, whatever the user
// did since.
func (b bases) untouched(c Change) bool {
	r, ok := b[c.Path]
	if !ok || r.Up == 0 {
		return false
	}
	if c.New.Kind == beneath.Absent || r.Kind == beneath.Absent {
		return c.New.Kind == r.Kind
	}
	return r.Up == c.New.Ino
}

// conflict says how the user's side of c changed since the box saw it; empty
// when it did not.
func (b bases) conflict(s stack, c Change) (string, error) {
	r, known := b[c.Path]
	switch {
	case c.Old.Kind == beneath.Absent && known && r.Kind != beneath.Absent && c.New.Kind != beneath.Directory:
		return "you deleted it meanwhile", nil
	case c.Old.Kind == beneath.Absent, c.Kind == Remoded && c.Old.Kind == beneath.Directory:
		return "", nil
	case !known || r.Kind == beneath.Absent:
		return "you created it meanwhile", nil
	case r.Kind != c.Old.Kind:
		return "you replaced it by a " + c.Old.Kind.String() + " meanwhile", nil
	case r.Unsure:
		return "you changed it while the box ran", nil
	}
	same, err := r.matches(s, c)
	if err != nil || same {
		return "", err
	}
	return "you changed it meanwhile", nil
}

// matches says whether the project still has what the record says, by identity
// and times when they can be trusted, else by content.
func (r record) matches(s stack, c Change) (bool, error) {
	old := c.Old
	switch {
	case old.Kind == beneath.Symlink:
		return old.Target == string(r.Target), nil
	case old.Kind != beneath.File:
		return true, nil
	case old.Size != r.Size:
		return false, nil
	case !r.Racy && old.Ino == r.Ino && old.Mtime == r.Mtime && old.Ctime == r.Ctime:
		return true, nil
	case r.Sum == "":
		return r.Racy && old.Ino == r.Ino && old.Mtime == r.Mtime && old.Ctime == r.Ctime, nil
	}
	now, err := s.sum(s.bottom(), c.Path)
	return now == r.Sum, err
}
