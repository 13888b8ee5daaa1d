package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/model"
)

// When a model goes round in circles it is stopped after so many rounds.
const (
	maxRepeats = 3 // the same call, in a row
	maxSame    = 5 // the same failure of different calls
	maxEmpty   = 3 // turns without a call, in a row
)

// task is one task in progress.
type task struct {
	l     *Loop
	text  string
	began time.Time
	res   Result
	step  int // the open step; 0: none

	ran     map[string]*past
	fails   map[string]int
	changed []string
	failure string // the last one, in a line
	repeats int
	empty   int
	nudged  bool
	heard   bool // the server has answered in this task
	broken  int  // calls in a row that Kintsugi could not run
	stuck   string
}

// past is a call that ran before.
type past struct {
	ok    bool
	times int
}

// turn asks the model once and does what it says.
func (t *task) turn(ctx context.Context) (done bool, err error) {
	if err := t.openStep(); err != nil {
		return false, err
	}
	reply, err := t.ask(ctx)
	if err != nil {
		return false, err
	}
	honest, faked := withoutFakes(reply.Text)
	reply.Text = honest
	t.l.talk.add(reply.Message())
	switch {
	case len(reply.Calls) > 0:
	case faked:
		return false, t.correct("fake.md", nil)
	default:
		return t.noCall(ctx, reply)
	}
	t.empty = 0
	return t.calls(ctx, reply.Calls)
}

// calls does each call in a step of its own.
func (t *task) calls(ctx context.Context, calls []model.Call) (bool, error) {
	for i, c := range calls {
		if t.step == 0 {
			if err := t.openStep(); err != nil {
				return false, err
			}
		}
		done, err := t.call(ctx, c, i > 0)
		if done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// noCall judges a reply that is only text: an answer, or a call that was cut
// off, forgotten or written as a block of code.
func (t *task) noCall(ctx context.Context, reply model.Reply) (bool, error) {
	language, code, block := model.CodeBlock(reply.Text)
	switch {
	case reply.Cut || reply.Stop == model.Length:
		return false, t.correct("cut.md", nil)
	case block && t.res.Calls == 0:
		return t.calls(ctx, []model.Call{{Name: "run_code", Args: map[string]any{"language": language, "code": code}}})
	case strings.TrimSpace(reply.Text) == "":
		return false, t.correct("nothing.md", map[string]any{"Said": false})
	case announces(reply.Text) && !t.nudged:
		t.nudged = true
		return false, t.correct("nothing.md", map[string]any{"Said": true})
	}
	return true, t.finish(reply.Text)
}

// fakes are how a model begins the result of a tool that it makes up.
var fakes = [...]string{"<tool_response", "<|tool_response", "<tool_result", "<function_results", "[TOOL_RESULTS]", "\nResult of run_", "\nTool result:"}

// withoutFakes cuts a text where the model begins to play the tools.
func withoutFakes(text string) (honest string, faked bool) {
	cut := len(text)
	for _, f := range fakes {
		if i := strings.Index("\n"+text, f); i >= 0 {
			cut = min(cut, max(0, i-1))
		}
	}
	return text[:cut], cut < len(text)
}

// announcements are how a reply ends that promises a call and makes none.
var announcements = [...]string{"let me", "i will", "i'll", "i am going to", "i'm going to", "now i need to", "next i", "next, i"}

func announces(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	last := text[max(0, strings.LastIndexAny(strings.TrimRight(text, ".:!…"), ".!?\n")):]
	return slices.ContainsFunc(announcements[:], func(a string) bool { return strings.Contains(last, a) })
}

// finish ends the task with the model's answer.
func (t *task) finish(answer string) error {
	t.res.Reason, t.res.Answer = Finished, strings.TrimSpace(harmless(answer))
	return t.closeStep(true, t.res.Answer)
}

// correct tells the model that its turn led nowhere.
func (t *task) correct(prompt string, data any) error {
	t.empty++
	if t.empty >= maxEmpty {
		t.stuck = "the model made no call that can be run, three times in a row"
	}
	text := t.l.prompt(prompt, data)
	t.l.talk.add(model.Message{Role: model.User, Text: text})
	return t.closeCorrected(text)
}

// closeCorrected closes a step whose call did not work, and shows what the
// model was told.
func (t *task) closeCorrected(text string) error {
	if err := t.l.log(event.Note{Step: t.step, Level: "info", Text: "told the model: " + text}); err != nil {
		return err
	}
	return t.closeStep(false, "")
}

func (t *task) openStep() error {
	t.step = t.l.NextStep()
	return t.l.log(event.StepStart{Step: t.step})
}

func (t *task) closeStep(ok bool, answer string) error {
	if t.step == 0 {
		return nil
	}
	n := t.step
	t.step = 0
	return t.l.log(event.StepEnd{Step: n, OK: ok, Answer: answer})
}

// spent says which part of the budget is used up.
func (t *task) spent() string {
	b := t.l.Budget
	switch {
	case t.res.Turns >= b.Steps:
		return fmt.Sprintf("the budget of %d steps is used up", b.Steps)
	case t.l.Now().Sub(t.began) >= b.Time:
		return t.timeSpent()
	case t.res.Tokens >= b.Tokens:
		return fmt.Sprintf("the budget of %d tokens is used up", b.Tokens)
	}
	return ""
}

func (t *task) timeSpent() string { return fmt.Sprintf("the time of %s is used up", t.l.Budget.Time) }

// stop ends the task without an answer, with a summary that hides nothing.
func (t *task) stop(reason Reason, why string) (Result, error) {
	t.res.Reason = reason
	t.res.Answer = strings.TrimSpace(t.l.prompt("stopped.md", map[string]any{
		"Reason": why, "Worked": t.res.Worked, "Calls": t.res.Calls,
		"Changed": some(t.changed, 8), "Failure": t.failure,
	}))
	t.l.talk.add(model.Message{Role: model.Assistant, Text: t.res.Answer})
	if t.step == 0 {
		if err := t.openStep(); err != nil {
			return t.result(), err
		}
	}
	say := event.Reasoning{Step: t.step, Text: t.res.Answer}
	if err := t.l.log(say); err != nil {
		return t.result(), err
	}
	return t.result(), t.closeStep(false, t.res.Answer)
}

func (t *task) result() Result {
	t.res.Took = t.l.Now().Sub(t.began)
	return t.res
}

// some lists at most n names.
func some(names []string, n int) string {
	if len(names) > n {
		return strings.Join(names[:n], ", ") + fmt.Sprintf(" and %d more", len(names)-n)
	}
	return strings.Join(names, ", ")
}

// keyOf makes equal calls equal.
func keyOf(name string, args map[string]string) string {
	b, err := json.Marshal(args) // keys are sorted
	if err != nil {
		return name
	}
	return name + string(b)
}
