package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kintsugi/sandbox/workspace/beneath"
)

// errMeanwhile is a change by the user between planning and execution.
var errMeanwhile = errors.New("you changed it meanwhile")

// commit executes what is staged. With skip a late conflict leaves out that
// path alone.
func (g *stage) commit(ctx context.Context, rep *Report, skip bool) error {
	if err := g.s.fault("sync"); err != nil {
		return err
	}
	if err := g.j.durable(); err != nil {
		return err
	}
	if err := g.s.sync(g.project); err != nil {
		return err
	}
	err := g.j.forward(func(op operation) error {
		err := ctx.Err()
		if err == nil {
			err = g.s.fault(op.Do + " " + string(op.Path))
		}
		if err == nil {
			err = g.execute(op)
		}
		if errors.Is(err, errMeanwhile) {
			err = g.late(op, rep, skip)
		}
		if err != nil && !errors.Is(err, ErrConflicts) {
			return fmt.Errorf("%s %s: %w", op.Do, Quote(string(op.Path)), err)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := g.s.sync(g.project); err != nil {
		return err
	}
	if err := g.s.fault("done"); err != nil {
		return err
	}
	return g.j.setDone()
}

// late reports a conflict that showed only at the last moment.
func (g *stage) late(op operation, rep *Report, skip bool) error {
	path := string(op.Path)
	rep.Conflicts.add(Change{Path: path, Conflict: errMeanwhile.Error()})
	if !skip || op.Then {
		return ErrConflicts
	}
	rep.Applied.Total--
	rep.Applied.First = slices.DeleteFunc(rep.Applied.First, func(c Change) bool { return c.Path == path })
	return nil
}

// execute does one operation. Whatever it moves out of the project it checks
// afterwards, when nobody else can get at it, and moves back if it is not what
// was planned for.
func (g *stage) execute(op operation) error {
	parent, name := beneath.Split(string(op.Path))
	d, err := g.project.Sub(parent)
	if err != nil {
		if errors.Is(err, beneath.ErrLeaves) || errors.Is(err, fs.ErrNotExist) {
			return errMeanwhile
		}
		return err
	}
	defer d.Close()
	switch op.Do {
	case doTake:
		return g.takeOut(d, name, op)
	case doPut:
		return meanwhile(place(g.slots, op.slot(), d, name), fs.ErrExist)
	case doSwap:
		return g.swap(d, name, op)
	}
	return g.mode(d, name, op)
}

// meanwhile turns an error that only a change by the user explains.
func meanwhile(err, sign error) error {
	if errors.Is(err, sign) {
		return errMeanwhile
	}
	return err
}

func (g *stage) takeOut(d *beneath.Dir, name string, op operation) error {
	if err := place(d, name, g.slots, op.slot()); err != nil {
		return meanwhile(err, fs.ErrNotExist)
	}
	ok, err := g.holds(op.slot(), op.Old)
	if err == nil && ok {
		return nil
	}
	if back := place(g.slots, op.slot(), d, name); back != nil {
		return errors.Join(err, back)
	}
	if err != nil {
		return err
	}
	return errMeanwhile
}

// holds says whether a slot holds what is expected; a directory must be empty.
func (g *stage) holds(slot string, want identity) (bool, error) {
	st, err := g.slots.Lstat(slot)
	if err != nil || identify(st) != want {
		return false, err
	}
	if st.Kind != beneath.Directory {
		return true, nil
	}
	return emptyIn(g.slots, slot)
}

// emptyIn says whether the directory name in d is empty.
func emptyIn(d *beneath.Dir, name string) (bool, error) {
	sub, err := d.Sub(name)
	if err != nil {
		return false, err
	}
	defer sub.Close()
	names, _ := sub.Names(1)
	return len(names) == 0, nil
}

func (g *stage) swap(d *beneath.Dir, name string, op operation) error {
	if err := g.slots.Rename(op.slot(), d, name, beneath.Exchange); err != nil {
		return meanwhile(err, fs.ErrNotExist)
	}
	st, err := g.slots.Lstat(op.slot())
	if err == nil && identify(st) == op.Old {
		return nil
	}
	if back := g.slots.Rename(op.slot(), d, name, beneath.Exchange); back != nil {
		return errors.Join(err, back)
	}
	if err != nil {
		return err
	}
	return errMeanwhile
}

func (g *stage) mode(d *beneath.Dir, name string, op operation) error {
	st, err := d.Lstat(name)
	if err != nil {
		return err
	}
	if !op.Fresh && (identify(st) != op.Old || st.Mode != op.WasMode) {
		return errMeanwhile
	}
	return d.Chmod(name, op.Mode)
}

// place renames without ever replacing anything.
func place(from *beneath.Dir, name string, to *beneath.Dir, newname string) error {
	err := from.Rename(name, to, newname, beneath.NoReplace)
	if !errors.Is(err, beneath.ErrUnsupported) {
		return err
	}
	st, err := to.Lstat(newname)
	if err != nil {
		return err
	}
	if st.Kind != beneath.Absent {
		return &fs.PathError{Op: "rename", Path: Quote(newname), Err: fs.ErrExist}
	}
	return from.Rename(name, to, newname, beneath.Replace)
}

// end closes an Apply: a done one is finished, a failed one undone.
func (g *stage) end(err error, rep *Report) error {
	if g.slots != nil {
		defer g.slots.Close()
	}
	if err == nil {
		return g.finish()
	}
	rep.Applied = List{}
	kept, uerr := g.undo()
	if uerr != nil {
		return fmt.Errorf("%w; undoing it failed too, the next start tries again: %w", err, uerr)
	}
	rep.Recovered = append(rep.Recovered, kept...)
	return err
}

// finish writes down the new base of what was applied and tidies up. Doing it
// again does no harm.
func (g *stage) finish() error {
	if err := g.s.fault("record"); err != nil {
		return err
	}
	if err := g.record(); err != nil {
		return fmt.Errorf("everything was applied, but it could not be written down: %w", err)
	}
	if err := g.s.fault("clean"); err != nil {
		return err
	}
	if err := beneath.RemoveTree(g.project, g.j.head.Stage); err != nil {
		return fmt.Errorf("everything was applied, but %s could not be removed: %w", g.j.head.Stage, err)
	}
	if err := g.s.fault("forget"); err != nil {
		return err
	}
	return g.j.remove()
}

// record appends to applied.jsonl what the project now has.
func (g *stage) record() error {
	out, err := openRecords(filepath.Join(g.s.dir, "applied.jsonl"), os.O_APPEND)
	if err != nil {
		return err
	}
	err = g.j.forward(func(op operation) error {
		if op.Fresh || op.Then {
			return nil
		}
		r, ok, err := g.applied(op)
		if err != nil || !ok {
			return err
		}
		return out.write(r)
	})
	return errors.Join(err, out.close())
}

// applied is the base record after an operation; none when the project does
// not have what the operation made, because the user was there first or since.
func (g *stage) applied(op operation) (record, bool, error) {
	now := time.Now().UnixNano()
	gone := record{Path: op.Path, Up: 1, At: now}
	parent, name := beneath.Split(string(op.Path))
	d, err := g.project.Sub(parent)
	if err != nil {
		return gone, op.Do == doTake, nil
	}
	defer d.Close()
	st, err := d.Lstat(name)
	if err != nil {
		return record{}, false, err
	}
	want := op.New
	switch op.Do {
	case doTake:
		return gone, st.Kind == beneath.Absent, nil
	case doMode:
		want = op.Old
	}
	if identify(st) != want || op.Do == doMode && st.Mode != op.Mode {
		return record{}, false, nil
	}
	r := newRecord(string(op.Path), Entry{Stat: st}, now)
	r.Sum = op.Sum
	if st.Kind != beneath.Directory {
		r.Up = op.Up
	}
	if st.Kind == beneath.Symlink {
		var target string
		target, err = d.Readlink(name)
		r.Target = rawString(target)
	}
	return r, true, err
}
