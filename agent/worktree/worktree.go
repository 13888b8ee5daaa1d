// Package worktree is a session's copy of the project as the engine's boxes
// and the model's file tools see it: one line of checkpoints in a workspace
// store. Forks of a line never see each other's changes.
//
// It never touches the project itself; that is for the workspace's Apply.
package worktree

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

// maxChanged is how many changed paths a checkpoint names.
const maxChanged = 100

// maxRead bounds what a file tool reads, in bytes.
const maxRead = 4 << 20

// Line is where a tree's checkpoints go: the store itself, or a fork of it.
type Line interface {
	Begin() (*workspace.Draft, error)
	Head() string
}

// Tree is one line of work. It is an agent.Workspace and a tool.Files.
type Tree struct {
	store   *workspace.Store
	line    Line
	project agent.Project
}

// New makes the tree of the store's own line.
func New(store *workspace.Store, project agent.Project) *Tree {
	return &Tree{store, store, project}
}

// Fork makes a tree of its own from the current checkpoint on.
func (t *Tree) Fork() (*Tree, error) {
	f, err := t.store.Fork(t.line.Head())
	if err != nil {
		return nil, err
	}
	return &Tree{t.store, f, t.project}, nil
}

// Leave goes on in a line of its own from the checkpoint id; what the present
// line has stays in the store.
func (t *Tree) Leave(id string) error {
	f, err := t.store.Fork(id)
	if err == nil {
		t.line = f
	}
	return err
}

// Rewind makes the checkpoint id the current one of the store's own line.
func (t *Tree) Rewind(id string) error {
	if err := t.store.Rewind(id); err != nil {
		return err
	}
	t.line = t.store
	return nil
}

// Head is the current checkpoint.
func (t *Tree) Head() string { return t.line.Head() }

// Saved names the current checkpoint and its parent.
func (t *Tree) Saved() (id, parent string) {
	id = t.line.Head()
	for _, c := range t.store.Checkpoints() {
		if c.ID == id {
			return id, c.Parent
		}
	}
	return id, ""
}

// Begin implements agent.Workspace.
func (t *Tree) Begin() (agent.Draft, error) {
	d, err := t.line.Begin()
	if err != nil {
		return nil, err
	}
	return draft{t, d}, nil
}

type draft struct {
	t *Tree
	d *workspace.Draft
}

// Spec implements agent.Draft.
func (d draft) Spec() sandbox.Workspace {
	return sandbox.Workspace{
		Path: d.t.project.Path, Source: d.t.project.Source, Lower: d.d.Lower, Upper: d.d.Upper, Work: d.d.Work,
	}
}

// Commit implements agent.Draft.
func (d draft) Commit() (agent.Saved, error) {
	c, err := d.t.store.Commit(d.d)
	if err != nil || c.ID == d.d.Parent {
		return agent.Saved{}, err
	}
	saved := agent.Saved{ID: c.ID, Parent: c.Parent}
	step, err := d.t.store.CompareStep(c.ID)
	if err != nil {
		return saved, err
	}
	defer step.Close()
	for change, err := range step.Changes() {
		if err != nil {
			return saved, err
		}
		if saved.Total++; saved.Total > maxChanged {
			continue
		}
		saved.Changed = append(saved.Changed, change.Path)
		if made := change.Kind == workspace.Added; change.New.Kind == beneath.File && (made || change.Kind == workspace.Modified) {
			saved.Files = append(saved.Files, agent.SavedFile{Path: change.Path, Size: change.New.Size, Changed: !made})
		}
	}
	return saved, nil
}

// Renew implements agent.Draft.
func (d draft) Renew() (bool, error) { return d.t.store.Renew(d.d) }

// Discard implements agent.Draft.
func (d draft) Discard() error { return d.t.store.Discard(d.d) }

// Read implements tool.Files.
func (t *Tree) Read(path string) ([]byte, error) {
	v, err := t.store.View(t.line.Head())
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
func (t *Tree) Write(path string, data []byte) (err error) {
	d, err := t.line.Begin()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.store.Discard(d))
		}
	}()
	e, err := t.store.Edit(d)
	if err != nil {
		return err
	}
	err = e.Write(clean(path), bytes.NewReader(data), 0o644)
	e.Close()
	if err != nil {
		return err
	}
	_, err = t.store.Commit(d)
	return err
}

// List implements tool.Files.
func (t *Tree) List(path string) ([]tool.Entry, error) {
	v, err := t.store.View(t.line.Head())
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

var (
	_ agent.Workspace = (*Tree)(nil)
	_ tool.Files      = (*Tree)(nil)
)
