package lesson

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/agent/tool"
)

// WordPause is the pause after each word that is said: about the pace of a
// small model on a laptop.
const WordPause = 35 * time.Millisecond

// piece is how many words become one event.
const piece = 3

// Player is what a lesson is played with.
type Player struct {
	Engine agent.Doer
	Log    event.Appender
	// Files is the session's workspace; only lessons with files need it.
	Files tool.Files
	// Sleep pauses; nil means no pauses at all.
	Sleep func(ctx context.Context, d time.Duration)
	// NextStep numbers steps over the whole session; nil counts from 1.
	NextStep func() int
}

// play is a lesson in progress.
type play struct {
	Player
	lesson *Lesson
	step   int
}

// Play plays the lesson. It reports whether its programs worked; the error is
// Kintsugi's own failure, or ctx's.
func (l *Lesson) Play(ctx context.Context, p Player) (bool, error) {
	if p.Sleep == nil {
		p.Sleep = func(context.Context, time.Duration) {}
	}
	if p.NextStep == nil {
		n := 0
		p.NextStep = func() int { n++; return n }
	}
	run := &play{Player: p, lesson: l}
	if err := run.files(); err != nil {
		return false, err
	}
	if err := run.log(event.Task{Text: l.Task}); err != nil {
		return false, err
	}
	for _, s := range l.Steps {
		ok, err := run.do(ctx, s)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// Model is what the log says of the one who reasons in a lesson.
func (l *Lesson) Model() event.Model {
	return event.Model{Name: "lesson " + l.Name, Provider: "script", State: "idle", Detail: "what it says is written down; what it does is real"}
}

func (p *play) log(bodies ...event.Body) error {
	for _, b := range bodies {
		if _, err := p.Log.Append(b); err != nil {
			return err
		}
	}
	return nil
}

// files puts the lesson's files into the workspace.
func (p *play) files() error {
	for _, name := range p.lesson.Files {
		data, err := fs.ReadFile(p.lesson.dir, name)
		if err != nil {
			return fmt.Errorf("lesson %s: file %s: %w", p.lesson.Name, name, cause(err))
		}
		if p.Files == nil {
			return fmt.Errorf("lesson %s needs a workspace for its files", p.lesson.Name)
		}
		if err := p.Files.Write(path.Base(name), data); err != nil {
			return fmt.Errorf("lesson %s: %w", p.lesson.Name, err)
		}
	}
	return nil
}

// do plays one step.
func (p *play) do(ctx context.Context, s Step) (ok bool, err error) {
	p.step = p.NextStep()
	if err := p.log(event.StepStart{Step: p.step}); err != nil {
		return false, err
	}
	ok, err = p.act(ctx, s)
	answer := strings.TrimSpace(s.Answer)
	if err == nil && answer != "" && ok {
		err = p.speak(ctx, Say{Text: answer})
	}
	if err != nil || !ok {
		answer = ""
	}
	if end := p.log(event.StepEnd{Step: p.step, OK: ok && err == nil, Answer: answer}); err == nil {
		err = end
	}
	return ok, err
}

func (p *play) act(ctx context.Context, s Step) (bool, error) {
	if err := p.say(ctx, s.Say); err != nil || s.Call == nil {
		return err == nil, err
	}
	out, err := p.call(ctx, *s.Call)
	switch {
	case err != nil:
		return false, err
	case !out.OK:
		return false, p.say(ctx, s.Failed)
	case out.Attempts > 1 || len(s.Same) == 0:
		return true, p.say(ctx, s.Worked)
	}
	return true, p.say(ctx, s.Same)
}

func (p *play) call(ctx context.Context, c Call) (agent.Outcome, error) {
	code, err := p.lesson.code(c)
	if err != nil {
		return agent.Outcome{}, err
	}
	ext, _ := tool.Ext(c.Language)
	return p.Engine.Do(ctx, agent.Call{Step: p.step, Tool: c.Language, Origin: "lesson", Code: code, Ext: ext, Name: c.File})
}

func (p *play) say(ctx context.Context, says []Say) error {
	for _, s := range says {
		p.Sleep(ctx, time.Duration(s.Pause))
		if err := p.speak(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// speak says a text a few words at a time.
func (p *play) speak(ctx context.Context, s Say) error {
	words := strings.SplitAfter(strings.TrimSpace(s.Text)+"\n", " ")
	for len(words) > 0 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := min(piece, len(words))
		p.Sleep(ctx, time.Duration(n)*WordPause)
		if err := p.log(event.Reasoning{Step: p.step, Text: strings.Join(words[:n], ""), Thinking: s.Thinking}); err != nil {
			return err
		}
		words = words[n:]
	}
	return nil
}
