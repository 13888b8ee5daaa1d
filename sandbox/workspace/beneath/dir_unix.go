//go:build unix

package beneath

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is an open directory. Its methods take single names unless they say
// otherwise.
type Dir struct {
	file *os.File
	fd   int
	mine bool
	held bool // whether Lock succeeded
	// forced is a directory of ours that was made accessible; mode is what
	// Close gives back to it.
	forced bool
	mode   uint32
}

func checkPlatformName(string) error { return nil }

// Open opens a directory by a path that the caller trusts.
func Open(path string) (*Dir, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return newDir(fd, path, false), nil
}

// OpenOwn is Open for a tree that belongs to the caller alone: what its owner
// may not read is made readable for the moment of reading.
func OpenOwn(path string) (*Dir, error) {
	d, err := Open(path)
	if err != nil {
		return nil, err
	}
	d.mine = true
	return d, nil
}

func newDir(fd int, name string, mine bool) *Dir {
	return &Dir{file: os.NewFile(uintptr(fd), name), fd: fd, mine: mine}
}

// Close releases the handle and the lock. The lock is given up by name, since
// a child that is just being started has a copy of the handle for a moment.
func (d *Dir) Close() error {
	if d.held {
		d.held = false
		_ = unix.Flock(d.fd, unix.LOCK_UN)
	}
	if d.forced {
		d.forced = false
		_ = unix.Fchmod(d.fd, d.mode)
	}
	return d.file.Close()
}

// Sub opens the directory at the relative path rel, links not followed.
func (d *Dir) Sub(rel string) (*Dir, error) {
	if err := CheckRel(rel); err != nil {
		return nil, err
	}
	fd, err := d.descend(rel)
	if d.mine && errors.Is(err, unix.EACCES) {
		return d.force(rel)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: shown(rel), Err: leaving(err)}
	}
	sub := newDir(fd, rel, d.mine)
	if d.mine {
		return sub, sub.access()
	}
	return sub, nil
}

// maxStep keeps each openat2 below PATH_MAX.
const maxStep = 4000

const directory = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW

// descend opens rel in as few steps as PATH_MAX allows.
func (d *Dir) descend(rel string) (int, error) {
	at := d.fd
	for {
		step, rest := cutPath(rel)
		fd, err := openat(at, step, directory, 0)
		if at != d.fd {
			unix.Close(at)
		}
		if err != nil || rest == "" {
			return fd, err
		}
		at, rel = fd, rest
	}
}

// force opens rel one component at a time, each made accessible to its owner
// for as long as its handle is open.
func (d *Dir) force(rel string) (*Dir, error) {
	at := d
	for name := range strings.SplitSeq(rel, "/") {
		next, err := at.forceOne(name)
		if at != d {
			at.Close()
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: shown(rel), Err: leaving(err)}
		}
		at = next
	}
	return at, nil
}

func (d *Dir) forceOne(name string) (*Dir, error) {
	fd, err := openat(d.fd, name, directory, 0)
	if errors.Is(err, unix.EACCES) {
		return d.unlock(name)
	}
	if err != nil {
		return nil, err
	}
	sub := newDir(fd, name, true)
	return sub, sub.access()
}

// unlock opens a directory that its owner may not even read.
func (d *Dir) unlock(name string) (*Dir, error) {
	st, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := chmodat(d.fd, name, st.Mode|0o700); err != nil {
		return nil, err
	}
	fd, err := openat(d.fd, name, directory, 0)
	if err != nil {
		return nil, err
	}
	sub := newDir(fd, name, true)
	sub.forced, sub.mode = true, st.Mode
	return sub, nil
}

// access makes a directory of ours that can be listed also searchable.
func (d *Dir) access() error {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil || st.Mode&0o100 != 0 || os.Geteuid() == 0 {
		return err
	}
	mode := uint32(st.Mode) & 0o7777
	if err := unix.Fchmod(d.fd, mode|0o700); err != nil {
		return err
	}
	d.forced, d.mode = true, mode
	return nil
}

func cutPath(rel string) (step, rest string) {
	if len(rel) <= maxStep {
		return rel, ""
	}
	i := strings.LastIndexByte(rel[:maxStep], '/')
	if i < 0 {
		return rel, ""
	}
	return rel[:i], rel[i+1:]
}

// walk opens rel one component at a time. The last takes flags and perm.
func walk(at int, rel string, flags int, perm uint32) (int, error) {
	first := at
	for {
		name, rest, more := strings.Cut(rel, "/")
		use := flags
		if more {
			use = unix.O_RDONLY | unix.O_DIRECTORY
		}
		fd, err := retry(func() (int, error) {
			return unix.Openat(at, name, use|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		})
		if at != first {
			unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, rel = fd, rest
	}
}

// openUnreadable opens a file of ours that its owner may not read.
func (d *Dir) openUnreadable(name string, flags int) (int, error) {
	st, err := d.Lstat(name)
	if err != nil {
		return -1, err
	}
	if st.Kind != File {
		return -1, ErrNotRegular
	}
	if err := chmodat(d.fd, name, st.Mode|0o400); err != nil {
		return -1, err
	}
	defer func() { _ = chmodat(d.fd, name, st.Mode) }()
	return openat(d.fd, name, flags, 0)
}

// Lstat describes name. A name that is not there gives Absent and no error.
func (d *Dir) Lstat(name string) (Stat, error) {
	if err := checkName(name); err != nil {
		return Stat{}, fmt.Errorf("%q: %w", name, err)
	}
	var st unix.Stat_t
	err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENAMETOOLONG) {
		return Stat{}, nil
	}
	if err != nil {
		return Stat{}, &os.PathError{Op: "lstat", Path: shown(name), Err: err}
	}
	return fromUnix(&st), nil
}

// Self describes the directory.
func (d *Dir) Self() (Stat, error) { return FileStat(d.file) }

// FileStat describes an open file.
func FileStat(f *os.File) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Stat{}, err
	}
	return fromUnix(&st), nil
}

func fromUnix(st *unix.Stat_t) Stat {
	return Stat{
		Kind: kindOf(uint32(st.Mode), uint64(st.Rdev)),
		Mode: uint32(st.Mode) & 0o7777, Size: st.Size,
		Mtime: unix.TimespecToNsec(st.Mtim), Ctime: unix.TimespecToNsec(st.Ctim),
		Ino: uint64(st.Ino), Dev: uint64(st.Dev), Nlink: uint64(st.Nlink),
		UID: st.Uid, GID: st.Gid,
	}
}

func kindOf(mode uint32, rdev uint64) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Directory
	case unix.S_IFLNK:
		return Symlink
	case unix.S_IFCHR:
		if rdev == 0 {
			return Whiteout
		}
	}
	return Other
}

// Readlink reads the target of a symbolic link.
func (d *Dir) Readlink(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", fmt.Errorf("%q: %w", name, err)
	}
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(d.fd, name, buf)
		if err != nil {
			return "", &os.PathError{Op: "readlink", Path: shown(name), Err: err}
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// OpenFile opens a regular file for reading; anything else is ErrNotRegular.
// It never blocks on a fifo.
func (d *Dir) OpenFile(name string) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	fd, err := openat(d.fd, name, flags, 0)
	if d.mine && errors.Is(err, unix.EACCES) {
		fd, err = d.openUnreadable(name, flags)
	}
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: shown(name), Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, &os.PathError{Op: "open", Path: shown(name), Err: ErrNotRegular}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Create makes a new regular file for writing; an existing name is an error.
func (d *Dir) Create(name string, perm uint32) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	fd, err := openat(d.fd, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, perm)
	if err != nil {
		return nil, &os.PathError{Op: "create", Path: shown(name), Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Names reads the next names, about n, in no order; io.EOF after the last.
func (d *Dir) Names(n int) ([]string, error) {
	names, err := d.file.Readdirnames(n)
	if len(names) > 0 {
		return names, nil
	}
	if err == nil {
		err = io.EOF
	}
	return nil, err
}

// Mkdir makes a directory.
func (d *Dir) Mkdir(name string, perm uint32) error {
	return d.do("mkdir", name, func() error { return unix.Mkdirat(d.fd, name, perm) })
}

// Symlink makes a symbolic link; target is any text.
func (d *Dir) Symlink(target, name string) error {
	return d.do("symlink", name, func() error { return unix.Symlinkat(target, d.fd, name) })
}

// Remove removes anything but a directory.
func (d *Dir) Remove(name string) error {
	return d.do("remove", name, func() error { return unix.Unlinkat(d.fd, name, 0) })
}

// Rmdir removes an empty directory.
func (d *Dir) Rmdir(name string) error {
	return d.do("rmdir", name, func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) })
}

// Chmod sets permission and special bits; a symbolic link is an error.
func (d *Dir) Chmod(name string, mode uint32) error {
	return d.do("chmod", name, func() error { return chmodat(d.fd, name, mode) })
}

// Chtimes sets the modification time in nanoseconds; links are not followed.
func (d *Dir) Chtimes(name string, mtime int64) error {
	ts := []unix.Timespec{unix.NsecToTimespec(mtime), unix.NsecToTimespec(mtime)}
	return d.do("utimes", name, func() error {
		return unix.UtimesNanoAt(d.fd, name, ts, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// Lchown sets the owner; links are not followed.
func (d *Dir) Lchown(name string, uid, gid uint32) error {
	return d.do("chown", name, func() error {
		return unix.Fchownat(d.fd, name, int(uid), int(gid), unix.AT_SYMLINK_NOFOLLOW)
	})
}

// Link gives the file name another name in to; a link is linked itself.
func (d *Dir) Link(name string, to *Dir, newname string) error {
	if err := checkName(newname); err != nil {
		return err
	}
	return d.do("link", name, func() error { return unix.Linkat(d.fd, name, to.fd, newname, 0) })
}

// Rename moves name to newname in to. NoReplace fails with os.ErrExist when
// newname is there; a file system that cannot gives ErrUnsupported.
func (d *Dir) Rename(name string, to *Dir, newname string, how How) error {
	if err := checkName(newname); err != nil {
		return err
	}
	return d.do("rename", name, func() error { return renameat(d.fd, name, to.fd, newname, how) })
}

// Lock takes an exclusive lock that ends with the handle or the process.
// os.ErrExist says that somebody else holds it.
func (d *Dir) Lock() error {
	err := unix.Flock(d.fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return os.ErrExist
	}
	d.held = err == nil
	return err
}

func (d *Dir) do(op, name string, f func() error) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("%s %q: %w", op, name, err)
	}
	if err := f(); err != nil {
		return &os.PathError{Op: op, Path: shown(name), Err: err}
	}
	return nil
}

// leaving turns the ways in which the kernel says "not beneath" into one.
func leaving(err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.ENOTDIR) {
		return ErrLeaves
	}
	return err
}

// maxRetries bounds the attempts on a file that somebody holds a lease on.
const maxRetries = 50

func retry(f func() (int, error)) (int, error) {
	for n := 0; ; n++ {
		fd, err := f()
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) && n < maxRetries {
			continue
		}
		return fd, err
	}
}

// shown is a path for an error message: quoted where it is odd, cut where it
// is long.
func shown(path string) string {
	if len(path) > 200 {
		path = "…" + path[len(path)-200:]
	}
	for _, r := range path {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			return fmt.Sprintf("%q", path)
		}
	}
	return path
}

// SyncSelf makes the entries of the directory durable.
func (d *Dir) SyncSelf() error { return d.file.Sync() }
