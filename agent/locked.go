package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/agent/lock"
	"kintsugi/sandbox/inert"
)

// errUnanswered ends a call whose lock names a package that needs the user's
// word, when nobody can give it.
var errUnanswered = errors.New("a package of the lock needs your consent")

// wanted is what a program says about its packages before it runs.
type wanted struct {
	parts  []lock.Part
	origin string // the file that says so, for messages
	pinned bool   // exact versions and hashes are known
}

// prepare installs what the program's lock, or the block in its text, names,
// so that nothing is missing at the first attempt.
func (e *Engine) prepare(ctx context.Context, r *run) error {
	if r.call.NoHeal || e.IgnoreLock {
		return nil
	}
	w, err := e.wanted(r)
	if err != nil {
		return err
	}
	for i, part := range w.parts {
		if err := e.prepareOne(ctx, r, w, part, i); err != nil {
			return err
		}
	}
	r.locked = len(w.parts) > 0 && len(e.env.layers) > 0
	return nil
}

// wanted reads the lock and the block of a program. The block is the newer
// word: a lock that does not cover it is left aside.
func (e *Engine) wanted(r *run) (wanted, error) {
	block, err := e.block(r)
	if err != nil {
		return wanted{}, err
	}
	top, program, dir := e.Project.Source, e.ownFile(r), e.hostPath(".")
	if e.Project.File != "" {
		top = filepath.Dir(program)
	}
	set, path, ok, err := lock.Find(top, program, dir)
	switch {
	case err != nil:
		return wanted{}, err
	case ok && covers(set, block):
		return wanted{parts: set.Parts, origin: lock.Name, pinned: true}, nil
	case ok:
		note := event.Note{Step: r.call.Step, Level: "warn", Text: filepath.Base(path) + " does not have all that the program's block names, so it is left aside", Command: "kintsugi lock --write"}
		if err := e.log(note); err != nil {
			return wanted{}, err
		}
	}
	if len(block) == 0 {
		return wanted{}, nil
	}
	return wanted{parts: []lock.Part{{Manager: "pip", Asked: block}}, origin: "the block of " + filepath.Base(cmp.Or(r.file, "the code"))}, nil
}

// block is what a Python program's own comment names.
func (e *Engine) block(r *run) ([]string, error) {
	text, name := r.call.Code, "the code"
	switch {
	case r.call.Code != "" && r.call.Ext != ".py":
		return nil, nil
	case r.call.Code == "":
		if filepath.Ext(r.file) != ".py" {
			return nil, nil
		}
		data, err := readSmall(r.file)
		if err != nil {
			return nil, nil //nolint:nilerr // the attempt will say what is wrong with the file
		}
		text, name = string(data), filepath.Base(r.file)
	}
	b, _, err := lock.ScriptBlock(text)
	if err != nil {
		return nil, fmt.Errorf("%s, %w", name, err)
	}
	return b.Dependencies, nil
}

// covers says whether a lock has every package that a block names, at the
// version that the block names if it names one.
func covers(s lock.Set, block []string) bool {
	var exact []string
	for _, p := range s.Parts {
		if p.Manager == "pip" {
			exact = p.Exact()
		}
	}
	for _, b := range block {
		b, _, _ = strings.Cut(b, ";")
		name, version, pinned := strings.Cut(strings.TrimSpace(b), "==")
		if !slices.ContainsFunc(exact, func(e string) bool {
			return heal.BareName("pip", e) == heal.BareName("pip", name) && (!pinned || strings.HasSuffix(e, "=="+version))
		}) {
			return false
		}
	}
	return true
}

// prepareOne installs what one manager brings.
func (e *Engine) prepareOne(ctx context.Context, r *run, w wanted, part lock.Part, i int) error {
	m := heal.Remedy{Action: "install", Manager: part.Manager, Packages: part.Asked, Origin: w.origin, Note: w.origin + " names it"}
	why, err := e.permitted(ctx, r, heal.Diagnosis{Heal: heal.Auto, Explanation: w.origin + " names it."}, m)
	switch {
	case err != nil:
		return err
	case why == "" && r.consent:
		return errUnanswered
	case why == "" && r.denied != "":
		return fmt.Errorf("%s: %s", w.origin, r.denied)
	case why == "":
		return nil
	}
	id := fmt.Sprintf("%d-lock-%d", r.call.Step, i)
	open := event.Remedy{
		Step: r.call.Step, Attempt: 1, ID: id, Action: "install", Manager: part.Manager, Packages: part.Asked,
		Origin: "lock", Title: "prepare " + strings.Join(part.Asked, ", ") + " from " + w.origin, Why: inert.String(why),
	}
	if err := e.log(open); err != nil {
		return err
	}
	started := e.Now()
	l, err := e.installLocked(ctx, r, id, w, part)
	end := event.RemedyEnd{Step: r.call.Step, ID: id, Took: e.Now().Sub(started)}
	if err != nil {
		end.Error = inert.String(err.Error())
		return errors.Join(e.log(end), e.lockFailed(w, err))
	}
	end.OK, end.Layer, end.Reused, end.Versions = true, l.Key, l.Reused, first(l.Versions, 50)
	return e.log(end)
}

// lockFailed: without what a lock pins the program does not run at all; what a
// block merely names may still turn out not to be needed.
func (e *Engine) lockFailed(w wanted, err error) error {
	if !w.pinned {
		return nil
	}
	return fmt.Errorf("%s: %w; nothing was installed (to run without the lock: --no-lock)", w.origin, err)
}

func (e *Engine) installLocked(ctx context.Context, r *run, id string, w wanted, part lock.Part) (install.Layer, error) {
	asked := part.Asked
	req := install.Request{Manager: part.Manager, Argv0: interpreter(r, part.Manager)}
	if w.pinned {
		asked, req.Pins, req.Layer, req.LockedFor = part.Exact(), part.Pins(), part.Layer, part.For
	}
	req.Packages = asked
	l, err := e.installer(ctx, r, id, req)
	if err == nil {
		e.env.have(part.Manager, asked, nil, l)
	}
	return l, err
}
