package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"kintsugi/sandbox/workspace/beneath"
)

// maxLayers is the longest stack a box is given; a longer one is flattened.
// Forty paths fit the one page that mount(2) takes as options, and each layer
// costs every lookup in the box a little.
const maxLayers = 40

// Options adjust a Store. The zero value is right for everyday use.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// MaxLayers overrides how long a stack may get; 0 is 40.
	MaxLayers int
	// Guard is the list of files that trusted tools run by themselves; nil is
	// the built-in one.
	Guard *Guard
	// Outputs are folders that builds make ("target"), each with the files
	// beside which it is one ("Cargo.toml"). Boxes of the session share what is
	// in there; comparisons leave it out, and Apply takes it only where a
	// selection names it.
	Outputs map[string][]string
	// Remove is asked to remove a directory that RemoveTree could not, for
	// example because its files belong to ids that only a user namespace maps.
	Remove func(path string) error

	// For tests: onStep is called before every step of an Apply or of its
	// recovery, and an error stands for the failure of that step; noSwap plays
	// a file system that cannot exchange two names; noSync saves the time that
	// durability takes.
	onStep func(step string) error
	noSwap bool
	noSync bool
}

// Store holds the checkpoints of one session. It is safe for concurrent use.
type Store struct {
	dir     string
	project string
	opts    Options
	lock    *beneath.Dir // held while open; nil when shared
	trash   *trash

	mu   sync.Mutex
	meta meta
}

// layerDir is a layer with its place on disk.
type layerDir struct{ id, upper string }

// Open opens or makes the store in dir, a directory below the session's, for a
// project, an absolute path. Only one process can have it open; OpenShared
// reads beside it. What a killed process left is tidied up, and an interrupted
// Apply is finished or undone.
func Open(dir, project string, opts Options) (*Store, error) {
	if !filepath.IsAbs(project) {
		return nil, fmt.Errorf("project path %q is not absolute", project)
	}
	for _, sub := range []string{"layers", "drafts", "trash"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("make the workspace store: %w", err)
		}
	}
	lock, err := beneath.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := lock.Lock(); err != nil {
		lock.Close()
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("the workspace in %s is open in another process; end that session first", dir)
		}
		return nil, fmt.Errorf("lock the workspace store: %w", err)
	}
	s, err := load(dir, project, opts)
	if err != nil {
		lock.Close()
		return nil, err
	}
	s.lock = lock
	if err := s.tidy(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// OpenShared opens an existing store to read it and to Apply from it, beside
// the process that has it open. It can neither begin nor commit.
func OpenShared(dir, project string, opts Options) (*Store, error) {
	if _, err := os.Stat(filepath.Join(dir, "layers")); err != nil {
		return nil, fmt.Errorf("no workspace in %s: %w", dir, err)
	}
	return load(dir, project, opts)
}

func load(dir, project string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.MaxLayers == 0 {
		opts.MaxLayers = maxLayers
	}
	m, err := loadMeta(dir, project)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, project: project, opts: opts, meta: m}
	s.trash = newTrash(filepath.Join(dir, "trash"), opts.Remove)
	return s, nil
}

// tidy throws away what a killed process left and settles an interrupted Apply.
func (s *Store) tidy() error {
	if _, err := s.Recover(); err != nil {
		return err
	}
	s.trash.sweep()
	used := s.meta.used()
	for _, sub := range []string{"layers", "drafts"} {
		entries, err := os.ReadDir(filepath.Join(s.dir, sub))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if sub == "layers" && used[e.Name()] {
				continue
			}
			if err := s.trash.throw(filepath.Join(s.dir, sub, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close waits until thrown-away drafts are deleted and releases the store. The
// error is about what could not be deleted; the store is closed in any case.
func (s *Store) Close() error {
	err := s.trash.close()
	if s.lock != nil {
		s.lock.Close()
	}
	return err
}

// Head is the id of the current checkpoint; Root before the first.
func (s *Store) Head() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta.Head
}

// Checkpoints lists all checkpoints, oldest first.
func (s *Store) Checkpoints() []Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Checkpoint(nil), s.meta.Checkpoints...)
}

// Rewind makes a checkpoint, or Root, the current one. The others stay and can
// be returned to.
func (s *Store) Rewind(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return errShared
	}
	if id != Root && s.meta.find(id) == nil {
		return fmt.Errorf("no checkpoint %q in this session", id)
	}
	was := s.meta.Head
	s.meta.Head = id
	if err := s.meta.save(s.dir); err != nil {
		s.meta.Head = was
		return fmt.Errorf("rewind: %w", err)
	}
	return nil
}

var errShared = errors.New("the workspace is open for reading only; its session runs in another process")

// uppers are the layers of a checkpoint with their places, newest first.
func (s *Store) uppers(id string) ([]layerDir, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids, err := s.meta.layers(id)
	if err != nil {
		return nil, err
	}
	dirs := make([]layerDir, len(ids))
	for i, l := range ids {
		dirs[i] = layerDir{id: l, upper: s.layerPath(l, "upper")}
	}
	return dirs, nil
}

func (s *Store) layerPath(id, part string) string {
	return filepath.Join(s.dir, "layers", id, part)
}

// stack opens the checkpoint's merged view.
func (s *Store) stack(id string) (stack, error) {
	uppers, err := s.uppers(id)
	if err != nil {
		return nil, err
	}
	return openStack(uppers, s.project)
}

// sync makes what was written to the project durable.
func (s *Store) sync(project *beneath.Dir) error {
	if s.opts.noSync {
		return nil
	}
	return project.Sync()
}

func (s *Store) fault(step string) error {
	if s.opts.onStep == nil {
		return nil
	}
	return s.opts.onStep(step)
}

// nextID gives an unused id; the caller holds mu.
func (s *Store) nextID(prefix string) string {
	id := fmt.Sprintf("%s%d", prefix, s.meta.Next)
	s.meta.Next++
	return id
}
