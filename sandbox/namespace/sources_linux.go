package namespace

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// sources are trees that were opened for a box because only the caller can
// reach them or because their owner must be mapped. Only a privileged caller
// has any: the boxes of an ordinary user open everything themselves.
type sources struct {
	slot *slot
	fds  []int
}

// open opens what a view needs and notes the handles in its parts.
func (s *sources) open(parts []part) error {
	for i := range parts {
		p := &parts[i]
		if p.source != "" && p.closed {
			if err := s.bind(p); err != nil {
				return err
			}
		}
		for n := range p.lower {
			if err := s.layer(&p.lower[n]); err != nil {
				return err
			}
		}
		if p.upper != "" {
			if err := s.upper(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sources) bind(p *part) error {
	fd, err := s.tree(p.source, unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	if p.owned {
		if err := s.mapOwner(fd, p.source); err != nil && p.writable {
			return err
		}
	}
	p.handle = len(s.fds)
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, p.attr()); err != nil {
		return fmt.Errorf("showing %s: %w", p.source, err)
	}
	return nil
}

// layer opens a layer of an overlay. Where its owner cannot be mapped it is
// shown as nobody's, which still can be read if everybody may.
func (s *sources) layer(t *tree) error {
	if !t.owned {
		return nil
	}
	fd, err := s.tree(t.path, 0)
	if err != nil {
		return err
	}
	t.handle = len(s.fds)
	_ = s.mapOwner(fd, t.path)
	return nil
}

// upper opens what contains an overlay's writable directory and its scratch
// directory, since both must be seen through the same mount.
func (s *sources) upper(p *part) error {
	upper, work := filepath.Clean(p.upper), filepath.Clean(p.work)
	parent := commonParent(upper, work)
	fd, err := s.tree(parent, 0)
	if err != nil {
		return err
	}
	if err := s.mapOwner(fd, parent); err != nil {
		return err
	}
	p.parent = len(s.fds)
	p.upper, p.work = strings.TrimPrefix(upper[len(parent):], "/"), strings.TrimPrefix(work[len(parent):], "/")
	return nil
}

func commonParent(a, b string) string {
	for a != filepath.Dir(a) && a != b && !strings.HasPrefix(b, a+"/") {
		a = filepath.Dir(a)
	}
	return a
}

// tree opens a copy of the mounts at path.
func (s *sources) tree(path string, flags uint) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|flags)
	if err != nil {
		return -1, fmt.Errorf("opening %s: %w", path, err)
	}
	s.fds = append(s.fds, fd)
	return fd, nil
}

// mapOwner shows a tree as if it belonged to the box's user.
func (s *sources) mapOwner(fd int, path string) error {
	users, err := s.slot.lend(path)
	if err != nil {
		return err
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(users)}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, attr)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("the file system of %s cannot lend its files to a box; put it on ext4, xfs, btrfs or tmpfs, or run as an ordinary user", path)
	}
	if err != nil {
		return fmt.Errorf("lending %s to the box: %w", path, err)
	}
	return nil
}

func (s *sources) close() {
	for _, fd := range s.fds {
		unix.Close(fd)
	}
	s.fds = nil
}
