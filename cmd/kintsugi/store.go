package main

import (
	"kintsugi/agent"
	"kintsugi/agent/heal"
	"kintsugi/agent/worktree"
	"kintsugi/sandbox/workspace"
)

// store is the session's copy of the project: its checkpoints, and the line of
// them that the session works on.
type store struct {
	*workspace.Store
	tree *worktree.Tree
}

func openStore(dir string, p agent.Project) (*store, error) {
	s, err := workspace.Open(dir, p.Source, workspace.Options{Outputs: heal.Outputs()})
	if err != nil {
		return nil, err
	}
	return &store{s, worktree.New(s, p)}, nil
}

// Close waits for what is still being removed.
func (s *store) Close() { _ = s.Store.Close() }
