package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/model"
	"kintsugi/agent/tool"
)

// Doer runs a call until it works or nothing more can be done; *Engine is one.
type Doer interface {
	Do(ctx context.Context, c Call) (Outcome, error)
}

// Budget bounds one task. A zero field takes the default.
type Budget struct {
	Steps  int           // turns of the model; default 24
	Time   time.Duration // default 20 minutes
	Tokens int           // read and written together; default 400,000
	// Window is the model's context in tokens; default: chosen by Memory.
	Window int
	// Memory in bytes, to choose the window by; default: this machine's, or
	// 8 GiB when that is unknown.
	Memory int64
}

func (b Budget) withDefaults() Budget {
	b.Steps = orElse(b.Steps, 24)
	b.Time = orElse(b.Time, 20*time.Minute)
	b.Tokens = orElse(b.Tokens, 400_000)
	b.Memory = orElse(orElse(b.Memory, model.MachineMemory()), 8<<30)
	return b
}

func orElse[T comparable](v, fallback T) T {
	var zero T
	if v == zero {
		return fallback
	}
	return v
}

// errTimeSpent is why a task's context ends when its time is used up.
var errTimeSpent = errors.New("the time of the task is used up")

// Loop lets a model solve tasks with tools. It keeps the conversation from one
// task to the next. Its methods are for one goroutine.
type Loop struct {
	Engine Doer
	// Model serves the model called Name; nil means that none is set up.
	Model model.Provider
	Name  string
	Log   event.Appender
	Desk  tool.Desk
	// Tools are what the model may call; nil means tool.All().
	Tools  []model.Tool
	Budget Budget
	Think  model.Think
	// Facts are a few lines about what the sandbox has; Discover, when set,
	// finds them out before the first task.
	Facts    string
	Discover func(ctx context.Context) (string, error)
	// Request, when set, installs what the model asks for in a few words, as
	// far as the policy lets it, and tells how it went; *Engine has one.
	Request func(ctx context.Context, step int, words string) (string, error)
	// Saved, when set, names the current checkpoint and its parent, so that
	// files that tools write are checkpoints in the log too.
	Saved func() (id, parent string)
	// NextStep numbers steps over the whole session; nil counts from 1.
	NextStep func() int
	// Now and Sleep are the clock; nil means the real one.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration)

	talk   talk
	window int
	steps  int
}

// Reason says how a task ended.
type Reason string

// The reasons.
const (
	Finished  Reason = "finished"  // the model gave its answer
	SpentOut  Reason = "budget"    // steps, time or tokens are used up
	Stuck     Reason = "stuck"     // the model went round in circles
	NoModel   Reason = "no model"  // none is set up, or none answers
	ModelFail Reason = "model"     // the model's server failed
	Cancelled Reason = "cancelled" // the user stopped it
	Broken    Reason = "broken"    // Kintsugi itself failed
)

// Result is how a task ended. Everything in it is in the log too.
type Result struct {
	Reason Reason
	Answer string // the model's, or the honest summary of why there is none
	Turns  int    // requests to the model
	Calls  int    // calls that ran
	Worked int
	Tokens int
	// NeedsConsent says that the last call that failed wanted a package that
	// only the user may allow, and nobody was there to be asked.
	NeedsConsent bool

	Took time.Duration
}

// OK says whether the task came to its end.
func (r Result) OK() bool { return r.Reason == Finished }

// Task works on what the user asked for until there is an answer, or the
// budget is spent. The error is a *model.Error when no model could be asked,
// ctx's when it was cancelled, else Kintsugi's own failure.
func (l *Loop) Task(ctx context.Context, text string) (Result, error) {
	l.defaults()
	if err := l.log(event.Task{Text: text}); err != nil {
		return Result{Reason: Broken}, err
	}
	return l.work(ctx, text, func() { l.talk.task(l.systemPrompt(), text) })
}

// Continue goes on with the task that a restored session was cut off in, from
// its last complete step.
func (l *Loop) Continue(ctx context.Context, text string) (Result, error) {
	l.defaults()
	return l.work(ctx, text, func() { l.talk.again(l.systemPrompt(), text) })
}

// work takes turns until the task is over; begin prepares the conversation.
func (l *Loop) work(ctx context.Context, text string, begin func()) (Result, error) {
	t := &task{l: l, text: text, began: l.Now(), ran: map[string]*past{}, fails: map[string]int{}}
	ctx, cancel := context.WithTimeoutCause(ctx, l.Budget.Time, errTimeSpent)
	defer cancel()
	if err := l.prepare(ctx); err != nil {
		return t.fail(err)
	}
	begin()
	for {
		if why := t.spent(); why != "" {
			return t.stop(SpentOut, why)
		}
		done, err := t.turn(ctx)
		switch {
		case err != nil && errors.Is(context.Cause(ctx), errTimeSpent):
			return t.stop(SpentOut, t.timeSpent())
		case err != nil:
			return t.fail(err)
		case done:
			return t.result(), nil
		case t.stuck != "":
			return t.stop(Stuck, t.stuck)
		}
	}
}

// Forget ends the conversation: the next task begins a new one.
func (l *Loop) Forget() { l.talk = talk{} }

func (l *Loop) defaults() {
	l.Budget = l.Budget.withDefaults()
	if l.Tools == nil {
		l.Tools = slices.DeleteFunc(tool.All(), func(t model.Tool) bool { return t.Name == tool.Install && l.Request == nil })
	}
	if l.Now == nil {
		l.Now = time.Now
	}
	if l.Sleep == nil {
		l.Sleep = sleep
	}
	if l.NextStep == nil {
		l.NextStep = func() int { l.steps++; return l.steps }
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// prepare asks what the model can do and settles the window once and for all:
// another one would make the server load the model again.
func (l *Loop) prepare(ctx context.Context) error {
	if l.Model == nil {
		return &model.Error{Kind: model.Absent, Text: "no model is set up", Command: "ollama serve"}
	}
	if l.window > 0 {
		return nil
	}
	caps, err := l.Model.Capabilities(ctx, l.Name)
	if err != nil {
		return err
	}
	l.window = orElse(l.Budget.Window, caps.Window(l.Budget.Memory))
	if err := l.model(event.Model{State: "idle"}); err != nil || l.Discover == nil || l.Facts != "" {
		return err
	}
	l.Facts, err = l.Discover(ctx)
	return err
}

// log appends to the session's log; that failing ends the task.
func (l *Loop) log(bodies ...event.Body) error {
	for _, b := range bodies {
		if _, err := l.Log.Append(b); err != nil {
			return err
		}
	}
	return nil
}

// model logs how the model fares.
func (l *Loop) model(m event.Model) error {
	m.Name, m.Provider, m.Window = l.Name, l.Model.Name(), l.window
	return l.log(m)
}

// missing logs once, with the next command, that no model can be asked.
func (l *Loop) missing(e *model.Error) error {
	state, level := "error", "error"
	if e.Kind == model.Absent || e.Kind == model.NoModel {
		state, level = "absent", "warn"
	}
	m := event.Model{Name: l.Name, State: state, Detail: e.Text, Window: l.window}
	if l.Model != nil {
		m.Provider = l.Model.Name()
	}
	return l.log(m, event.Note{Level: level, Text: e.Text, Command: e.Command})
}

// fail ends a task for a reason that is not the model's work.
func (t *task) fail(err error) (Result, error) {
	r := t.result()
	var e *model.Error
	switch {
	case errors.As(err, &e):
		r.Reason = ModelFail
		if e.Kind == model.Absent || e.Kind == model.NoModel {
			r.Reason = NoModel
		}
		err = errors.Join(err, t.closeStep(false, ""), t.l.missing(e))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		r.Reason = Cancelled
		err = errors.Join(err, t.closeStep(false, ""))
	default:
		r.Reason = Broken
		err = errors.Join(err, t.closeStep(false, ""))
	}
	r.Answer = err.Error()
	return r, err
}
