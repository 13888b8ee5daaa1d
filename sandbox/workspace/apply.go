package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"kintsugi/sandbox/workspace/beneath"
)

// Selection picks what Apply takes over. The zero value picks everything.
type Selection struct {
	// Paths are files, or directories with all that is beneath them.
	Paths []string
	// Hunks picks single hunks, by their ids, of the files named. Such a file
	// need not be in Paths; when Paths is empty, only these files are picked.
	Hunks map[string][]string
}

// clean gives the paths the form that changes have.
func (s Selection) clean() Selection {
	out := Selection{Paths: cleanPaths(s.Paths)}
	for p, ids := range s.Hunks {
		if out.Hunks == nil {
			out.Hunks = map[string][]string{}
		}
		p = cleanPaths([]string{p})[0]
		out.Hunks[p] = append(out.Hunks[p], ids...)
	}
	return out
}

// cleanPaths takes what people type, "./src/", for what changes are called.
func cleanPaths(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, path.Clean(filepath.ToSlash(p)))
	}
	return out
}

func (s Selection) everything() bool { return len(s.Paths) == 0 && len(s.Hunks) == 0 }

// picks says whether path is selected. A new directory is when something in it
// is.
func (s Selection) picks(path string, dir bool) bool {
	if s.everything() || covers(s.Paths, path, dir) {
		return true
	}
	if _, ok := s.Hunks[path]; ok || !dir {
		return ok
	}
	for p := range s.Hunks {
		if within(p, []string{path}) {
			return true
		}
	}
	return false
}

// covers says whether path is one of paths or beneath one, or, for a
// directory, above one. No paths cover nothing.
func covers(paths []string, path string, dir bool) bool {
	if len(paths) > 0 && within(path, paths) {
		return true
	}
	for _, p := range paths {
		if dir && within(p, []string{path}) {
			return true
		}
	}
	return false
}

// ApplyOptions adjust Apply. The zero value is the careful one.
type ApplyOptions struct {
	// DryRun only reports what would happen.
	DryRun bool
	// Confirm names the held-back paths, or directories, that the user agreed
	// to.
	Confirm []string
	// SkipConflicts takes over the rest when there are conflicts. Without it a
	// conflict means that nothing is taken over.
	SkipConflicts bool
}

// ErrConflicts says that nothing was applied, because the user changed files
// meanwhile; the report lists them.
var ErrConflicts = errors.New("nothing was applied: files were changed meanwhile")

// maxListed bounds the lists of a Report; totals go on counting.
const maxListed = 1000

// List is a bounded list of changes with its true length.
type List struct {
	Total int
	First []Change // at most 1000
}

func (l *List) add(c Change) {
	l.Total++
	if len(l.First) < maxListed {
		l.First = append(l.First, c)
	}
}

// Report says what Apply did, or with DryRun would do.
type Report struct {
	DryRun  bool
	Applied List
	// Conflicts are left out because the user changed the file meanwhile; Held
	// until they are confirmed; Skipped for the reason in Notice.
	Conflicts, Held, Skipped List
	// Recovered says what had to be done first about an earlier Apply that was
	// interrupted.
	Recovered []string
}

// Apply carries the selected changes of a checkpoint over to the project, all
// or nothing: after an error, and on the next start after a crash, the project
// is as it was before. What the user changed since the box saw it is never
// overwritten.
func (s *Store) Apply(ctx context.Context, id string, sel Selection, o ApplyOptions) (Report, error) {
	project, err := s.lockProject()
	if err != nil {
		return Report{}, err
	}
	defer project.Close()
	recovered, err := s.recover(project)
	if err != nil {
		return Report{}, err
	}
	c, err := s.Compare(id)
	if err != nil {
		return Report{}, err
	}
	defer c.Close()
	if sel.names(c.outputs) {
		c.outputs = nil
	}
	o.Confirm = cleanPaths(o.Confirm)
	p := planner{ctx: ctx, c: c, sel: sel.clean(), o: o, rep: Report{DryRun: o.DryRun, Recovered: recovered}}
	if !o.DryRun {
		if p.stage, err = s.newStage(project, c); err != nil {
			return p.rep, fmt.Errorf("apply: %w", err)
		}
	}
	err = p.run()
	if err == nil && p.rep.Conflicts.Total > 0 && !o.SkipConflicts {
		err = ErrConflicts
	}
	if p.stage == nil {
		return p.rep, err
	}
	if err == nil {
		err = p.stage.commit(ctx, &p.rep, o.SkipConflicts)
	}
	return p.rep, p.stage.end(err, &p.rep)
}

// lockProject opens the project and makes sure that nobody else applies to it.
func (s *Store) lockProject() (*beneath.Dir, error) {
	project, err := beneath.Open(s.project)
	if err != nil {
		return nil, fmt.Errorf("the project cannot be opened: %w", err)
	}
	if err := project.Lock(); err != nil {
		project.Close()
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("changes are being applied to %s by another process; try again when it is done", s.project)
		}
		return nil, err
	}
	return project, nil
}

// planner decides about every change and has the chosen ones staged.
type planner struct {
	ctx   context.Context
	c     *Comparison
	sel   Selection
	o     ApplyOptions
	rep   Report
	stage *stage // nil in a dry run

	// keep are the directories that cannot be deleted, since something in them
	// stays; gone is the path whose absence leaves out all beneath it.
	keep map[string]bool
	gone string
}

func (p *planner) run() error {
	p.keep = map[string]bool{}
	for ch, err := range p.c.Changes() {
		if err == nil {
			err = p.ctx.Err()
		}
		if err == nil {
			err = p.decide(ch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decide puts a change on one of the lists of the report.
func (p *planner) decide(ch Change) error {
	isDir := ch.New.Kind == beneath.Directory
	switch {
	case !p.sel.picks(ch.Path, isDir):
		p.leave(&List{}, ch)
	case ch.Kind == Skipped:
		p.leave(&p.rep.Skipped, ch)
	case ch.Held != "" && !covers(p.o.Confirm, ch.Path, isDir):
		p.leave(&p.rep.Held, ch)
	case p.gone != "" && within(ch.Path, []string{p.gone}):
		ch.Notice = "its directory is left out"
		p.leave(&p.rep.Skipped, ch)
	case ch.Conflict != "":
		p.leave(&p.rep.Conflicts, ch)
	case p.keep[ch.Path] && ch.Kind == Deleted:
		ch.Notice = "something in it stays"
		p.leave(&p.rep.Skipped, ch)
	case p.keep[ch.Path] && ch.Kind == Retyped:
		ch.Conflict = "something in the directory stays"
		p.leave(&p.rep.Conflicts, ch)
	default:
		return p.take(ch)
	}
	return nil
}

// leave leaves a change out, and with it what depends on it.
func (p *planner) leave(l *List, ch Change) {
	l.add(ch)
	delete(p.keep, ch.Path)
	if ch.New.Kind == beneath.Directory && (ch.Kind == Added || ch.Kind == Retyped) {
		p.gone = ch.Path
	}
	if ch.Kind != Deleted && ch.Kind != Skipped {
		return
	}
	for dir, _ := beneath.Split(ch.Path); dir != "." && !p.keep[dir]; dir, _ = beneath.Split(dir) {
		p.keep[dir] = true
	}
}

// take has a change staged.
func (p *planner) take(ch Change) error {
	text, partial, err := p.partial(&ch)
	if err != nil {
		return err
	}
	if p.stage == nil {
		p.rep.Applied.add(ch)
		return nil
	}
	if err := p.stage.add(ch, text, partial); err != nil {
		return fmt.Errorf("apply %s: %w", Quote(ch.Path), err)
	}
	p.rep.Applied.add(ch)
	return nil
}

// partial gives the text of a file of which only some hunks are picked.
func (p *planner) partial(ch *Change) (text string, partial bool, err error) {
	ids, ok := p.sel.Hunks[ch.Path]
	if !ok || len(p.sel.Paths) > 0 && within(ch.Path, p.sel.Paths) {
		return "", false, nil
	}
	if ch.Kind != Modified || ch.New.Kind != beneath.File {
		return "", false, nil
	}
	d, err := p.c.Diff(*ch)
	if err != nil {
		return "", false, err
	}
	text, all, err := d.pick(ids)
	if err != nil || all {
		return "", false, err
	}
	ch.New.Mode = ch.Old.Mode
	return text, true, nil
}
