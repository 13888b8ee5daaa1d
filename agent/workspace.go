package agent

import "kintsugi/sandbox"

// Workspace is the session's copy of the project.
type Workspace interface {
	// Begin opens a draft on the current checkpoint.
	Begin() (Draft, error)
}

// Draft is what one attempt may change.
type Draft interface {
	// Spec is how a box sees it.
	Spec() sandbox.Workspace
	// Renew says whether a draft that nothing ran in is what Begin would give
	// now; then it begins now.
	Renew() (bool, error)
	// Commit makes it the current checkpoint. Without changes there is none,
	// and id is empty.
	Commit() (Saved, error)
	// Discard drops it.
	Discard() error
}

// Saved describes a checkpoint.
type Saved struct {
	ID, Parent string
	Changed    []string // at most 100 paths
	Total      int
	// Files are the regular files among those that are new or changed.
	Files []SavedFile
}

// SavedFile is a file of a checkpoint.
type SavedFile struct {
	Path    string
	Size    int64
	Changed bool // it was there before
}
