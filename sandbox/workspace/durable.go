package workspace

import (
	"errors"
	"io"

	"kintsugi/sandbox/workspace/beneath"
)

// oneByOne is up to how many files and directories are written out singly. For
// more, the whole file system is written out once.
const oneByOne = 64

var errMany = errors.New("more than are written out singly")

// writeOut has what a box wrote on the disk, before a checkpoint speaks of it:
// the box's own end does not see to that.
func (s *Store) writeOut(upper string) error {
	if s.opts.noSync {
		return nil
	}
	d, err := beneath.OpenOwn(upper)
	if err != nil {
		return err
	}
	defer d.Close()
	left := oneByOne
	if writeOutDir(d, &left) == nil {
		return nil
	}
	return d.Sync() // also when a file cannot be opened
}

func writeOutDir(d *beneath.Dir, left *int) error {
	names, err := d.Names(*left)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if *left -= len(names); *left <= 0 {
		return errMany
	}
	for _, name := range names {
		if err := writeOutOne(d, name, left); err != nil {
			return err
		}
	}
	return d.SyncSelf()
}

func writeOutOne(d *beneath.Dir, name string, left *int) error {
	st, err := d.Lstat(name)
	if err != nil {
		return err
	}
	switch st.Kind {
	case beneath.File:
		f, err := d.OpenFile(name)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	case beneath.Directory:
		sub, err := d.Sub(name)
		if err != nil {
			return err
		}
		return errors.Join(writeOutDir(sub, left), sub.Close())
	}
	return nil // the directory holds the rest
}
