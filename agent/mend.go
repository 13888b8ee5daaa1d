package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/sandbox/inert"
)

// diagnose reads what a failed attempt left behind.
func (e *Engine) diagnose(r *run, a *attempt) (heal.Diagnosis, error) {
	rules, err := e.Rules()
	if err != nil {
		return heal.Diagnosis{}, err
	}
	if r.source == nil {
		s := e.readSource(r)
		r.source = &s
	}
	in := heal.Input{
		Text: a.stderr.Raw(), Exit: a.result.ExitCode, Signal: a.result.Signal, Limit: string(a.result.Limit),
		Argv: r.argv, Files: r.source.local, Imports: r.source.imports, Python: pythonVersion(a.stderr.Raw()),
	}
	d := rules.Diagnose(in)
	if len(d.Remedies) > 0 || strings.TrimSpace(a.stdout.Raw()) == "" {
		return d, nil
	}
	// Compilers and test runners complain on standard output.
	in.Text = a.stdout.Raw()
	silent := strings.TrimSpace(a.stderr.Raw()) == ""
	if other := rules.Diagnose(in); silent || vague(d, in) && !vague(other, in) {
		return other, nil
	}
	return d, nil
}

// vague tells that a diagnosis only repeats that something failed: no line of
// the output was recognised, or one that passes on what another program said.
func vague(d heal.Diagnosis, in heal.Input) bool {
	switch d.Kind {
	case "script_failed", "build_failed":
		return true
	}
	return len(d.Evidence) == 0 && in.Limit == ""
}

// pythonVersion reads "3.11" off the paths in a traceback; empty when there
// are none.
func pythonVersion(text string) string {
	for {
		_, rest, ok := strings.Cut(text, "/python3.")
		if !ok {
			return ""
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits > 0 && strings.HasPrefix(rest[digits:], "/") {
			return "3." + rest[:digits]
		}
		text = rest
	}
}

// next logs the failure and tries to mend it; true means: run it again.
func (e *Engine) next(ctx context.Context, r *run, a *attempt, d heal.Diagnosis) (bool, error) {
	if err := e.log(e.failure(r, a, d)); err != nil {
		return false, err
	}
	switch {
	case r.call.NoHeal, ctx.Err() != nil, a.n >= e.Attempts:
		return false, nil
	case d.Heal != heal.Auto && d.Heal != heal.Ask:
		return false, nil
	}
	remedies, err := e.offered(r, d)
	if err != nil {
		return false, err
	}
	if many := e.sideBySide(r, d, remedies); many != nil {
		if mended, err := e.race(ctx, r, a, d, many); mended || err != nil {
			return mended, err
		}
	}
	for _, remedy := range remedies {
		mended, err := e.try(ctx, r, a, d, remedy)
		if mended || err != nil {
			return mended, err
		}
	}
	if r.better != nil {
		return false, e.log(e.failure(r, a, *r.better))
	}
	return false, nil
}

// learn reads the words of a failed installer: a project may name packages that
// do not exist, which only the index can tell.
func (e *Engine) learn(r *run, m heal.Remedy, err error) {
	var failed *install.Error
	if m.Manager != "maven" || !errors.As(err, &failed) {
		return
	}
	if rules, err := e.Rules(); err == nil {
		d := rules.Diagnose(heal.Input{Text: failed.Output, Exit: 1})
		if d.Kind == "unknown_package" {
			d.Evidence = append(d.Evidence, failed.Reason)
			r.better = &d
		}
	}
}

func (e *Engine) failure(r *run, a *attempt, d heal.Diagnosis) event.Failure {
	f := event.Failure{
		Step: r.call.Step, Attempt: a.n, Ecosystem: d.Ecosystem, What: d.Kind, Subject: d.Subject,
		Explanation: d.Explanation, Heal: string(d.Heal), Rule: d.Rule,
	}
	for _, line := range d.Evidence {
		f.Evidence = append(f.Evidence, inert.String(line))
	}
	if len(d.Remedies) > 0 {
		f.Command = d.Remedies[0].Command
	}
	return f
}

// try carries out one remedy unless it was tried before or may not be.
func (e *Engine) try(ctx context.Context, r *run, a *attempt, d heal.Diagnosis, m heal.Remedy) (bool, error) {
	sign := signature(m)
	if r.tried[sign] || !actionable(m) {
		return false, nil
	}
	r.tried[sign] = true
	why, err := e.permitted(ctx, r, d, m)
	if why == "" || err != nil {
		return false, err
	}
	started := e.Now()
	id := fmt.Sprintf("%d-%d-%d", r.call.Step, a.n, len(r.tried))
	own := m.Packages
	m = e.together(ctx, r, d, m)
	open := event.Remedy{
		Step: r.call.Step, Attempt: a.n, ID: id, Action: m.Action, Manager: m.Manager,
		Packages: m.Packages, Origin: m.Origin, Title: title(m), Why: inert.String(why),
		Along: slices.DeleteFunc(slices.Clone(m.Packages), func(p string) bool { return slices.Contains(own, p) }),
	}
	if err := e.log(open); err != nil {
		return false, err
	}
	end := e.carryOut(ctx, r, id, m)
	end.Step, end.ID, end.Took = r.call.Step, id, e.Now().Sub(started)
	if end.OK {
		r.healed = append(r.healed, mended{failure: d, title: doneTitle(m), took: end.Took})
	}
	return end.OK, e.log(end)
}

func signature(m heal.Remedy) string {
	return strings.Join(slices.Concat([]string{m.Action, m.Manager}, m.Packages, m.Env, m.Argv, m.Append), "\x00")
}

func actionable(m heal.Remedy) bool {
	switch m.Action {
	case "install":
		return len(m.Packages) > 0
	case "env":
		return len(m.Env) > 0
	case "command":
		return len(m.Argv) > 0
	case "append":
		return len(m.Append) > 0
	}
	return false
}

// title says what a remedy does, in a few words.
func title(m heal.Remedy) string { return tell(m, "install", "set", "run", "add") }

// doneTitle says it in the past, for the seam.
func doneTitle(m heal.Remedy) string { return tell(m, "installed", "set", "ran", "added") }

func tell(m heal.Remedy, install, set, run, add string) string {
	switch m.Action {
	case "install":
		return fmt.Sprintf("%s %s with %s", install, strings.Join(m.Packages, ", "), m.Manager)
	case "env":
		return set + " " + strings.Join(m.Env, " ")
	case "command":
		return run + " " + strings.Join(m.Argv, " ")
	case "append":
		return add + " " + strings.Join(m.Append, " ")
	}
	return m.Action
}

// carryOut does it.
func (e *Engine) carryOut(ctx context.Context, r *run, id string, m heal.Remedy) event.RemedyEnd {
	switch m.Action {
	case "env":
		e.arrange(r, m)
		return event.RemedyEnd{OK: true}
	case "command":
		e.env.prelude = append(e.env.prelude, m.Argv)
		return event.RemedyEnd{OK: true}
	case "append":
		r.append(m.Append)
		return event.RemedyEnd{OK: true}
	}
	l, err := e.install(ctx, r, id, m)
	if there := (*install.Error)(nil); errors.As(err, &there) && there.There && len(m.Env)+len(m.Prepend) > 0 {
		e.arrange(r, m) // the program was just not told where it is
		return event.RemedyEnd{OK: true, Reused: true}
	}
	if err != nil {
		e.learn(r, m, err)
		return event.RemedyEnd{Error: inert.String(err.Error())}
	}
	e.arrange(r, m)
	return event.RemedyEnd{OK: true, Layer: l.Key, Reused: l.Reused, Versions: first(l.Versions, 50)}
}

// append adds arguments to the command that failed: to the compiler's, where one
// turns a file into the program.
func (r *run) append(more []string) {
	if !r.compiled {
		r.argv = slices.Concat(r.argv, more)
		return
	}
	r.argv = slices.Clone(r.argv)
	r.argv[2] = strings.Replace(r.argv[2], thenRun, " "+quoted(more)+thenRun, 1)
}

// arrange sets what a remedy wants to stand around the command.
func (e *Engine) arrange(r *run, m heal.Remedy) {
	e.env.vars = append(e.env.vars, m.Env...)
	if n := len(m.Prepend); n > 0 && !slices.Equal(r.argv[:min(n, len(r.argv))], m.Prepend) {
		r.argv = slices.Concat(m.Prepend, r.argv)
	}
}

func first(list []string, n int) []string { return list[:min(n, len(list))] }

// install resolves the manager's whole set anew with the remedy's packages.
func (e *Engine) install(ctx context.Context, r *run, id string, m heal.Remedy) (install.Layer, error) {
	all, check := e.env.want(m.Manager, m.Packages, m.Verify)
	l, err := e.installer(ctx, r, id, install.Request{Manager: m.Manager, Packages: all, Argv0: interpreter(r, m.Manager), Verify: check})
	if err != nil {
		return l, err
	}
	e.env.have(m.Manager, all, check, l)
	return l, nil
}

// installer carries out a request in the environment of the session's boxes.
func (e *Engine) installer(ctx context.Context, r *run, id string, req install.Request) (install.Layer, error) {
	draft, err := e.Workspace.Begin()
	if err != nil {
		return install.Layer{}, err
	}
	defer func() { _ = draft.Discard() }()
	words := event.NewStream(e.Log, event.StreamOptions{
		Step: r.call.Step, Remedy: id, Clean: func(p []byte) string { return inert.String(string(p)) }, Keep: 64 << 10,
	})
	defer words.Close()
	req.Env, req.Layers = e.env.env(e.Env), e.env.trees(req.Manager)
	req.Workspace, req.Dir, req.Since = draft.Spec(), e.Project.Dir, e.env.layers[req.Manager].Key
	req.Output, req.Progress = words, e.progress(id)
	return e.Installer.Install(ctx, req)
}

// progress logs a remedy's progress, at most ten lines a second.
func (e *Engine) progress(id string) func(string) {
	var last time.Time
	return func(text string) {
		if now := e.Now(); now.Sub(last) >= 100*time.Millisecond {
			last = now
			_, _ = e.Log.Append(event.Progress{ID: id, Text: inert.String(text)})
		}
	}
}

// interpreter is the program whose packages a manager installs, when the call
// runs one.
func interpreter(r *run, manager string) string {
	if manager == "cargo" && r.compiled {
		return "rustc" // a single file, whatever project it lies in
	}
	want := map[string]string{"pip": "python", "npm": "node", "maven": "java"}[manager]
	if want != "" && len(r.argv) > 0 {
		name := r.argv[0][strings.LastIndexByte(r.argv[0], '/')+1:]
		if strings.HasPrefix(name, want) {
			return r.argv[0]
		}
	}
	return ""
}
