package namespace

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// The descriptors that a box's first process is given.
const (
	fdIn = iota
	fdOut
	fdErr
	fdStatus // reports to us
	fdLife   // readable at its end when we are gone
	fdUsers  // the user name space
	fdGroups // cgroup.procs files, from here on
)

// firstTree is the number of the first descriptor of an overlay's directory;
// the option strings of overlays name them.
const firstTree = 128

// Kinds of reports, the first word of each.
const (
	reportFailed  = 1 // then: error number, operation
	reportBorn    = 2 // then: process id of the box's init
	reportStarted = 3 // the program runs
	reportSocket  = 4 // then: index of the listener; with a descriptor
	reportEnded   = 5 // then: wait status, resource usage
	reportOverdue = 6 // the wall clock ran out
)

// plan is a box as a program. Its three parts run in three processes: the
// outer one still sees the host and places the box; init builds the root and
// stays as process 1; the target becomes the user's program.
type plan struct {
	*launch.Program
	host   *host
	spec   *sandbox.Spec
	limits sandbox.Limits
	view   *view
	group  *group

	trees  map[*part]launch.Cell // sources that are open
	opened int                   // overlay directories that are open
	layers map[*part]*layerPaths
	hidden []launch.Cell   // trees that are mounted in the scratch space
	made   map[string]bool // directories below the new root
}

// layerPaths are the directories of an overlay as mount is told them. When
// parent is set, upper and work are relative to it.
type layerPaths struct {
	lower               []string
	parent, upper, work string
}

func newPlan(h *host, spec *sandbox.Spec, limits sandbox.Limits, v *view, g *group) *plan {
	return &plan{Program: launch.New(), host: h, spec: spec, limits: limits, view: v, group: g,
		trees: map[*part]launch.Cell{}, layers: map[*part]*layerPaths{}, made: map[string]bool{}}
}

// build lays out the whole program.
func (p *plan) build() *launch.Program {
	inner := p.Label()
	p.outer(inner)
	p.Bind(inner)
	p.init()
	p.Bind(launch.Failed)
	p.reportFailure()
	return p.Program
}

// reportFailure tells us which operation failed and why, and ends.
func (p *plan) reportFailure() {
	p.OnFail(launch.Next)
	kind := p.Word(reportFailed)
	p.Call(unix.SYS_WRITEV, fdStatus, p.vectors(kind.Addr(), 4, launch.LastErrno().Addr(), 8), 2)
	p.Call(unix.SYS_EXIT_GROUP, 1)
}

// vectors makes the vectors of two pieces of data.
func (p *plan) vectors(a launch.Addr, alen int, b launch.Addr, blen int) launch.Addr {
	at := p.Zero(32)
	p.Point(at, a)
	p.PutWord(at+8, uint32(alen))
	p.Point(at+16, b)
	p.PutWord(at+24, uint32(blen))
	return at
}

// outer runs on the host's side.
func (p *plan) outer(inner launch.Label) {
	p.Note("asking to be killed first when the machine is short of memory")
	fd := p.Try(unix.SYS_OPENAT, unix.AT_FDCWD, "/proc/self/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC)
	p.Try(unix.SYS_WRITE, fd, "500", 3)
	p.Note("joining the control group")
	for i := range p.group.joined() {
		p.Call(unix.SYS_WRITE, fdGroups+i, "0", 1)
	}
	if p.host.privileged {
		p.openTrees(true)
	}
	p.Note("entering the user name space")
	p.Call(unix.SYS_SETNS, fdUsers, unix.CLONE_NEWUSER)
	if p.host.privileged {
		p.Call(unix.SYS_SETGROUPS, 0, 0)
		p.Call(unix.SYS_SETRESGID, 0, 0, 0)
		p.Call(unix.SYS_SETRESUID, 0, 0, 0)
	}
	p.Note("making the name spaces")
	pid := p.Call(unix.SYS_CLONE, p.cloneFlags(), 0, 0, 0, 0)
	p.JumpIf(pid, -1, 0, inner)
	report := p.report(reportBorn)
	p.Set(report.value, pid)
	p.send(report, 8)
	p.Call(unix.SYS_EXIT_GROUP, 0)
}

func (p *plan) cloneFlags() int {
	flags := unix.CLONE_PARENT | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | int(unix.SIGCHLD)
	if p.spec.Network == sandbox.NetworkNone {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// message is a report being put together.
type message struct {
	at    launch.Addr
	value launch.Cell
}

// report makes a message with room for a value and, after it, the kernel's
// resource usage.
func (p *plan) report(kind int) message {
	at := p.Zero(8 + rusageSize)
	p.PutWord(at, uint32(kind))
	return message{at: at, value: launch.Cell(at + 4)}
}

// rusageSize is the size of struct rusage, in bytes.
const rusageSize = 144

func (p *plan) send(m message, size int) {
	p.Call(unix.SYS_WRITE, fdStatus, m.at, size)
}

// openTrees opens what is mounted later, while it can still be seen. The
// outer part (closed true) opens what only the caller may reach.
func (p *plan) openTrees(closed bool) {
	for i := range p.view.parts {
		part := &p.view.parts[i]
		if part.overlay() {
			p.openLayers(part, closed)
		} else if part.source != "" && p.outside(part.closed) && closed {
			p.openSource(part)
		}
	}
}

// outside says whether something is opened by the outer part.
func (p *plan) outside(closed bool) bool { return closed && p.host.privileged }

func (p *plan) openSource(part *part) {
	p.Note("opening %s", part.source)
	fd := p.Call(unix.SYS_OPEN_TREE, unix.AT_FDCWD, part.source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if part.owned && p.host.privileged {
		p.mapOwner(fd)
	}
	p.Call(unix.SYS_MOUNT_SETATTR, fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, p.attr(part), attrSize)
	p.trees[part] = fd
}

// mapOwner shows a tree as if it belonged to the box's user.
func (p *plan) mapOwner(fd launch.Cell) {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: fdUsers}
	p.Call(unix.SYS_MOUNT_SETATTR, fd, "", unix.AT_EMPTY_PATH, p.mountAttr(attr), attrSize)
}

const attrSize = 32 // of struct mount_attr, in bytes

func (p *plan) mountAttr(a unix.MountAttr) launch.Addr {
	var b []byte
	for _, v := range []uint64{a.Attr_set, a.Attr_clr, a.Propagation, a.Userns_fd} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return p.Bytes(b)
}

// attr is the mode of a bind: private, without set-user-id, without devices,
// and read-only unless it is meant to be written.
func (p *plan) attr(part *part) launch.Addr {
	a := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE}
	if !part.writable {
		a.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	return p.mountAttr(a)
}

// openLayers opens the directories of an overlay.
func (p *plan) openLayers(part *part, closed bool) {
	paths, seen := p.layers[part]
	if !seen {
		paths = &layerPaths{lower: make([]string, len(part.lower))}
		p.layers[part] = paths
	}
	for i, t := range part.lower {
		if p.outside(t.owned) == closed {
			paths.lower[i] = p.openLayer(t)
		}
	}
	if part.upper != "" && p.outside(true) == closed {
		p.openUpper(part, paths)
	}
}

// openLayer opens one directory and returns the path under which it can be
// mounted.
func (p *plan) openLayer(t tree) string {
	p.Note("opening %s", t.path)
	if p.outside(t.owned) {
		return p.openMapped(t.path)
	}
	return p.numbered(p.Call(unix.SYS_OPENAT, unix.AT_FDCWD, t.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC))
}

// openMapped opens a directory as the box's user owns it. The kernel makes
// overlays only of what is mounted in the box, so it is mounted there, out of
// sight, until the overlays are made.
func (p *plan) openMapped(path string) string {
	fd := p.Call(unix.SYS_OPEN_TREE, unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	p.mapOwner(fd)
	p.hidden = append(p.hidden, fd)
	return fmt.Sprintf("%s/l%d", scratchDir, len(p.hidden))
}

// openUpper opens the writable directory of an overlay and its scratch
// directory. Both must be seen through the same mount, so a privileged caller
// opens what contains both.
func (p *plan) openUpper(part *part, paths *layerPaths) {
	if !p.host.privileged {
		paths.upper = p.openLayer(tree{path: part.upper, owned: true})
		paths.work = p.openLayer(tree{path: part.work, owned: true})
		return
	}
	parent := commonParent(part.upper, part.work)
	p.Note("opening %s", parent)
	paths.parent = p.openMapped(parent)
	paths.upper, paths.work = below(parent, part.upper), below(parent, part.work)
}

// below is path relative to the parent that contains it.
func below(parent, path string) string {
	return "." + strings.TrimPrefix(filepath.Clean(path), parent)
}

// numbered gives an open directory a number that is known beforehand, and
// returns its path.
func (p *plan) numbered(fd launch.Cell) string {
	n := firstTree + p.opened
	p.opened++
	p.Call(unix.SYS_DUP3, fd, n, unix.O_CLOEXEC)
	return fmt.Sprintf("/proc/self/fd/%d", n)
}

func commonParent(a, b string) string {
	a, b = filepath.Clean(a), filepath.Clean(b)
	for a != "/" && a != b && !strings.HasPrefix(b, a+"/") {
		a = filepath.Dir(a)
	}
	return a
}

// overlayOptions is what mount takes for an overlay.
func (p *plan) overlayOptions(part *part) string {
	paths := p.layers[part]
	options := "userxattr,lowerdir=" + strings.Join(paths.lower, ":")
	switch {
	case part.scratchNumber > 0:
		options += fmt.Sprintf(",upperdir=%s/u%d,workdir=%s/w%d", scratchDir, part.scratchNumber, scratchDir, part.scratchNumber)
	case part.upper != "":
		options += ",upperdir=" + paths.upper + ",workdir=" + paths.work
	}
	return options
}
