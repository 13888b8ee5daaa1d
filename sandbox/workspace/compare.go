package workspace

import (
	"iter"
	"strings"

	"kintsugi/sandbox/workspace/beneath"
)

// Comparison is a checkpoint held against the project, or against its parent.
type Comparison struct {
	s     stack
	top   int // how many trees of s are the newer side
	base  bases
	guard checker
	// repositories remembers which directories git takes for repositories.
	repositories map[string]bool
	outputs      map[string][]string // Options.Outputs
	built        map[string]bool     // which folders are some
}

// Compare holds the checkpoint id against the project as it is now.
func (s *Store) Compare(id string) (*Comparison, error) {
	uppers, err := s.uppers(id)
	if err != nil {
		return nil, err
	}
	b, err := s.bases(uppers)
	if err != nil {
		return nil, err
	}
	st, err := openStack(uppers, s.project)
	if err != nil {
		return nil, err
	}
	return &Comparison{s: st, top: len(uppers), base: b, guard: checker{guard: s.guard()}, outputs: s.opts.Outputs}, nil
}

// CompareStep holds the checkpoint id against its parent: what one step did.
// Conflicts are not looked for.
func (s *Store) CompareStep(id string) (*Comparison, error) {
	s.mu.Lock()
	c := s.meta.find(id)
	s.mu.Unlock()
	if c == nil {
		return s.Compare(id) // Root gives no changes, others the error
	}
	below, err := s.uppers(c.Parent)
	if err != nil {
		return nil, err
	}
	own := layerDir{id: id, upper: s.layerPath(id, "upper")}
	st, err := openStack(append([]layerDir{own}, below...), s.project)
	if err != nil {
		return nil, err
	}
	return &Comparison{s: st, top: 1, guard: checker{guard: s.guard()}, outputs: s.opts.Outputs}, nil
}

// Close releases the comparison.
func (c *Comparison) Close() { c.s.close() }

// Changes goes through all differences: a directory before what is new in it,
// after what is deleted in it, names sorted. What builds make is left out
// (Options.Outputs). An error ends it.
func (c *Comparison) Changes() iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for ch, err := range c.s.walk(c.top, false) {
			if err == nil && (c.base.untouched(ch) || c.output(ch.Path)) {
				continue
			}
			if err == nil {
				err = c.judge(&ch)
			}
			if !yield(ch, err) || err != nil {
				return
			}
		}
	}
}

func (c *Comparison) judge(ch *Change) (err error) {
	if ch.Kind == Skipped {
		return nil
	}
	c.guard.mark(ch)
	if ch.Held == "" && c.inRepository(ch.Path) {
		ch.Held = "git: configuration and hooks of a repository without a work tree"
	}
	if c.base != nil {
		ch.Conflict, err = c.base.conflict(c.s, *ch)
	}
	return err
}

// inRepository says whether path is the configuration or a hook of a directory
// that git takes for a repository of its own.
func (c *Comparison) inRepository(path string) bool {
	parts := strings.Split(fold(path), "/")
	for i, part := range parts {
		obeyed := part == "hooks" || i == len(parts)-1 && strings.HasPrefix(part, "config") || part == "info" || part == "modules"
		if obeyed && c.repository(prefix(path, i)) {
			return true
		}
	}
	return false
}

// prefix gives the first n components of path with their slashes.
func prefix(path string, n int) string {
	end := 0
	for range n {
		end += strings.IndexByte(path[end:], '/') + 1
	}
	return path[:end]
}

// repository looks at one directory, named with its final slash.
func (c *Comparison) repository(dir string) bool {
	is, known := c.repositories[dir]
	if known {
		return is
	}
	kind := func(name string) beneath.Kind {
		n, err := c.s.resolve(dir + name)
		if err != nil {
			return beneath.Absent
		}
		return n.Kind
	}
	is = kind("HEAD") != beneath.Absent && kind("objects") == beneath.Directory && kind("refs") == beneath.Directory
	if c.repositories == nil {
		c.repositories = map[string]bool{}
	}
	c.repositories[dir] = is
	return is
}

// Diff reads both sides of a change of this comparison.
func (c *Comparison) Diff(ch Change) (FileDiff, error) {
	if ch.Kind == Skipped || ch.Kind == Remoded || ch.Kind == Unchanged {
		return FileDiff{Change: ch}, nil
	}
	if ch.Kind == Retyped && (ch.Old.Kind == beneath.Other || ch.Old.Kind == beneath.Whiteout) {
		ch.Old = Entry{}
	}
	return c.s.text(ch)
}

// Changes is Compare for callers that want the list alone.
func (s *Store) Changes(id string) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		c, err := s.Compare(id)
		if err != nil {
			yield(Change{}, err)
			return
		}
		defer c.Close()
		c.Changes()(yield)
	}
}
