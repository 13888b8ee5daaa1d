package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"kintsugi/agent"
	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/agent/lesson"
)

// userLessons are the user's own lessons.
func userLessons(p places) fs.FS { return os.DirFS(filepath.Join(p.config, "lessons")) }

// play plays a lesson in the session. Its boxes and installations are real;
// packages come from the wheels that the lesson ships, so no network is used,
// and nothing is remembered, so that it breaks and is mended every time.
func (s *session) play(ctx context.Context, name string) error {
	p, err := findPlaces()
	if err != nil {
		return err
	}
	l, err := lesson.Load(name, userLessons(p))
	if err != nil {
		return err
	}
	engine, err := s.lessonEngine(p, l)
	if err != nil {
		return err
	}
	defer engine.Close()
	if _, err := s.log.Append(l.Model()); err != nil {
		return err
	}
	_, err = l.Play(ctx, lesson.Player{
		Engine: engine, Log: s.log, Files: s.store.tree, Sleep: sleepOrDone, NextStep: s.nextStep,
	})
	return err
}

func (s *session) lessonEngine(p places, l *lesson.Lesson) (*agent.Engine, error) {
	wheels := filepath.Join(s.dir, "wheels")
	if err := l.Wheelhouse(wheels); err != nil {
		return nil, err
	}
	config := s.engine.Config
	config.Memory = nil
	config.Rules = func() (*heal.Rules, error) { return heal.Load(append(userManifests(p), l.Rules())...) }
	config.Installer = &install.Installer{
		Runtime: config.Runtime, Store: install.Store{Dir: filepath.Join(s.dir, "layers")}, FindLinks: wheels, Now: config.Now,
	}
	return agent.NewEngine(config), nil
}

func sleepOrDone(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
