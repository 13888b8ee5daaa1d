package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"kintsugi/sandbox/workspace/beneath"
)

// Draft is the workspace of one attempt: an overlay's upper and work directory
// on top of a checkpoint. Give Upper, Work and Lower to the box. It ends with
// Commit or Discard.
type Draft struct {
	ID     string
	Parent string // checkpoint below; Root for the project
	// Upper receives what the box changes; Work is the overlay's scratch
	// directory on the same file system.
	Upper, Work string
	// Lower are the layers of the parent, newest first; the project lies below.
	Lower []string

	began int64 // start in the clock of the store's file system, nanoseconds
	line  *Fork // the line of work it came from; nil for the store's own
}

// Begin opens a draft on the current checkpoint.
func (s *Store) Begin() (*Draft, error) { return s.begin(s.Head(), nil) }

// begin opens a draft on the checkpoint id.
func (s *Store) begin(id string, line *Fork) (*Draft, error) {
	if s.lock == nil {
		return nil, errShared
	}
	if err := s.shorten(id); err != nil {
		return nil, err
	}
	uppers, err := s.uppers(id)
	if err != nil {
		return nil, err
	}
	d := &Draft{Parent: id, line: line}
	for _, u := range uppers {
		d.Lower = append(d.Lower, u.upper)
	}
	if err := s.place(d); err != nil {
		return nil, fmt.Errorf("begin a draft: %w", err)
	}
	return d, nil
}

// place makes the directories of a draft. The upper one looks like the project
// directory, whose place in the box it takes.
func (s *Store) place(d *Draft) error {
	s.mu.Lock()
	d.ID = s.nextID("d")
	s.mu.Unlock()
	home := filepath.Join(s.dir, "drafts", d.ID)
	d.Upper, d.Work = filepath.Join(home, "upper"), filepath.Join(home, "work")
	for _, p := range []string{home, d.Upper, d.Work} {
		if err := os.Mkdir(p, 0o700); err != nil {
			return err
		}
	}
	if err := likeProject(d.Upper, s.project); err != nil {
		return err
	}
	return d.stamp()
}

// stamp notes that the draft begins now, as its file system tells the time.
func (d *Draft) stamp() error {
	home := filepath.Dir(d.Upper)
	if err := os.Chmod(home, 0o700); err != nil {
		return err
	}
	top, err := beneath.Open(home)
	if err != nil {
		return err
	}
	defer top.Close()
	st, err := top.Self()
	d.began = st.Ctime
	return err
}

// Renew says whether a draft that nothing ran in is what Begin would make now,
// and lets it begin now. One that is not can only be discarded.
func (s *Store) Renew(d *Draft) (bool, error) {
	head := s.Head()
	if d.line != nil {
		head = d.line.Head()
	}
	if head != d.Parent {
		return false, nil
	}
	uppers, err := s.uppers(head)
	if err != nil {
		return false, err
	}
	same := func(dir string, u layerDir) bool { return dir == u.upper }
	if !slices.EqualFunc(d.Lower, uppers, same) {
		return false, nil // the layers were merged since
	}
	return true, d.stamp()
}

// likeProject gives the directory upper the mode of the project directory. It
// stays ours: to a box, what is ours and what is the project's owner's both
// belong to its user.
func likeProject(upper, project string) error {
	p, err := beneath.Open(project)
	if err != nil {
		return err
	}
	defer p.Close()
	st, err := p.Self()
	if err != nil {
		return err
	}
	home, err := beneath.Open(filepath.Dir(upper))
	if err != nil {
		return err
	}
	defer home.Close()
	return home.Chmod(filepath.Base(upper), st.Mode&0o777)
}

// Commit makes a checkpoint of a successful attempt. When nothing was changed
// the parent is returned and no checkpoint is made. The draft's line moves to
// the new checkpoint, unless it moved elsewhere since the draft began: then the
// checkpoint stands beside it.
func (s *Store) Commit(d *Draft) (Checkpoint, error) {
	empty, err := isEmpty(d.Upper)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("commit: %w", err)
	}
	if empty {
		return s.unchanged(d)
	}
	if err := s.recordBase(d); err != nil {
		return Checkpoint{}, fmt.Errorf("commit: %w", err)
	}
	if err := s.trash.throw(d.Work); err != nil {
		return Checkpoint{}, fmt.Errorf("commit: %w", err)
	}
	if err := s.writeOut(d.Upper); err != nil {
		return Checkpoint{}, fmt.Errorf("commit: %w", err)
	}
	c, err := s.adopt(d)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("commit: %w", err)
	}
	return c, nil
}

func (s *Store) unchanged(d *Draft) (Checkpoint, error) {
	if err := s.Discard(d); err != nil {
		return Checkpoint{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.meta.find(d.Parent); c != nil {
		return *c, nil
	}
	return Checkpoint{ID: Root}, nil
}

// adopt moves the draft among the layers and writes it down.
func (s *Store) adopt(d *Draft) (Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Checkpoint{ID: s.nextID("c"), Parent: d.Parent, Time: s.opts.Now()}
	if err := os.Rename(filepath.Dir(d.Upper), filepath.Join(s.dir, "layers", c.ID)); err != nil {
		return Checkpoint{}, err
	}
	was := s.meta.Head
	s.meta.Checkpoints = append(s.meta.Checkpoints, c)
	if d.line == nil && was == d.Parent {
		s.meta.Head = c.ID
	}
	if err := s.meta.save(s.dir); err != nil {
		s.meta.Checkpoints = s.meta.Checkpoints[:len(s.meta.Checkpoints)-1]
		s.meta.Head = was
		return Checkpoint{}, err
	}
	if d.line != nil && d.line.head == d.Parent {
		d.line.head = c.ID
	}
	return c, nil
}

// Discard throws the draft of a failed attempt away. It returns at once; the
// deletion goes on in the background.
func (s *Store) Discard(d *Draft) error {
	return s.trash.throw(filepath.Dir(d.Upper))
}

func isEmpty(dir string) (bool, error) {
	d, err := beneath.OpenOwn(dir)
	if err != nil {
		return false, err
	}
	defer d.Close()
	if _, err = d.Names(1); errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// Fork is a line of work of its own, from one checkpoint on. Lines never see
// each other's changes; their checkpoints are all in the Store.
type Fork struct {
	s    *Store
	head string // guarded by s.mu
}

// Fork starts a line of work from a checkpoint, or from Root.
func (s *Store) Fork(id string) (*Fork, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != Root && s.meta.find(id) == nil {
		return nil, fmt.Errorf("no checkpoint %q in this session", id)
	}
	return &Fork{s: s, head: id}, nil
}

// Begin opens a draft on the line's current checkpoint.
func (f *Fork) Begin() (*Draft, error) { return f.s.begin(f.Head(), f) }

// Head is the line's current checkpoint. To go on from it, Rewind the store.
func (f *Fork) Head() string {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return f.head
}
