package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"kintsugi/agent/event"
	"kintsugi/agent/model"
	"kintsugi/agent/tool"
)

// call does one call and tells the model how it went. more says that other
// calls of the same reply came before it.
func (t *task) call(ctx context.Context, c model.Call, more bool) (done bool, err error) {
	args, err := tool.Check(c, t.l.Tools)
	var bad *tool.Bad
	switch {
	case errors.As(err, &bad):
		return false, t.refuse(c, bad.Text)
	case err != nil:
		return false, err
	case c.Clipped:
		return false, t.refuse(c, "its text is too long and has no end; write less at a time")
	case c.Name == tool.Finish && more:
		return false, t.refuse(c, "call finish by itself, after you have read the results of the other calls")
	case c.Name == tool.Finish:
		return true, t.finish(args["answer"])
	}
	key := keyOf(c.Name, args)
	if p := t.ran[key]; p != nil && t.again(c, p) {
		return false, t.repeat(c, p.ok)
	}
	t.repeats = 0
	switch {
	case tool.Runs(c.Name):
		return false, t.file(c, args, key)
	case c.Name == tool.Install:
		return false, t.install(ctx, c, args["packages"], key)
	}
	return false, t.run(ctx, c, args, key)
}

// again says whether a call that ran before would only repeat itself. Looking
// at files again makes sense after they may have changed; a program that
// worked may be run once more.
func (t *task) again(c model.Call, p *past) bool {
	switch c.Name {
	case tool.ReadFile, tool.ListFiles, tool.Search:
		return p.times >= 3
	}
	return !p.ok || p.times >= 2
}

func (t *task) note(key string, ok bool) {
	p := t.ran[key]
	if p == nil {
		p = &past{}
		t.ran[key] = p
	}
	p.ok = ok
	p.times++
	t.res.Calls++
	if ok {
		t.res.Worked++
	}
}

// repeat refuses a call that ran before.
func (t *task) repeat(c model.Call, ok bool) error {
	if t.repeats++; t.repeats >= maxRepeats {
		t.stuck = "the model made the same call over and over"
	}
	return t.tell(c, t.l.prompt("repeat.md", map[string]any{"OK": ok}), false)
}

// refuse tells the model why its call was not run.
func (t *task) refuse(c model.Call, reason string) error {
	if t.repeats++; t.repeats >= maxSame {
		t.stuck = "the model made no call that can be run, five times in a row"
	}
	return t.tell(c, t.l.prompt("bad.md", map[string]any{"Reason": reason}), false)
}

// tell gives the model the result of a call and closes the step.
func (t *task) tell(c model.Call, text string, ok bool) error {
	t.l.talk.add(model.Message{Role: model.ToolResult, Tool: c.Name, CallID: c.ID, Text: text})
	if ok {
		return t.closeStep(true, "")
	}
	return t.closeCorrected(text)
}

// file runs a tool that reads or writes files.
func (t *task) file(c model.Call, args tool.Args, key string) error {
	res, err := t.l.Desk.Run(c.Name, args)
	var bad *tool.Bad
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	name, _, _ := strings.Cut(c.Name, "_")
	if err := t.l.log(event.Call{Step: t.step, Tool: name, Text: harmless(res.Show), Origin: "model"}); err != nil {
		return err
	}
	t.note(key, bad == nil)
	if bad != nil {
		t.failure = bad.Text
		return t.tell(c, t.l.prompt("bad.md", map[string]any{"Reason": bad.Text}), false)
	}
	t.touch(res.Changed)
	if err := t.saved(res.Changed); err != nil {
		return err
	}
	return t.tell(c, res.Text, true)
}

// saved logs the checkpoint that a written file made.
func (t *task) saved(path string) error {
	if path == "" || t.l.Saved == nil {
		return nil
	}
	id, parent := t.l.Saved()
	return t.l.log(event.Checkpoint{Step: t.step, ID: id, Parent: parent, Changed: []string{path}, Total: 1})
}

// touch notes that files changed: what failed before may work now.
func (t *task) touch(paths ...string) {
	for _, p := range paths {
		if p == "" {
			continue
		}
		if !slices.Contains(t.changed, p) {
			t.changed = append(t.changed, p)
		}
		t.ran = map[string]*past{}
	}
}

// run runs code or a command in a box.
func (t *task) run(ctx context.Context, c model.Call, args tool.Args, key string) error {
	call := Call{Step: t.step, Tool: "shell", Origin: "model", Code: args["command"], Ext: ".sh"}
	if c.Name == tool.RunCode {
		ext, ok := tool.Ext(args["language"])
		if !ok {
			return t.refuse(c, "the language is not known; use one of: "+strings.Join(tool.LanguageNames(), ", "))
		}
		call.Tool, call.Code, call.Ext = strings.ToLower(strings.TrimSpace(args["language"])), unfence(args["code"]), ext
	}
	if strings.TrimSpace(call.Code) == "" {
		return t.refuse(c, "there is nothing to run in it")
	}
	out, err := t.l.Engine.Do(ctx, call)
	if err != nil {
		return t.engineFailed(ctx, c, err)
	}
	t.broken, t.res.NeedsConsent = 0, out.NeedsConsent
	if !out.OK {
		t.note(key, false)
		return t.failed(c, out)
	}
	t.touch(out.Changed...)
	t.note(key, true)
	return t.tell(c, t.l.prompt("success.md", successOf(out)), true)
}

// engineFailed: a language without an interpreter is the model's to mend, but
// a box that cannot be made at all is nobody's.
func (t *task) engineFailed(ctx context.Context, c model.Call, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if t.broken++; t.broken >= 3 {
		return err
	}
	return t.refuse(c, line(err.Error(), 300))
}

// failed gives the failure back as a short correction.
func (t *task) failed(c model.Call, out Outcome) error {
	f := t.l.failureOf(c, out)
	sign := f.What
	if out.Diagnosis == nil || out.Diagnosis.Kind == "" {
		sign = c.Name + " " + f.Evidence
	}
	t.fails[sign]++
	if t.fails[sign] > 1 {
		f.Again = t.fails[sign]
	}
	if t.fails[sign] >= maxSame {
		t.stuck = "the same failure came five times: " + f.What
	}
	t.failure = f.What
	return t.tell(c, t.l.prompt("failure.md", f), false)
}

// install asks for packages on the model's behalf.
func (t *task) install(ctx context.Context, c model.Call, words, key string) error {
	if err := t.l.log(event.Call{Step: t.step, Tool: "install", Text: harmless(words), Origin: "model"}); err != nil {
		return err
	}
	text, err := t.l.Request(ctx, t.step, words)
	if err != nil {
		return err
	}
	t.note(key, true)
	return t.tell(c, text, true)
}

// unfence takes a program out of the fence that a model put around it.
func unfence(code string) string {
	text := strings.TrimSpace(code)
	if !strings.HasPrefix(text, "```") || !strings.HasSuffix(text, "```") || len(text) < 6 {
		return code
	}
	_, body, ok := strings.Cut(strings.TrimSuffix(text, "```"), "\n")
	if !ok {
		return code
	}
	return body
}
