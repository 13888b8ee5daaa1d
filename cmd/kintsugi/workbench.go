package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/agent/lesson"
	"kintsugi/agent/model"
	"kintsugi/agent/tool"
	"kintsugi/ui"
	"kintsugi/ui/feed"
	"kintsugi/ui/plain"
)

// workbenchOptions are the flags of kintsugi without a command.
type workbenchOptions struct {
	box     boxOptions
	theme   string
	model   string
	lesson  string
	resume  string
	reduced bool
	plain   bool
	present bool
}

func (o *workbenchOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	o.box.flags(cmd)
	f.StringVar(&o.theme, "theme", "", "colours (default: chosen for the terminal)")
	f.StringVar(&o.model, "model", "", "the local model that reasons (default: the first one the server has)")
	f.StringVar(&o.lesson, "lesson", "", "play a lesson: "+strings.Join(lesson.List(), ", "))
	f.BoolVar(&o.plain, "plain", false, "plain lines instead of a screen, for screen readers and logs")
	f.BoolVar(&o.present, "present", false, "presenter mode: captions, a spotlight, the keys that are pressed")
	f.BoolVar(&o.reduced, "reduced-motion", false, "nothing on the screen moves by itself")
}

// modelWait is how long the search for a model's server may take; it is on
// this machine or a network away, and nothing on the screen waits for it.
const modelWait = 3 * time.Second

// workbench opens the three panes and works until the user quits.
func workbench(ctx context.Context, o workbenchOptions) error {
	o.plain = o.plain || os.Getenv("ACCESSIBLE") != "" || os.Getenv("TERM") == "dumb"
	if err := o.checkTerminal(); err != nil {
		return err
	}
	if _, err := o.box.limits(); err != nil {
		return err
	}
	c := newController(ctx)
	defer c.quit()
	f := feed.New(time.Now)
	defer f.Stop()
	c.queue(func(ctx context.Context) error { return c.begin(ctx, o) })
	err := c.run(o, f)
	c.quit()
	s := c.session()
	if s == nil {
		return c.failed
	}
	defer s.Close()
	<-c.done
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, c.failed, s.end(0, "closed"))
}

// run opens the session and shows it until the user quits. A new session is
// opened behind the first frame: whether boxes work here is found out by making
// one, and nobody should wait for that.
func (c *controller) run(o workbenchOptions, f *feed.Feed) error {
	if !o.plain && o.resume == "" {
		go c.open(o, f)
	} else if c.open(o, f); c.session() == nil {
		return nil
	}
	if o.plain {
		return plain.Run(c.ctx, plain.Options{Events: f.Out(), Intents: c, Input: os.Stdin, Output: os.Stdout})
	}
	return c.show(o, f)
}

// open opens the session and begins to work in it. When it cannot be opened
// the workbench closes.
func (c *controller) open(o workbenchOptions, f *feed.Feed) {
	defer close(c.opened)
	defer func() {
		if p := recover(); p != nil {
			c.failed = errors.New("internal error: " + firstLineOfPanic(p, debug.Stack()))
			c.quit()
		}
	}()
	s, err := openSession(c.ctx, sessionOptions{box: o.box, title: "workbench", lesson: o.lesson, ask: c.ask, resume: o.resume})
	if err != nil && c.ctx.Err() == nil { // else the user has left meanwhile
		c.failed = err
	}
	if err != nil {
		c.quit()
		return
	}
	s.log.watch(f.Push)
	c.loop = s.loop()
	if s.state != nil {
		c.loop.Restore(s.state)
	}
	c.loop.Engine = stepper{c, s.engine}
	c.s = s
	go c.work()
}

// session is the session once it is open, nil when it cannot be.
func (c *controller) session() *session {
	<-c.opened
	return c.s
}

// checkTerminal refuses what cannot show the workbench.
func (o workbenchOptions) checkTerminal() error {
	switch {
	case o.plain:
		return nil
	case !isTerminal(os.Stdout) || !isTerminal(os.Stdin):
		return errors.New("the workbench needs a terminal; to run one program use: kintsugi run FILE")
	}
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil && (w < ui.MinWidth || h < ui.MinHeight) {
		return fmt.Errorf("the workbench needs a terminal of %dx%d or more, this one is %dx%d; enlarge it, or use: kintsugi run FILE", ui.MinWidth, ui.MinHeight, w, h)
	}
	return nil
}

// show runs the screen. A fault of it leaves its stack beside the log.
func (c *controller) show(o workbenchOptions, f *feed.Feed) error {
	p, err := findPlaces()
	if err != nil {
		return err
	}
	screen, err := o.screen(p)
	if err != nil {
		return err
	}
	screen.ThemeChanged = watchThemes(c.ctx, themesDir(p))
	screen.Events, screen.Intents = f.Out(), c
	screen.File, screen.SaveDir, screen.Changes = c.artefact, saveDir(p), c.changes
	if o.resume != "" {
		if s := c.session(); s != nil {
			screen.History, screen.Title = s.past, "Kintsugi "+s.id
		}
	}
	err = ui.Run(c.ctx, screen)
	var crash *ui.Crash
	if s := c.session(); s != nil && errors.As(err, &crash) {
		crash.Log = event.Path(s.dir)
		_ = os.WriteFile(filepath.Join(s.dir, "crash.txt"), crash.Stack, 0o600)
	}
	return err
}

// loop is the agent of a session; its model is looked for later.
func (s *session) loop() *agent.Loop {
	return &agent.Loop{
		Engine: s.engine, Log: s.log, Desk: tool.Desk{Files: s.store.tree, Root: s.project.Path},
		NextStep: s.nextStep, Discover: s.discover, Saved: s.store.tree.Saved, Request: s.engine.Request,
	}
}

// discover tells the model, in a few lines, what boxes have.
func (s *session) discover(ctx context.Context) (string, error) {
	facts, err := s.engine.Discover(ctx)
	return facts.String(), err
}

// begin looks for a model, and plays a lesson when one is asked for or there
// is no model.
func (c *controller) begin(ctx context.Context, o workbenchOptions) error {
	if err := c.s.useEnvironment(ctx, c.s.environmentOr(o.box.environment)); err != nil {
		return err
	}
	found := c.findModel(ctx, o.model)
	name := o.lesson
	if name == "" && found != nil && o.resume == "" {
		name = lesson.List()[0]
	}
	if name == "" {
		return nil
	}
	if err := c.s.relabel(name); err != nil {
		return err
	}
	err := c.s.play(ctx, name)
	var missing *model.Error
	if err == nil && errors.As(found, &missing) && o.lesson == "" {
		_, err = c.s.log.Append(event.Note{Level: "info", Text: missing.Text, Command: missing.Command})
	}
	return err
}

// findModel looks for the wanted model, and gives it to the loop.
func (c *controller) findModel(ctx context.Context, want string) error {
	p, name, err := c.modelFinder().model(ctx, want)
	if err != nil {
		return err
	}
	c.loop.Model, c.loop.Name = p, name
	_, err = c.s.log.Append(event.Model{Name: name, Provider: p.Name(), State: "idle"})
	return err
}

// modelFinder asks on the screen what it needs to ask.
func (c *controller) modelFinder() modelFinder {
	return modelFinder{
		ask: func(ctx context.Context, question string) (yes, answered bool) {
			q := event.Ask{ID: "start-model-server", Question: question, Choices: []string{"no", "yes"}}
			if _, err := c.s.log.Append(q); err != nil {
				return false, false
			}
			choice, answered := c.ask(ctx, q)
			_, err := c.s.log.Append(event.Answer{ID: q.ID, Choice: choice})
			return choice == "yes", answered && err == nil
		},
		tell: func(text string) { _, _ = c.s.log.Append(event.Note{Level: "info", Text: oneLine(text)}) },
	}
}

// completeFile lists the files that begin with what was typed.
func completeFile(prefix string) []string {
	found, _ := filepath.Glob(prefix + "*")
	for i, path := range found {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			found[i] = path + string(filepath.Separator)
		}
	}
	return found
}

// firstLineOfPanic names a fault and where it happened.
func firstLineOfPanic(p any, stack []byte) string {
	at := ""
	for _, line := range strings.Split(string(stack), "\n") {
		if strings.HasPrefix(line, "kintsugi/") {
			at, _, _ = strings.Cut(line, "(")
			break
		}
	}
	return fmt.Sprintf("%v in %s", p, at)
}
