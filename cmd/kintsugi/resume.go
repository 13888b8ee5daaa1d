package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/sandbox"
	"kintsugi/sandbox/workspace"
)

func newResume() *cobra.Command {
	var o workbenchOptions
	cmd := &cobra.Command{
		Use:   "resume [SESSION]",
		Short: "Go on with a session in the workbench, from its last complete step",
		Long: `Opens a session again, whether it was closed or cut off: its conversation, its
copy of the project, what was installed. Nothing that was acknowledged is lost;
what a cut-off step had changed is dropped. Without a name it takes the newest
session. To go on without the workbench: kintsugi ask --resume SESSION.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := findPlaces()
			if err != nil {
				return err
			}
			sum, err := findSession(p, args)
			if err != nil {
				return err
			}
			o.resume = sum.ID
			return workbench(cmd.Context(), o)
		},
	}
	o.flags(cmd)
	return cmd
}

// reopen opens the folder, log and workspace of a session that was.
func (s *session) reopen(o sessionOptions, rt sandbox.Runtime, p places, limits sandbox.Limits) error {
	sum, err := findSession(p, []string{o.resume})
	if err != nil {
		return err
	}
	s.id, s.dir = sum.ID, sum.Dir
	if s.project, err = formerProject(sum); err != nil {
		return err
	}
	log, err := event.Open(s.dir)
	if errors.Is(err, event.ErrLive) {
		return fmt.Errorf("session %s is open in another Kintsugi; close it there first", s.id)
	}
	if err != nil {
		return err
	}
	s.log = &watchedLog{Log: log}
	if s.past, err = event.ReadFile(event.Path(s.dir)); err != nil {
		return err
	}
	if s.store, err = openStore(filepath.Join(s.dir, "work"), s.project); err != nil {
		return err
	}
	s.engine = agent.NewEngine(s.config(o, rt, p, limits))
	if o.title == "" || o.title == "workbench" {
		o.title = sum.Title
	}
	if err := s.announce(rt, o); err != nil {
		return err
	}
	return s.restore()
}

// formerProject is the project as the session saw it.
func formerProject(sum event.Summary) (agent.Project, error) {
	p := agent.Project{Path: sum.Project, Source: sum.Project, Dir: sum.Project}
	if loose := filepath.Join(sum.Dir, "loose"); exists(loose) {
		p.Source = loose
	} else if !exists(p.Source) {
		return p, fmt.Errorf("the project of session %s is gone: %s", sum.ID, p.Source)
	}
	if cwd, err := os.Getwd(); err == nil {
		if real, err := filepath.EvalSymlinks(cwd); err == nil && strings.HasPrefix(real+"/", p.Path+"/") {
			p.Dir = real
		}
	}
	return p, nil
}

// restore brings workspace and environment to what the log acknowledged.
func (s *session) restore() error {
	events, err := event.ReadFile(event.Path(s.dir))
	if err != nil {
		return err
	}
	s.state = event.Fold(events)
	for _, st := range s.state.Steps {
		s.steps = max(s.steps, st.N)
	}
	s.engine.Restore(s.state)
	if exists(filepath.Join(s.dir, "input")) {
		s.showInput()
	}
	return s.rewindUnacknowledged()
}

// environmentOr is the environment to use: the one named now, or the one that
// the session had.
func (s *session) environmentOr(name string) string {
	if name != "" || s.state == nil {
		return name
	}
	for _, st := range s.state.Steps {
		for _, c := range st.Calls {
			if c.Tool == "environment" && c.Origin == "user" {
				name, _, _ = strings.Cut(c.Text, ":")
			}
		}
	}
	return name
}

// rewindUnacknowledged drops checkpoints of a cut-off step that were made and
// never told: the process died between the two.
func (s *session) rewindUnacknowledged() error {
	n := len(s.state.Steps)
	if n == 0 || !s.state.Steps[n-1].Cut {
		return nil
	}
	head := s.store.Head()
	at := head
	for at != workspace.Root && !agent.Acknowledged(s.state, at) {
		at = s.parent(at)
	}
	if at == head {
		return nil
	}
	if err := s.store.Rewind(at); err != nil {
		return fmt.Errorf("session %s: %w", s.id, err)
	}
	_, err := s.log.Append(event.Note{Level: "info", Text: "the step that was cut off had changed files; they are as before it"})
	return err
}

func (s *session) parent(id string) string {
	for _, c := range s.store.Checkpoints() {
		if c.ID == id {
			return c.Parent
		}
	}
	return workspace.Root
}

// doTask does a task; in a resumed session it goes on with the one that was cut
// off when no other is named.
func doTask(ctx context.Context, l *agent.Loop, state *event.State, text string) (agent.Result, error) {
	if state == nil {
		return l.Task(ctx, text)
	}
	l.Restore(state)
	if text != "" {
		return l.Task(ctx, text)
	}
	task := agent.Unfinished(state)
	if task == "" {
		return agent.Result{Reason: agent.Broken}, errors.New("the last task of this session is finished; say what to do next")
	}
	return l.Continue(ctx, task)
}
