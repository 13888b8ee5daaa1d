package namespace

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// firstTree is the number of the first directory that is opened under a
	// number of its own; the option strings of overlays name them.
	firstTree = 256
	// fdClock is the wall clock of a box that waits for its program.
	fdClock = firstTree - 1
	// attrSize is the size of struct mount_attr, in bytes.
	attrSize = 32
)

// root covers a directory of the box's own copy of the host's mounts with the
// directory that becomes the root, and makes what is the box's own in it. The
// directory lies in a tmpfs; the rest of that is the hidden space that overlays
// are made from: upper directories that vanish with the box, and trees that
// came open. The kernel makes overlays only of what is mounted in the box. The
// space lies outside of the new root and is lost with the old one.
func (p *plan) root(links []entry) {
	p.Note("making the root")
	p.Call(unix.SYS_UMASK, 0)
	p.mountTmpfs(p.host.scratch, 0o700)
	root := p.host.scratch + "/root"
	p.Call(unix.SYS_MKDIRAT, unix.AT_FDCWD, root, 0o755)
	p.Call(unix.SYS_MOUNT, root, p.host.stage, 0, unix.MS_BIND, 0)
	p.Call(unix.SYS_CHDIR, p.host.stage)
	p.Note("making directories")
	for _, d := range []struct {
		path string
		mode int
	}{
		{"/tmp", 0o1777}, {"/var", 0o755}, {"/var/tmp", 0o1777}, {"/" + emptyDir, 0o555}, {"/run", 0o755},
		{"/dev", 0o755}, {"/dev/shm", 0o1777}, {"/dev/pts", 0o755}, {"/proc", 0o555},
	} {
		p.mkdir(d.path, d.mode)
	}
	p.mkdirs(p.host.home)
	for _, l := range links {
		p.Call(unix.SYS_SYMLINKAT, l.link, unix.AT_FDCWD, l.path[1:])
	}
}

func (p *plan) mountTmpfs(target string, mode int) {
	p.Call(unix.SYS_MOUNT, "tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=%o%s", mode, p.sizes()))
}

// sizes are the limits of a tmpfs as mount options.
func (p *plan) sizes() string {
	options := ""
	if p.limits.Disk > 0 {
		options += fmt.Sprintf(",size=%d", p.limits.Disk)
	}
	if p.limits.Inodes > 0 {
		options += fmt.Sprintf(",nr_inodes=%d", p.limits.Inodes)
	}
	return options
}

// mkdir makes one directory unless it was made before.
func (p *plan) mkdir(path string, mode int) {
	if !p.made[path] {
		p.made[path] = true
		p.Try(unix.SYS_MKDIRAT, unix.AT_FDCWD, path[1:], mode)
	}
}

// mkdirs makes a directory and the ones above it.
func (p *plan) mkdirs(path string) {
	if path == "/" || p.made[path] {
		return
	}
	p.mkdirs(filepath.Dir(path))
	p.mkdir(path, 0o755)
}

// attachAll mounts parts below the new root.
func (p *plan) attachAll(parts []part) {
	p.scratch(parts)
	for i := range parts {
		p.attach(&parts[i])
	}
}

// scratch puts into the hidden space what the parts need there.
func (p *plan) scratch(parts []part) {
	for i := range parts {
		part := &parts[i]
		if part.scratchNumber > 0 {
			for _, kind := range "uw" {
				p.Call(unix.SYS_MKDIRAT, unix.AT_FDCWD, p.hiddenPath(kind, part.scratchNumber), 0o755)
			}
		}
		for _, t := range part.lower {
			p.hide(t.handle)
			p.veil(&t)
		}
		p.hide(part.parent)
	}
}

// hiddenPath is a place in the hidden space: an upper directory, a work
// directory or a layer.
func (p *plan) hiddenPath(kind rune, n int) string {
	return fmt.Sprintf("%s/%c%d", p.host.scratch, kind, n)
}

// hide mounts an open tree in the hidden space.
func (p *plan) hide(handle int) {
	if handle == 0 {
		return
	}
	p.Call(unix.SYS_MKDIRAT, unix.AT_FDCWD, p.hiddenPath(p.layers, handle), 0o755)
	p.move(handle, p.hiddenPath(p.layers, handle))
}

// veil makes a layer of whiteouts.
func (p *plan) veil(t *tree) {
	if t.veil == 0 {
		return
	}
	root := p.hiddenPath('v', t.veil)
	p.Call(unix.SYS_MKDIRAT, unix.AT_FDCWD, root, 0o755)
	made := map[string]bool{".": true}
	for _, name := range t.hidden {
		p.veilDirs(root, filepath.Dir(name), made)
		p.Call(unix.SYS_MKNODAT, unix.AT_FDCWD, root+"/"+name, unix.S_IFCHR, 0)
	}
}

func (p *plan) veilDirs(root, dir string, made map[string]bool) {
	if made[dir] {
		return
	}
	p.veilDirs(root, filepath.Dir(dir), made)
	made[dir] = true
	p.Call(unix.SYS_MKDIRAT, unix.AT_FDCWD, root+"/"+dir, 0o755)
}

func (p *plan) move(handle int, target string) {
	p.Call(unix.SYS_MOVE_MOUNT, p.handle(handle), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// attach mounts one part.
func (p *plan) attach(part *part) {
	target := part.target[1:]
	p.mkdirs(filepath.Dir(part.target))
	if part.file {
		p.Try(unix.SYS_MKNODAT, unix.AT_FDCWD, target, unix.S_IFREG|0o644, 0)
	} else {
		p.mkdir(part.target, 0o755)
	}
	p.Note("mounting %s", part.target)
	switch {
	case part.tmpfs:
		p.mountTmpfs(target, 0o1777)
	case part.overlay():
		flags := unix.MS_NOSUID | unix.MS_NODEV
		if !part.writable {
			flags |= unix.MS_RDONLY
		}
		p.Call(unix.SYS_MOUNT, "overlay", target, "overlay", flags, p.overlayOptions(part))
	case part.handle > 0:
		p.move(part.handle, target)
	default:
		p.bind(part, target)
	}
}

// bind mounts what lies at the source's path in the box's own copy of the
// host's mounts.
func (p *plan) bind(part *part, target string) {
	p.Call(unix.SYS_MOUNT, part.source, target, 0, unix.MS_BIND|unix.MS_REC, 0)
	if !part.device {
		p.setattr(target, part.attr())
	}
}

func (p *plan) setattr(target string, a *unix.MountAttr) {
	var b []byte
	for _, v := range []uint64{a.Attr_set, a.Attr_clr, a.Propagation, a.Userns_fd} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	p.Call(unix.SYS_MOUNT_SETATTR, unix.AT_FDCWD, target, unix.AT_RECURSIVE, b, attrSize)
}

// overlayOptions opens the directories of an overlay and returns what mount
// takes for it. An overlay with an upper directory is volatile: without that
// its end has the kernel write out all of the host's file system. What is to
// outlast a loss of power is written out by who keeps it.
func (p *plan) overlayOptions(part *part) string {
	var lower []string
	for _, t := range part.lower {
		switch {
		case t.handle > 0:
			lower = append(lower, p.hiddenPath(p.layers, t.handle))
		case t.veil > 0:
			lower = append(lower, p.hiddenPath('v', t.veil))
		default:
			lower = append(lower, p.numbered(t.path))
		}
	}
	options := "userxattr,index=off,lowerdir=" + strings.Join(lower, ":")
	switch {
	case part.scratchNumber > 0:
		options += ",upperdir=" + p.hiddenPath('u', part.scratchNumber) + ",workdir=" + p.hiddenPath('w', part.scratchNumber)
	case part.parent > 0:
		parent := p.hiddenPath(p.layers, part.parent) + "/"
		options += ",upperdir=" + p.numbered(parent+part.upper) + ",workdir=" + p.numbered(parent+part.work)
	case part.upper != "":
		options += ",upperdir=" + p.numbered(part.upper) + ",workdir=" + p.numbered(part.work)
	default:
		return options
	}
	return options + ",volatile"
}

// numbered opens a directory under a number that is known beforehand, and
// returns a path to it that has no character with a meaning in mount options.
func (p *plan) numbered(path string) string {
	fd := p.Call(unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC)
	n := firstTree + p.opened
	p.opened++
	p.Call(unix.SYS_DUP3, fd, n, unix.O_CLOEXEC)
	return fmt.Sprintf("/proc/self/fd/%d", n)
}

// devices makes what /dev has besides device nodes.
func (p *plan) devices() {
	p.Note("making /dev")
	p.Call(unix.SYS_MOUNT, "devpts", "dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
	for _, l := range [][2]string{
		{"pts/ptmx", "dev/ptmx"}, {"/proc/self/fd", "dev/fd"}, {"/proc/self/fd/0", "dev/stdin"},
		{"/proc/self/fd/1", "dev/stdout"}, {"/proc/self/fd/2", "dev/stderr"},
	} {
		p.Call(unix.SYS_SYMLINKAT, l[0], unix.AT_FDCWD, l[1])
	}
	p.Call(unix.SYS_FCHMODAT, unix.AT_FDCWD, "dev", 0o555)
}

// enter makes the new root the only one.
func (p *plan) enter() {
	p.Note("entering the root")
	p.Call(unix.SYS_FCHMODAT, unix.AT_FDCWD, ".", 0o555)
	p.Call(unix.SYS_PIVOT_ROOT, ".", ".")
	p.Call(unix.SYS_UMOUNT2, ".", unix.MNT_DETACH)
	p.Call(unix.SYS_CHDIR, "/")
}
