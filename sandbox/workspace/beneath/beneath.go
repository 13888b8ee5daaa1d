// Package beneath gives handles on directories whose operations never leave
// them: no "..", no symbolic link is followed on the way, however a hostile
// program arranged the tree and however deep it is. Paths longer than the
// system's limit work.
//
// On Linux every step is an openat2 with RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS (component-wise O_NOFOLLOW where the kernel has none);
// elsewhere O_NOFOLLOW or os.Root. The package never decides what may be
// written where.
package beneath

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is what a name in a directory stands for.
type Kind uint8

// The kinds. Whiteout is a character device 0:0, the mark of an overlay for a
// deleted name; Other is a fifo, a socket or a device.
const (
	Absent Kind = iota
	File
	Directory
	Symlink
	Other
	Whiteout
)

// String names the kind in words for users.
func (k Kind) String() string {
	switch k {
	case File:
		return "file"
	case Directory:
		return "directory"
	case Symlink:
		return "symbolic link"
	case Other:
		return "special file"
	case Whiteout:
		return "whiteout"
	}
	return "nothing"
}

// Stat describes a name without following it.
type Stat struct {
	Kind  Kind
	Mode  uint32 // permission bits and setuid (04000), setgid (02000), sticky (01000)
	Size  int64
	Mtime int64 // nanoseconds since 1970
	Ctime int64 // likewise; 0 where the system has none
	Ino   uint64
	Dev   uint64
	Nlink uint64
	UID   uint32
	GID   uint32
}

// How says what Rename does with a name that exists at the target.
type How uint8

// The ways of renaming. Exchange swaps the two names at once.
const (
	Replace How = iota
	NoReplace
	Exchange
)

// Errors that callers tell apart. ErrLeaves is a path that would leave the
// directory or passes through something that is not a directory.
var (
	ErrLeaves      = errors.New("path leaves the directory or passes through a link")
	ErrNotRegular  = errors.New("not a regular file")
	ErrUnsupported = errors.New("not supported by this file system")
)

// CheckRel refuses a path that is not relative and clean: empty, absolute, or
// with "", "." or ".." as a part. "." alone is the directory itself.
func CheckRel(rel string) error {
	if rel == "." {
		return nil
	}
	for part := range strings.SplitSeq(rel, "/") {
		if err := checkName(part); err != nil {
			return fmt.Errorf("%q: %w", rel, err)
		}
	}
	return nil
}

// checkName refuses what is not a single name.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return ErrLeaves
	}
	return checkPlatformName(name)
}

// Split cuts a relative path into its directory ("." when it has none) and its
// last name.
func Split(rel string) (dir, name string) {
	i := strings.LastIndexByte(rel, '/')
	if i < 0 {
		return ".", rel
	}
	return rel[:i], rel[i+1:]
}

// Join is the path of name in the directory rel.
func Join(rel, name string) string {
	if rel == "." || rel == "" {
		return name
	}
	return rel + "/" + name
}
