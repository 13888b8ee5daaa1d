package namespace

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/namespace/launch"
)

// landlockABI asks the kernel for its Landlock version; 0 means none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// oldestLandlock is the first version that can allow moving files between
// directories; with an older one builds fail, so it is not used.
const oldestLandlock = 2

// Rights that change files, by the version that brought them.
const (
	changeFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	changeTree = changeFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// rights are the handled rights of a Landlock version: everything that
// changes a file, and signals and abstract sockets that lead out of the box.
func rights(abi int) (files, scopes uint64) {
	files = changeTree
	if abi >= 3 {
		files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return files, scopes
}

// landlock is the second wall around files: should a mount ever be writable by
// mistake, only these places may change.
func (p *plan) landlock(parts []part) {
	if p.host.abi < oldestLandlock {
		return
	}
	p.Note("putting the file wall up")
	files, scopes := rights(p.host.abi)
	attr := binary.LittleEndian.AppendUint64(nil, files) // struct landlock_ruleset_attr
	size := 8
	if scopes != 0 {
		attr = binary.LittleEndian.AppendUint64(attr, 0)
		attr = binary.LittleEndian.AppendUint64(attr, scopes)
		size = 24
	}
	ruleset := p.Call(unix.SYS_LANDLOCK_CREATE_RULESET, attr, size, 0)
	for _, dir := range p.writable(parts) {
		p.allow(ruleset, dir, files)
	}
	ioctl := files & unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	truncate := files & unix.LANDLOCK_ACCESS_FS_TRUNCATE
	p.allow(ruleset, "/dev", changeFile|truncate|ioctl)
	p.allow(ruleset, "/proc", changeFile|truncate)
	for _, part := range parts {
		if part.file && part.writable && !part.device {
			p.allow(ruleset, part.target, changeFile|truncate)
		}
	}
	p.Call(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0)
}

// writable are the directories of the box that its program may change.
func (p *plan) writable(parts []part) []string {
	out := []string{"/tmp", "/var/tmp", "/run", "/dev/shm", p.host.home}
	for _, part := range parts {
		if part.writable && !part.file && !slices.Contains(out, part.target) {
			out = append(out, part.target)
		}
	}
	return out
}

// allow adds a rule for everything below path. A place that a layer has put
// out of reach gets none.
func (p *plan) allow(ruleset launch.Cell, path string, rights uint64) {
	rule := p.Bytes(binary.LittleEndian.AppendUint64(nil, rights)) // struct landlock_path_beneath_attr
	p.Zero(4)
	absent := p.Label()
	p.OnFail(absent)
	p.CallInto(launch.Cell(rule+8), unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_PATH|unix.O_CLOEXEC)
	p.OnFail(launch.Failed)
	p.Call(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, rule, 0)
	p.Bind(absent)
}
