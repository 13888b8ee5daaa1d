package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/cmd/kintsugi/early"
	"kintsugi/sandbox"
	"kintsugi/sandbox/gateway"
	"kintsugi/sandbox/inert"
)

// sessionOptions say what a session is for.
type sessionOptions struct {
	box    boxOptions
	file   string // the program that will run, when there is one
	title  string
	lesson string
	ask    agent.Asker
	noLock bool
	single bool   // one call and no more
	resume string // the session to go on with; empty: a new one
}

// session is a live session and what works in it.
type session struct {
	id, dir string
	log     *watchedLog
	engine  *agent.Engine
	project agent.Project
	file    string
	about   event.Session
	steps   int
	store   *store

	reclaimed <-chan struct{} // closed when what killed runs left is gone
	// past and state are what a resumed session was.
	past  []event.Event
	state *event.State
}

// watchedLog appends to the log and shows every event to a watcher.
type watchedLog struct {
	*event.Log
	mu   sync.Mutex
	seen []event.Event
	show func(event.Event)
}

// Append implements event.Appender. The watcher sees events in their order.
func (l *watchedLog) Append(b event.Body) (event.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.Log.Append(b)
	if err != nil {
		return e, err
	}
	if l.show != nil {
		l.show(e)
	} else {
		l.seen = append(l.seen, e)
	}
	return e, nil
}

// watch shows the events so far, and from now on every event, to f.
func (l *watchedLog) watch(f func(event.Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.seen {
		f(e)
	}
	l.seen, l.show = nil, f
}

// openSession makes a session: its folder, log, workspace and engine.
func openSession(ctx context.Context, o sessionOptions) (*session, error) {
	limits, err := o.box.limits()
	if err != nil {
		return nil, err
	}
	if _, err := o.box.ahead(); err != nil {
		return nil, err
	}
	if o.box.image, err = imageOf(o.box, o.resume); err != nil {
		return nil, err
	}
	runtime, err := chooseRuntime(ctx, o.box)
	if err != nil {
		return nil, err
	}
	if p, ok := runtime.(sandbox.Preparer); ok && early.Begun() == nil {
		p.Prepare(nil)
	}
	places, err := findPlaces()
	if err != nil {
		return nil, err
	}
	if o.resume != "" {
		s := &session{}
		if err := s.reopen(o, runtime, places, limits); err != nil {
			s.Close()
			return nil, err
		}
		return s, nil
	}
	s, err := newSessionDir(places)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, o, runtime, places, limits); err != nil {
		s.Close()
		if s.steps == 0 {
			_ = os.RemoveAll(s.dir)
		}
		return nil, err
	}
	return s, nil
}

func newSessionDir(p places) (*session, error) {
	id, err := event.NewID(time.Now(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &session{id: id, dir: filepath.Join(p.sessions, id)}, nil
}

// prepare fills in a session whose folder does not exist yet.
func (s *session) prepare(ctx context.Context, o sessionOptions, rt sandbox.Runtime, p places, limits sandbox.Limits) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the session folder: %w", err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the current folder cannot be read: %w", err)
	}
	s.project, err = agent.FindProject(cwd, p.home, o.file, filepath.Join(s.dir, "loose"))
	if err != nil {
		return err
	}
	log, err := event.Create(s.dir, nil)
	if err != nil {
		return err
	}
	s.log, s.file = &watchedLog{Log: log}, o.file
	if s.store, err = openStore(filepath.Join(s.dir, "work"), s.project); err != nil {
		return err
	}
	s.engine = agent.NewEngine(s.config(o, rt, p, limits))
	s.reclaim(ctx, rt)
	return s.announce(rt, o)
}

func (s *session) config(o sessionOptions, rt sandbox.Runtime, p places, limits sandbox.Limits) agent.Config {
	side := filepath.Join(s.dir, "output")
	preflight, _ := o.box.ahead() // checked before
	return agent.Config{
		Runtime: rt, Rules: loadRules(p), Names: loadNames(p), Log: s.log, SideDir: side, Workspace: s.store.tree, Project: s.project,
		Env: sandbox.BaseEnv(os.Environ(), passedEnv(o.box.env)...), Limits: limits,
		Allowed: o.box.allow, OnlyKnown: o.box.onlyKnown, Ask: o.ask, Now: time.Now, IgnoreLock: o.noLock, Preflight: preflight, Lanes: lanesFor(limits, len(o.box.engines())), Ahead: !o.single,
		Memory: &agent.Memory{Dir: p.memory}, BestEffort: o.box.bestEffort,
		Installer: newInstaller(rt, p, o.box, s.audit),
	}
}

// newInstaller installs into the user's layers, through a gateway with the
// user's cache.
func newInstaller(rt sandbox.Runtime, p places, o boxOptions, audit func(gateway.Entry)) *install.Installer {
	return &install.Installer{
		Runtime: rt, Store: install.Store{Dir: p.layers}, Now: time.Now,
		Mirror: &install.Mirror{
			CacheDir: p.packages, Offline: o.offline, Environ: os.Environ(), OnRequest: audit,
			Cooldown: time.Duration(o.cooldown) * 24 * time.Hour, Exempt: o.exempt,
		},
	}
}

// audit tells what the gateway refused to a box that installs.
func (s *session) audit(e gateway.Entry) {
	if e.Refused == "" || e.Status == http.StatusNotFound {
		return
	}
	text := fmt.Sprintf("the gateway refused %s %s: %s", e.Ecosystem, e.Name, e.Refused)
	_, _ = s.log.Append(event.Note{Step: s.steps, Level: "warn", Text: inert.String(text)})
}

// loadNames loads the names once, when they are first needed.
func loadNames(p places) func() *heal.Rules {
	return sync.OnceValue(func() *heal.Rules { return heal.LoadNames(userManifests(p)...) })
}

// loadRules loads the rules once, when they are first needed.
func loadRules(p places) func() (*heal.Rules, error) {
	return sync.OnceValues(func() (*heal.Rules, error) { return heal.Load(userManifests(p)...) })
}

func (s *session) announce(rt sandbox.Runtime, o sessionOptions) error {
	s.about = event.Session{
		Version: event.Version, ID: s.id, Runtime: rt.Name(), Image: o.box.image, Project: s.project.Path, Title: o.title, Lesson: o.lesson,
		Resumed: o.resume != "",
	}
	_, err := s.log.Append(s.about)
	if err == nil && s.project.Note != "" {
		_, err = s.log.Append(event.Note{Level: "info", Text: s.project.Note})
	}
	return err
}

// relabel says that what follows is a lesson.
func (s *session) relabel(lesson string) error {
	s.about.Lesson, s.about.Title = lesson, "lesson "+lesson
	_, err := s.log.Append(s.about)
	return err
}

// passedEnv turns --env flags into variables: NAME takes the host's value.
func passedEnv(flags []string) []string {
	var out []string
	for _, kv := range flags {
		if strings.Contains(kv, "=") {
			out = append(out, kv)
		} else if v, ok := os.LookupEnv(kv); ok {
			out = append(out, kv+"="+v)
		}
	}
	return out
}

// inBox is the path by which the box knows the program file.
func (s *session) inBox(file string) string {
	if file == "" || s.project.Note == "" {
		return file
	}
	return filepath.Join(s.project.Path, filepath.Base(file))
}

// step runs one call as a step of its own.
func (s *session) step(ctx context.Context, c agent.Call) (agent.Outcome, error) {
	c.Step = s.nextStep()
	if _, err := s.log.Append(event.StepStart{Step: c.Step}); err != nil {
		return agent.Outcome{}, err
	}
	out, err := s.engine.Do(ctx, c)
	_, lerr := s.log.Append(event.StepEnd{Step: c.Step, OK: err == nil && out.OK})
	return out, errors.Join(err, lerr)
}

// nextStep numbers the steps of the session.
func (s *session) nextStep() int {
	s.steps++
	return s.steps
}

// end closes the log's story.
func (s *session) end(code int, reason string) error {
	_, err := s.log.Append(event.End{Exit: code, Reason: reason})
	s.keepLock()
	return err
}

// reclaim removes what killed runs left behind, while the session goes on.
func (s *session) reclaim(ctx context.Context, rt sandbox.Runtime) {
	done := make(chan struct{})
	s.reclaimed = done
	go func() {
		defer close(done)
		_, _ = rt.Reconcile(ctx) // what cannot be removed now is tried at the next start
	}()
}

// Close frees what the session holds; its log and checkpoints stay.
func (s *session) Close() {
	if s.reclaimed != nil {
		<-s.reclaimed
	}
	if s.engine != nil {
		if c, ok := s.engine.Runtime.(io.Closer); ok {
			_ = c.Close()
		}
		_ = s.engine.Close()
	}
	if s.engine != nil && s.engine.Installer.Mirror != nil {
		s.engine.Installer.Mirror.Close()
	}
	if s.store != nil {
		s.store.Close()
	}
	if s.log != nil {
		_ = s.log.Close()
	}
}

// places are the folders Kintsugi uses.
type places struct{ home, sessions, layers, packages, images, memory, config string }

func findPlaces() (places, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return places{}, errors.New("no home folder: set HOME to a folder you may write")
	}
	sessions, err := event.Root(os.Getenv)
	if err != nil {
		return places{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return places{}, fmt.Errorf("no cache folder: %w", err)
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return places{}, fmt.Errorf("no configuration folder: %w", err)
	}
	base := filepath.Join(cache, "kintsugi")
	return places{
		home: home, sessions: sessions, layers: filepath.Join(base, "layers"),
		packages: filepath.Join(base, "packages"), images: filepath.Join(base, "images"), memory: filepath.Join(base, "memory"), config: filepath.Join(config, "kintsugi"),
	}, nil
}
