package workspace

import (
	"fmt"
	"io"
	"os"
	"strings"

	"kintsugi/sandbox/workspace/beneath"
)

// A stage is a directory in the project, on the same file system as the files
// that change, with one numbered slot per operation. New content is written
// to its slot first; then each operation is one rename between the slot and
// the target, so that after any crash the slots tell what has been done.
type stage struct {
	s       *Store
	project *beneath.Dir
	slots   *beneath.Dir
	c       *Comparison
	j       *journal
	next    int
	swaps   bool   // whether the file system can exchange two names
	device  uint64 // of the project

	parent  string // the directory last looked at, see foreign
	foreign bool
	missing string       // the topmost directory that is not there yet, see above
	like    beneath.Stat // the one above it
}

// stagePrefix starts the name of every stage in a project.
const stagePrefix = ".kintsugi-apply-"

// maxAppliedSum is the largest file that is hashed when it is applied, so that
// it is known again when its times changed.
const maxAppliedSum = 1 << 20

func (s *Store) newStage(project *beneath.Dir, c *Comparison) (*stage, error) {
	if err := s.fault("journal"); err != nil {
		return nil, err
	}
	st, err := project.Self()
	if err != nil {
		return nil, err
	}
	j, err := s.newJournal(project)
	if err != nil {
		return nil, err
	}
	g := &stage{s: s, project: project, c: c, j: j, device: st.Dev, parent: "."}
	if err := g.open(); err != nil {
		return nil, g.end(err, &Report{})
	}
	return g, nil
}

func (g *stage) open() error {
	if err := g.s.fault("stage"); err != nil {
		return err
	}
	if err := g.project.Mkdir(g.j.head.Stage, 0o700); err != nil {
		return err
	}
	var err error
	if g.slots, err = g.project.Sub(g.j.head.Stage); err != nil {
		return err
	}
	g.swaps, err = canSwap(g.slots)
	g.swaps = g.swaps && !g.s.opts.noSwap
	return err
}

// canSwap tries whether two names can be exchanged.
func canSwap(d *beneath.Dir) (bool, error) {
	for _, name := range [...]string{"a", "b"} {
		if err := d.Mkdir(name, 0o700); err != nil {
			return false, err
		}
	}
	swapped := d.Rename("a", d, "b", beneath.Exchange) == nil
	for _, name := range [...]string{"a", "b"} {
		if err := d.Rmdir(name); err != nil {
			return false, err
		}
	}
	return swapped, nil
}

// add stages one change: writes its content to a slot and notes the
// operations. A partial change has text instead of the checkpoint's content.
func (g *stage) add(ch Change, text string, partial bool) error {
	if err := g.s.fault("stage " + ch.Path); err != nil {
		return err
	}
	if err := g.sameDevice(ch.Path); err != nil {
		return err
	}
	switch {
	case ch.Kind == Remoded:
		return g.note(g.modeList(ch), operation{Do: doMode, Mode: ch.New.Mode, Up: ch.New.Ino}, ch)
	case ch.Kind == Deleted:
		return g.note(&g.j.first, operation{Do: doTake}, ch)
	case ch.Kind == Added:
		return g.put(ch, operation{Do: doPut}, text, partial)
	case ch.Kind == Modified && g.swaps:
		return g.put(ch, operation{Do: doSwap}, text, partial)
	}
	if err := g.note(&g.j.then, operation{Do: doTake}, ch); err != nil {
		return err
	}
	return g.put(ch, operation{Do: doPut}, text, partial)
}

// modeList is where a change of mode belongs: that of a directory comes last,
// since it may forbid what is to be done in it.
func (g *stage) modeList(ch Change) *opWriter {
	if ch.New.Kind == beneath.Directory {
		return &g.j.last
	}
	return &g.j.then
}

// sameDevice refuses a path on another file system than the project: nothing
// can be renamed to there.
func (g *stage) sameDevice(path string) error {
	dir, _ := beneath.Split(path)
	if dir == g.parent {
		return g.foreignError(dir)
	}
	g.parent, g.foreign = dir, false
	d, err := g.project.Sub(dir)
	if err != nil {
		return nil // not there yet
	}
	defer d.Close()
	st, err := d.Self()
	if err != nil {
		return err
	}
	g.foreign = st.Dev != g.device
	return g.foreignError(dir)
}

func (g *stage) foreignError(dir string) error {
	if g.foreign {
		return fmt.Errorf("%s lies on another file system than the project; leave it out and copy it yourself", Quote(dir))
	}
	return nil
}

// note writes an operation on ch to a list of the journal.
func (g *stage) note(list *opWriter, op operation, ch Change) error {
	op.Path, op.Slot = rawString(ch.Path), g.next
	if op.Do != doPut {
		op.Old = identify(ch.Old.Stat)
		op.WasMode = ch.Old.Mode
	}
	if op.Do == doTake && ch.Kind != Deleted {
		op.Then = true
	}
	g.next++
	return list.write(op)
}

// put stages new content and notes how it gets to its place.
func (g *stage) put(ch Change, op operation, text string, partial bool) error {
	slot := fmt.Sprint(g.next)
	var err error
	if op.Sum, err = g.fill(slot, ch, text, partial); err != nil {
		return err
	}
	st, err := g.slots.Lstat(slot)
	if err != nil {
		return err
	}
	op.New = identify(st)
	if !partial {
		op.Up = ch.New.Ino
	}
	if err := g.note(&g.j.then, op, ch); err != nil {
		return err
	}
	if ch.New.Kind == beneath.Directory && ch.New.Mode&0o700 != 0o700 {
		return g.note(&g.j.last, operation{Do: doMode, Mode: ch.New.Mode, Fresh: true}, ch)
	}
	return nil
}

// fill makes the new file, link or directory in a slot and returns the hash of
// a file. Only content, mode and the time of a file come from the box;
// attributes and owner never do.
func (g *stage) fill(slot string, ch Change, text string, partial bool) (sum string, err error) {
	switch ch.New.Kind {
	case beneath.Directory:
		err = g.slots.Mkdir(slot, 0o700)
	case beneath.Symlink:
		err = g.slots.Symlink(ch.New.Target, slot)
	default:
		sum, err = g.file(slot, ch, text, partial)
	}
	if err == nil {
		err = g.own(slot, ch)
	}
	if err != nil {
		return "", err
	}
	switch ch.New.Kind {
	case beneath.Directory:
		err = g.slots.Chmod(slot, ch.New.Mode|0o700)
	case beneath.File:
		err = g.slots.Chmod(slot, ch.New.Mode)
		if err == nil && !partial {
			err = g.slots.Chtimes(slot, ch.New.Mtime)
		}
	}
	return sum, err
}

// own gives a slot the owner of what it replaces or, when new, of the nearest
// directory above, if we run as root.
func (g *stage) own(slot string, ch Change) error {
	if os.Geteuid() != 0 {
		return nil
	}
	like := ch.Old.Stat
	if like.Kind == beneath.Absent {
		var err error
		if like, err = g.above(ch.Path); err != nil {
			return err
		}
	}
	return g.slots.Lchown(slot, like.UID, like.GID)
}

// above describes the nearest directory above path that is in the project.
func (g *stage) above(path string) (beneath.Stat, error) {
	dir, _ := beneath.Split(path)
	if g.missing != "" && within(dir, []string{g.missing}) {
		return g.like, nil
	}
	g.missing = ""
	for {
		d, err := g.project.Sub(dir)
		if err == nil {
			defer d.Close()
			g.like, err = d.Self()
			return g.like, err
		}
		if dir == "." {
			return beneath.Stat{}, err
		}
		g.missing = dir
		dir, _ = beneath.Split(dir)
	}
}

func (g *stage) file(slot string, ch Change, text string, partial bool) (sum string, err error) {
	f, err := g.slots.Create(slot, 0o600)
	if err != nil {
		return "", err
	}
	if partial {
		_, err = f.WriteString(text)
	} else {
		err = g.copy(f, ch)
	}
	if err == nil {
		sum, err = smallSum(f)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return sum, err
}

// smallSum hashes a file unless it is large.
func smallSum(f *os.File) (string, error) {
	st, err := f.Stat()
	if err != nil || st.Size() > maxAppliedSum {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return sum(&openFile{File: f})
}

func (g *stage) copy(f *os.File, ch Change) error {
	src, err := g.c.s.open(ch.from, ch.Path)
	if err != nil {
		return err
	}
	defer src.Close()
	return copyContent(f, src, ch.New.Size)
}

// isStage says whether a name at the top of a project is a stage of ours.
func isStage(name string) bool { return strings.HasPrefix(name, stagePrefix) }
