package workspace

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kintsugi/sandbox/workspace/beneath"
)

// A journal is a directory in the store that knows one Apply: its head names
// the stage, three lists hold the operations in the order of execution
// (deletions, then what comes to their place, then modes of directories), and
// a file "done" marks the point from which it is finished rather than undone.
type journal struct {
	dir   string
	head  head
	quick bool // for tests: nothing needs to survive a power failure

	first, then, last opWriter
}

type head struct {
	Stage string `json:"stage"` // name of the directory in the project
}

// The three things an operation can do, and the change of a mode.
const (
	doTake = "take" // target to slot
	doPut  = "put"  // slot to target, which must not be there
	doSwap = "swap" // exchange slot and target
	doMode = "mode"
)

// operation is one step of an Apply.
type operation struct {
	Do   string    `json:"do"`
	Path rawString `json:"p"`
	Slot int       `json:"n"`
	Old  identity  `json:"o,omitzero"` // what the target must be
	New  identity  `json:"w,omitzero"` // what the slot holds at first
	Up   uint64    `json:"y,omitempty"`
	Sum  string    `json:"h,omitempty"`
	Then bool      `json:"x,omitempty"` // a put to the same path follows

	Mode    uint32 `json:"m,omitempty"`
	WasMode uint32 `json:"b,omitempty"`
	Fresh   bool   `json:"f,omitempty"` // the mode of a directory that was put
}

func (op operation) slot() string { return fmt.Sprint(op.Slot) }

// identity tells whether a file is still the same one. Renaming changes the
// inode's change time, so that is no part of it.
type identity struct {
	Kind  beneath.Kind `json:"k"`
	Ino   uint64       `json:"i"`
	Size  int64        `json:"s"`
	Mtime int64        `json:"t"`
}

// identify takes the identity of what st describes. A directory has another
// size and time as soon as something in it changes.
func identify(st beneath.Stat) identity {
	id := identity{Kind: st.Kind, Ino: st.Ino, Size: st.Size, Mtime: st.Mtime}
	if st.Kind == beneath.Directory {
		id.Size, id.Mtime = 0, 0
	}
	return id
}

// opWriter appends operations to a list. The file is made by the first one.
type opWriter struct {
	path string
	f    *os.File
	buf  *bufio.Writer
	enc  *json.Encoder
}

func (w *opWriter) write(op operation) error {
	if w.f == nil {
		f, err := os.OpenFile(w.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		w.f, w.buf = f, bufio.NewWriter(f)
		w.enc = json.NewEncoder(w.buf)
	}
	return w.enc.Encode(op)
}

// finish makes the list durable.
func (w *opWriter) finish(quick bool) error {
	if w.f == nil {
		return nil
	}
	err := w.buf.Flush()
	if err == nil && !quick {
		err = w.f.Sync()
	}
	err = errors.Join(err, w.f.Close())
	w.f = nil
	return err
}

const journalPrefix = "apply-"

func (s *Store) newJournal(project *beneath.Dir) (*journal, error) {
	var id string
	for {
		id = strings.ToLower(rand.Text()[:8])
		st, err := project.Lstat(stagePrefix + id)
		if err != nil {
			return nil, err
		}
		if st.Kind == beneath.Absent {
			break
		}
	}
	j := openJournal(filepath.Join(s.dir, journalPrefix+id), s.opts.noSync)
	j.head.Stage = stagePrefix + id
	if err := os.Mkdir(j.dir, 0o700); err != nil {
		return nil, err
	}
	b, err := json.Marshal(j.head)
	if err == nil {
		err = writeAtomic(filepath.Join(j.dir, "head.json"), b, !j.quick)
	}
	if err == nil {
		err = j.syncDirs(s.dir, j.dir)
	}
	return j, err
}

func openJournal(dir string, quick bool) *journal {
	list := func(name string) opWriter { return opWriter{path: filepath.Join(dir, name)} }
	return &journal{dir: dir, quick: quick, first: list("first.jsonl"), then: list("then.jsonl"), last: list("last.jsonl")}
}

func (j *journal) lists() []*opWriter { return []*opWriter{&j.first, &j.then, &j.last} }

// durable writes the lists out for good.
func (j *journal) durable() error {
	for _, l := range j.lists() {
		if err := l.finish(j.quick); err != nil {
			return err
		}
	}
	return j.syncDirs(j.dir)
}

// setDone passes the point of no return.
func (j *journal) setDone() error {
	if err := writeAtomic(filepath.Join(j.dir, "done"), nil, !j.quick); err != nil {
		return err
	}
	return j.syncDirs(j.dir)
}

func (j *journal) isDone() bool {
	_, err := os.Stat(filepath.Join(j.dir, "done"))
	return err == nil
}

// remove forgets the journal.
func (j *journal) remove() error {
	for _, l := range j.lists() {
		if l.f != nil {
			l.f.Close()
		}
	}
	return os.RemoveAll(j.dir)
}

// forward calls f for each operation in order. Modes of directories go from
// the inside to the outside.
func (j *journal) forward(f func(operation) error) error {
	if err := j.first.each(false, f); err != nil {
		return err
	}
	if err := j.then.each(false, f); err != nil {
		return err
	}
	return j.last.each(true, f)
}

// backward calls f for each operation in reverse order.
func (j *journal) backward(f func(operation) error) error {
	if err := j.last.each(false, f); err != nil {
		return err
	}
	if err := j.then.each(true, f); err != nil {
		return err
	}
	return j.first.each(true, f)
}

// each calls f for each operation of a list that was written.
func (w *opWriter) each(reverse bool, f func(operation) error) error {
	file, err := os.Open(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if reverse {
		return backwardLines(file, f)
	}
	return eachOperation(file, f)
}

func eachOperation(r io.Reader, f func(operation) error) error {
	dec := json.NewDecoder(bufio.NewReader(r))
	for {
		var op operation
		err := dec.Decode(&op)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err == nil {
			err = f(op)
		}
		if err != nil {
			return err
		}
	}
}

// backwardLines holds only the offsets of the lines in memory.
func backwardLines(file *os.File, f func(operation) error) error {
	ends, err := lineEnds(file)
	if err != nil {
		return err
	}
	for i := len(ends) - 1; i >= 0; i-- {
		start := int64(0)
		if i > 0 {
			start = ends[i-1]
		}
		line := make([]byte, ends[i]-start)
		if _, err := file.ReadAt(line, start); err != nil {
			return err
		}
		var op operation
		if err := json.Unmarshal(line, &op); err != nil {
			return err
		}
		if err := f(op); err != nil {
			return err
		}
	}
	return nil
}

// lineEnds are the offsets behind the newlines; an incomplete last line, which
// was never executed, has none.
func lineEnds(r io.Reader) ([]int64, error) {
	var ends []int64
	var at int64
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		for part := buf[:n]; ; {
			i := bytes.IndexByte(part, '\n')
			if i < 0 {
				at += int64(len(part))
				break
			}
			at += int64(i) + 1
			ends = append(ends, at)
			part = part[i+1:]
		}
		if errors.Is(err, io.EOF) {
			return ends, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// syncDirs makes the entries of directories durable.
func (j *journal) syncDirs(dirs ...string) error {
	if j.quick {
		return nil
	}
	for _, dir := range dirs {
		d, err := beneath.Open(dir)
		if err != nil {
			return err
		}
		err = d.SyncSelf()
		d.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
