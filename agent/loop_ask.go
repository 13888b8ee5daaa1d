package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/model"
	"kintsugi/sandbox/inert"
)

// How often a request is made again, by what went wrong.
const (
	busyTries     = 4
	diedTries     = 2
	goneTries     = 6 // a server that was there and is being started again
	overflowTries = 3
)

// gonePause is the longest pause between two tries of a server that is gone.
const gonePause = 8 * time.Second

// ask makes one request, and makes it again where that can help.
func (t *task) ask(ctx context.Context) (model.Reply, error) {
	for tries := 1; ; tries++ {
		reply, err := t.askOnce(ctx, tries)
		t.res.Tokens += reply.Usage.Prompt + reply.Usage.Output
		var e *model.Error
		if err == nil || !errors.As(err, &e) {
			return reply, err
		}
		switch {
		case e.Kind == model.Busy && tries < busyTries:
			t.l.Sleep(ctx, time.Second<<tries)
		case e.Kind == model.Died && tries < diedTries:
			t.l.Sleep(ctx, time.Second)
		case e.Kind == model.Absent && t.heard && tries < goneTries:
			t.l.Sleep(ctx, min(time.Second<<tries, gonePause))
		case e.Kind == model.Overflow && tries < overflowTries:
			t.l.talk.squeeze++
		default:
			return reply, err
		}
		if err := t.l.log(event.Note{Step: t.step, Level: "warn", Text: e.Text + "; asking again"}); err != nil {
			return reply, err
		}
	}
}

func (t *task) askOnce(ctx context.Context, tries int) (model.Reply, error) {
	l := t.l
	answer := min(model.DefaultMaxTokens, l.window/3)
	messages := l.talk.fit(l.window-answer, l.Tools)
	v := &voice{task: t, last: l.Now()}
	if tries == 1 {
		t.res.Turns++
	}
	reply, err := l.Model.Chat(ctx, model.Request{
		Model: l.Name, Messages: messages, Tools: l.Tools, Think: l.Think, Window: l.window, MaxTokens: answer,
	}, v.hear)
	v.finish(reply)
	if err != nil {
		return reply, errors.Join(err, v.err)
	}
	l.talk.learn(reply.Usage.Prompt, messages, l.Tools)
	return reply, errors.Join(v.err, l.model(event.Model{
		State: "idle", Speed: reply.Usage.Speed(), Load: reply.Usage.Load, Context: reply.Usage.Prompt + reply.Usage.Output,
	}))
}

// sayEvery is how often what the model says becomes an event.
const sayEvery = 60 * time.Millisecond

// voice turns the chunks of a reply into events: gathered, made harmless, and
// without the calls that leak into the text.
type voice struct {
	task     *task
	state    string
	last     time.Time
	pending  strings.Builder
	thinking bool
	text     strings.Builder // all text, to tell speech from calls
	spoken   int
	filter   *inert.Filter
	err      error
}

func (v *voice) hear(c model.Chunk) {
	switch c.Kind {
	case model.Loading:
		v.enter("loading")
	case model.Thinking:
		v.task.heard = true
		v.enter("thinking")
		v.say(c.Text, true)
	case model.Text:
		v.task.heard = true
		v.enter("thinking")
		v.text.WriteString(c.Text)
		v.speak()
	}
}

// enter logs a change of the model's state.
func (v *voice) enter(state string) {
	if v.state != state && v.err == nil {
		v.state = state
		v.err = v.task.l.model(event.Model{State: state})
	}
}

// speak says the part of the text that is surely no call.
func (v *voice) speak() {
	text := v.text.String()
	if n := model.Spoken(text); n > v.spoken {
		v.say(text[v.spoken:n], false)
		v.spoken = n
	}
}

func (v *voice) say(text string, thinking bool) {
	if thinking != v.thinking {
		v.flush()
		v.thinking = thinking
	}
	v.pending.WriteString(text)
	if v.task.l.Now().Sub(v.last) >= sayEvery || v.pending.Len() > event.FlushSize {
		v.flush()
	}
}

func (v *voice) flush() {
	if v.pending.Len() == 0 || v.err != nil {
		return
	}
	if v.filter == nil {
		v.filter = inert.New()
	}
	text := v.filter.Write([]byte(v.pending.String()))
	v.pending.Reset()
	v.last = v.task.l.Now()
	v.err = v.task.l.log(event.Reasoning{Step: v.task.step, Text: text, Thinking: v.thinking})
}

// finish says what was held back and turned out to be no call.
func (v *voice) finish(reply model.Reply) {
	if rest := v.text.String()[v.spoken:]; rest != "" && len(reply.Calls) == 0 && !reply.Cut {
		v.say(rest, false)
	}
	v.flush()
}
