package main

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"

	"kintsugi/agent"
	"kintsugi/agent/tool"
	"kintsugi/sandbox"
	"kintsugi/sandbox/workspace"
	"kintsugi/sandbox/workspace/beneath"
)

// maxChanged is how many changed paths a checkpoint event names.
const maxChanged = 100

// store gives the engine and the model's file tools the session's copy of the
// project.
type store struct {
	*workspace.Store
	project agent.Project
}

func openStore(dir string, p agent.Project) (*store, error) {
	s, err := workspace.Open(dir, p.Source, workspace.Options{})
	if err != nil {
		return nil, err
	}
	return &store{s, p}, nil
}

// Close waits for what is still being removed.
func (s *store) Close() { _ = s.Store.Close() }

// saved names the current checkpoint and its parent.
func (s *store) saved() (id, parent string) {
	id = s.Head()
	for _, c := range s.Checkpoints() {
		if c.ID == id {
			return id, c.Parent
		}
	}
	return id, ""
}

// Begin implements agent.Workspace.
func (s *store) Begin() (agent.Draft, error) {
	d, err := s.Store.Begin()
	if err != nil {
		return nil, err
	}
	return draft{s, d}, nil
}

type draft struct {
	s *store
	d *workspace.Draft
}

// Spec implements agent.Draft.
func (d draft) Spec() sandbox.Workspace {
	return sandbox.Workspace{
		Path: d.s.project.Path, Source: d.s.project.Source, Lower: d.d.Lower, Upper: d.d.Upper, Work: d.d.Work,
	}
}

// Commit implements agent.Draft.
func (d draft) Commit() (agent.Saved, error) {
	c, err := d.s.Commit(d.d)
	if err != nil || c.ID == d.d.Parent {
		return agent.Saved{}, err
	}
	saved := agent.Saved{ID: c.ID, Parent: c.Parent}
	step, err := d.s.CompareStep(c.ID)
	if err != nil {
		return saved, err
	}
	defer step.Close()
	for change, err := range step.Changes() {
		if err != nil {
			return saved, err
		}
		if saved.Total++; saved.Total <= maxChanged {
			saved.Changed = append(saved.Changed, change.Path)
		}
	}
	return saved, nil
}

// Discard implements agent.Draft.
func (d draft) Discard() error { return d.s.Discard(d.d) }

// files are the session's files for the model's tools.
type files struct{ s *store }

// maxRead bounds what a file tool reads.
const maxRead = 4 << 20

// Read implements tool.Files.
func (f files) Read(path string) ([]byte, error) {
	v, err := f.s.View(f.s.Head())
	if err != nil {
		return nil, err
	}
	defer v.Close()
	file, _, err := v.Open(clean(path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxRead))
}

// Write implements tool.Files: each write is a checkpoint of its own.
func (f files) Write(path string, data []byte) (err error) {
	d, err := f.s.Store.Begin()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.s.Discard(d))
		}
	}()
	e, err := f.s.Edit(d)
	if err != nil {
		return err
	}
	err = e.Write(clean(path), bytes.NewReader(data), 0o644)
	e.Close()
	if err != nil {
		return err
	}
	_, err = f.s.Commit(d)
	return err
}

// List implements tool.Files.
func (f files) List(path string) ([]tool.Entry, error) {
	v, err := f.s.View(f.s.Head())
	if err != nil {
		return nil, err
	}
	defer v.Close()
	var out []tool.Entry
	for n, err := range v.List(clean(path)) {
		if err != nil {
			return out, err
		}
		out = append(out, tool.Entry{Name: n.Name, Dir: n.Kind == beneath.Directory, Size: n.Size})
	}
	return out, nil
}

func clean(path string) string { return filepath.ToSlash(filepath.Clean(path)) }
