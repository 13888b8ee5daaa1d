package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kintsugi/sandbox/workspace/beneath"
)

// Recover settles what a killed Apply left: one that had passed its point of
// no return is finished, any other undone. It returns a line for each. Open
// and Apply call it by themselves.
func (s *Store) Recover() ([]string, error) {
	journals, err := s.journals()
	if err != nil || len(journals) == 0 {
		return nil, err
	}
	project, err := s.lockProject()
	if err != nil {
		return nil, err
	}
	defer project.Close()
	return s.recover(project)
}

// journals are the directories of unfinished journals.
func (s *Store) journals() ([]string, error) {
	return filepath.Glob(filepath.Join(s.dir, journalPrefix+"*"))
}

func (s *Store) recover(project *beneath.Dir) ([]string, error) {
	journals, err := s.journals()
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, dir := range journals {
		more, err := s.settle(project, dir)
		if err != nil {
			return lines, fmt.Errorf("an interrupted apply could not be settled: %w", err)
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

// settle finishes or undoes one interrupted Apply.
func (s *Store) settle(project *beneath.Dir, dir string) ([]string, error) {
	j := openJournal(dir, s.opts.noSync)
	b, err := os.ReadFile(filepath.Join(dir, "head.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, j.remove() // it had not even begun
	}
	if err == nil {
		err = json.Unmarshal(b, &j.head)
	}
	if err != nil {
		return nil, err
	}
	if !isStage(j.head.Stage) || strings.Contains(j.head.Stage, "/") {
		return nil, fmt.Errorf("%s names no stage", dir)
	}
	g := &stage{s: s, project: project, j: j}
	if j.isDone() {
		return []string{"an interrupted apply was finished"}, g.finish()
	}
	lines, err := g.undo()
	return append([]string{"an interrupted apply was undone"}, lines...), err
}

// undo puts the project back as it was, going by what the slots hold. What the
// user changed since is left as it is; then the earlier version stays in the
// stage and a line says so.
func (g *stage) undo() (kept []string, err error) {
	for _, l := range g.j.lists() {
		if err := l.finish(g.j.quick); err != nil {
			return nil, err
		}
	}
	if g.slots == nil {
		g.slots, err = g.project.Sub(g.j.head.Stage)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, g.j.remove() // nothing was moved yet
		}
		if err != nil {
			return nil, err
		}
		defer func() { g.slots.Close(); g.slots = nil }()
	}
	err = g.j.backward(func(op operation) error {
		if err := g.s.fault("undo " + string(op.Path)); err != nil {
			return err
		}
		ok, err := g.revert(op)
		if !ok && err == nil {
			kept = append(kept, fmt.Sprintf("%s was changed since; its version from before is in %s/%s",
				Quote(string(op.Path)), g.j.head.Stage, op.slot()))
		}
		return err
	})
	if err != nil {
		return kept, err
	}
	if err := g.s.sync(g.project); err != nil {
		return kept, err
	}
	if len(kept) == 0 {
		if err := beneath.RemoveTree(g.project, g.j.head.Stage); err != nil {
			return kept, err
		}
	}
	return kept, g.j.remove()
}

// revert undoes one operation if it was done; false says that the slot holds
// something of the user's that has no place to go back to.
func (g *stage) revert(op operation) (bool, error) {
	slot, err := g.slots.Lstat(op.slot())
	if err != nil {
		return false, err
	}
	inSlot := slot.Kind != beneath.Absent
	parent, name := beneath.Split(string(op.Path))
	d, err := g.project.Sub(parent)
	if err != nil {
		return !inSlot || identify(slot) == op.New, nil
	}
	defer d.Close()
	target, err := d.Lstat(name)
	if err != nil {
		return false, err
	}
	ours := identify(target) == op.New
	switch {
	case op.Do == doMode:
		return true, g.revertMode(d, name, target, op)
	case op.Do == doTake && inSlot:
		return restored(place(g.slots, op.slot(), d, name))
	case op.Do == doPut && !inSlot && ours:
		return true, g.withdraw(d, name, op)
	case op.Do == doSwap && identify(slot) != op.New && ours:
		return true, g.slots.Rename(op.slot(), d, name, beneath.Exchange)
	case op.Do == doSwap && identify(slot) != op.New && target.Kind == beneath.Absent:
		return restored(place(g.slots, op.slot(), d, name))
	}
	return op.Do != doSwap || identify(slot) == op.New, nil
}

// restored tells a place that is taken from a failure.
func restored(err error) (bool, error) {
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// withdraw takes back what was put, unless the user filled the directory.
func (g *stage) withdraw(d *beneath.Dir, name string, op operation) error {
	if op.New.Kind == beneath.Directory {
		if empty, err := emptyIn(d, name); err != nil || !empty {
			return err
		}
	}
	return place(d, name, g.slots, op.slot())
}

func (g *stage) revertMode(d *beneath.Dir, name string, now beneath.Stat, op operation) error {
	switch {
	case op.Fresh && now.Kind == beneath.Directory && now.Mode == op.Mode:
		return d.Chmod(name, op.Mode|0o700) // so that what is in it can be taken out
	case !op.Fresh && now.Kind == op.Old.Kind && now.Ino == op.Old.Ino && now.Mode == op.Mode:
		return d.Chmod(name, op.WasMode)
	}
	return nil
}
