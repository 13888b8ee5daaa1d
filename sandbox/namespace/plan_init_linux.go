package namespace

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// scratchDir is where, in the new root, the hidden tmpfs for vanishing upper
// directories is mounted while overlays are made.
const scratchDir = ".scratch"

// init is process 1 of the box.
func (p *plan) init() {
	p.Note("hiding init from the box")
	p.Call(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	p.openTrees(false)
	p.newRoot()
	p.skeleton()
	p.scratch()
	for i := range p.view.parts {
		p.attach(&p.view.parts[i])
	}
	p.devices()
	p.proc()
	p.enterRoot()
	p.network()
	p.supervise()
}

// newRoot covers a directory of the box's own copy of the host's mounts with
// the tmpfs that becomes the root.
func (p *plan) newRoot() {
	p.Note("making the root")
	p.Call(unix.SYS_UMASK, 0)
	stage := p.stage()
	p.mountTmpfs(stage, 0o755)
	p.Call(unix.SYS_CHDIR, stage)
}

// stage is a directory of the host that nothing is mounted from.
func (p *plan) stage() string {
	for _, dir := range p.host.stage {
		if !slices.ContainsFunc(p.view.parts, func(part part) bool { return within(part.source, dir) }) {
			return dir
		}
	}
	return "/proc/sys" // exists everywhere and holds nothing that is mounted
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func (p *plan) mountTmpfs(target string, mode int) {
	options := fmt.Sprintf("mode=%o", mode)
	if p.limits.Disk > 0 {
		options += fmt.Sprintf(",size=%d", p.limits.Disk)
	}
	if p.limits.Inodes > 0 {
		options += fmt.Sprintf(",nr_inodes=%d", p.limits.Inodes)
	}
	p.Call(unix.SYS_MOUNT, "tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// skeleton makes the directories and links of the root that are the box's own.
func (p *plan) skeleton() {
	p.Note("making directories")
	for _, d := range []struct {
		path string
		mode int
	}{
		{"/tmp", 0o1777}, {"/var", 0o755}, {"/var/tmp", 0o1777}, {"/" + emptyDir, 0o555}, {"/run", 0o755}, {"/dev", 0o755},
		{"/dev/shm", 0o1777}, {"/dev/pts", 0o755}, {"/proc", 0o555},
	} {
		p.mkdir(d.path, d.mode)
	}
	p.mkdirs(p.host.home)
	for _, l := range p.view.links {
		p.Call(unix.SYS_SYMLINKAT, l.link, unix.AT_FDCWD, l.path[1:])
	}
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

// scratch mounts the hidden space that overlays are made from.
func (p *plan) scratch() {
	if !p.hasScratch() {
		return
	}
	p.Note("making the scratch space")
	p.mkdir("/"+scratchDir, 0o700)
	p.mountTmpfs(scratchDir, 0o700)
	for i := 1; i <= p.view.scratch; i++ {
		p.Call(unix.SYS_MKDIRAT, unix.AT_FDCWD, fmt.Sprintf("%s/u%d", scratchDir, i), 0o755)
		p.Call(unix.SYS_MKDIRAT, unix.AT_FDCWD, fmt.Sprintf("%s/w%d", scratchDir, i), 0o755)
	}
	for i, fd := range p.hidden {
		target := fmt.Sprintf("%s/l%d", scratchDir, i+1)
		p.Call(unix.SYS_MKDIRAT, unix.AT_FDCWD, target, 0o755)
		p.Call(unix.SYS_MOVE_MOUNT, fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	for i := range p.view.parts {
		if paths := p.layers[&p.view.parts[i]]; paths != nil && paths.parent != "" {
			paths.upper = p.openWithin(paths.parent, paths.upper)
			paths.work = p.openWithin(paths.parent, paths.work)
		}
	}
}

func (p *plan) hasScratch() bool { return p.view.scratch > 0 || len(p.hidden) > 0 }

func (p *plan) openWithin(parent, rel string) string {
	return p.numbered(p.Call(unix.SYS_OPENAT, unix.AT_FDCWD, parent+"/"+rel, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC))
}

// attach mounts one part below the new root.
func (p *plan) attach(part *part) {
	target := part.target[1:]
	p.mkdirs(filepath.Dir(part.target))
	if part.file {
		p.Try(unix.SYS_MKNODAT, unix.AT_FDCWD, target, unix.S_IFREG|0o644, 0)
	} else {
		p.mkdir(part.target, 0o755)
	}
	p.Note("mounting %s", part.target)
	if part.tmpfs {
		p.mountTmpfs(target, 0o1777)
		return
	}
	if !part.overlay() {
		p.bind(part, target)
		return
	}
	flags := unix.MS_NOSUID | unix.MS_NODEV
	if !part.writable {
		flags |= unix.MS_RDONLY
	}
	p.Call(unix.SYS_MOUNT, "overlay", target, "overlay", flags, p.overlayOptions(part))
}

// bind mounts what is open already, or else what lies at the source's path in
// the box's own copy of the host's mounts.
func (p *plan) bind(part *part, target string) {
	if fd, open := p.trees[part]; open {
		p.Call(unix.SYS_MOVE_MOUNT, fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
		return
	}
	p.Call(unix.SYS_MOUNT, part.source, target, 0, unix.MS_BIND|unix.MS_REC, 0)
	if !part.device {
		p.Call(unix.SYS_MOUNT_SETATTR, unix.AT_FDCWD, target, unix.AT_RECURSIVE, p.attr(part), attrSize)
	}
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
}

// enterRoot makes the new root the only one.
func (p *plan) enterRoot() {
	p.Note("entering the root")
	if p.hasScratch() {
		p.Call(unix.SYS_UMOUNT2, scratchDir, unix.MNT_DETACH)
		p.Call(unix.SYS_UNLINKAT, unix.AT_FDCWD, scratchDir, unix.AT_REMOVEDIR)
	}
	p.Call(unix.SYS_FCHMODAT, unix.AT_FDCWD, "dev", 0o555)
	p.Call(unix.SYS_FCHMODAT, unix.AT_FDCWD, ".", 0o555)
	p.Call(unix.SYS_PIVOT_ROOT, ".", ".")
	p.Call(unix.SYS_UMOUNT2, ".", unix.MNT_DETACH)
	p.Call(unix.SYS_CHDIR, "/")
	p.Call(unix.SYS_SETHOSTNAME, "kintsugi", 8)
}

// network brings the loopback interface up and opens the listeners.
func (p *plan) network() {
	if p.spec.Network != sandbox.NetworkNone {
		return
	}
	p.Note("bringing the loopback interface up")
	fd := p.Call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	request := make([]byte, 40) // struct ifreq
	copy(request, "lo")
	binary.LittleEndian.PutUint16(request[16:], unix.IFF_UP|unix.IFF_RUNNING)
	p.Call(unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS, request)
	p.Call(unix.SYS_CLOSE, fd)
	for i, l := range p.spec.Listeners {
		p.listen(i, l.Port)
	}
}

// listen opens a loopback port in the box and hands its socket to us.
func (p *plan) listen(i, port int) {
	p.Note("listening on port %d", port)
	fd := p.Call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	one := p.Word(1)
	p.Call(unix.SYS_SETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, one.Addr(), 4)
	p.Call(unix.SYS_BIND, fd, loopback(port), 16)
	p.Call(unix.SYS_LISTEN, fd, 128)
	p.sendSocket(i, fd)
	p.Call(unix.SYS_CLOSE, fd)
}

func loopback(port int) []byte {
	address := make([]byte, 16) // struct sockaddr_in
	binary.LittleEndian.PutUint16(address, unix.AF_INET)
	binary.BigEndian.PutUint16(address[2:], uint16(port))
	copy(address[4:], []byte{127, 0, 0, 1})
	return address
}

// sendSocket sends a descriptor along with a report.
func (p *plan) sendSocket(i int, fd launch.Cell) {
	m := p.report(reportSocket)
	p.PutWord(launch.Addr(m.value), uint32(i))
	vector := p.Zero(16)
	p.Point(vector, m.at)
	p.PutWord(vector+8, 8)
	control := p.Zero(24) // struct cmsghdr with one descriptor
	p.PutWord(control, 20)
	p.PutWord(control+8, unix.SOL_SOCKET)
	p.PutWord(control+12, unix.SCM_RIGHTS)
	p.Set(launch.Cell(control+16), fd)
	header := p.Zero(56) // struct msghdr
	p.Point(header+16, vector)
	p.PutWord(header+24, 1)
	p.Point(header+32, control)
	p.PutWord(header+40, 24)
	p.Call(unix.SYS_SENDMSG, fdStatus, header, 0)
}

// supervise starts the target and stays until it ends, the wall clock runs
// out or we are gone; then the whole box goes with it.
func (p *plan) supervise() {
	polled := p.polled()
	p.Note("looking whether we are still wanted")
	wanted := p.Label()
	p.Call(unix.SYS_PPOLL, polled, 1, p.Zero(16), 0, 8)
	p.JumpIf(launch.Cell(polled+4), happened, 0, wanted)
	p.Call(unix.SYS_EXIT_GROUP, 0)
	p.Bind(wanted)
	p.Note("starting the program")
	target := p.Label()
	pid := p.Call(unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK|int(unix.SIGCHLD), 0, 0, 0, 0)
	p.JumpIf(pid, -1, 0, target)
	p.Note("supervising")
	p.OnFail(launch.Next)
	for fd := fdIn; fd <= fdErr; fd++ {
		p.Call(unix.SYS_CLOSE, fd)
	}
	started := p.report(reportStarted)
	p.send(started, 8)
	p.watch(polled, pid)
	p.OnFail(launch.Failed)
	p.Bind(target)
	p.target(launch.Cell(polled + 8))
}

// happened selects the events of a polled descriptor: the upper half of the
// second word of its entry.
const happened = 0x7fff0000

// polled makes the array that init polls: our end of the life line, the wall
// clock, and the deaths of children.
func (p *plan) polled() launch.Addr {
	at := p.Zero(24)
	for i := range 3 {
		p.PutWord(at+launch.Addr(8*i+4), unix.POLLIN)
	}
	p.PutWord(at, fdLife)
	p.Note("watching the clock and the children")
	p.CallInto(launch.Cell(at+8), unix.SYS_TIMERFD_CREATE, unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	children := signalSet(unix.SIGCHLD)
	p.Call(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, children, 0, 8)
	p.CallInto(launch.Cell(at+16), unix.SYS_SIGNALFD4, -1, children, 8, unix.SFD_CLOEXEC)
	return at
}

func signalSet(signals ...unix.Signal) []byte {
	var bits uint64
	for _, s := range signals {
		bits |= 1 << (s - 1)
	}
	return binary.LittleEndian.AppendUint64(nil, bits)
}

// watch is the life of init.
func (p *plan) watch(polled launch.Addr, main launch.Cell) {
	event := func(i int) launch.Cell { return launch.Cell(polled + launch.Addr(8*i+4)) }
	loop, dead, onTime, reaping := p.Label(), p.Label(), p.Label(), p.Label()
	alive := p.Label()
	ended := p.report(reportEnded)
	info := p.Zero(128) // struct signalfd_siginfo

	p.Bind(loop)
	p.Call(unix.SYS_PPOLL, polled, 3, 0, 0, 8)
	p.JumpIf(event(0), happened, 0, alive)
	p.Jump(dead)
	p.Bind(alive)
	p.JumpIf(event(1), happened, 0, onTime)
	p.send(p.report(reportOverdue), 8)
	p.Jump(dead)
	p.Bind(onTime)
	p.JumpIf(event(2), happened, 0, loop)
	p.Call(unix.SYS_READ, launch.Cell(polled+16), info, 128)
	p.Bind(reaping)
	child := p.CallOr(loop, unix.SYS_WAIT4, -1, ended.value.Addr(), unix.WNOHANG, ended.at+8)
	p.JumpIf(child, -1, 0, loop)
	mine := p.Label()
	p.JumpIfSame(child, main, mine)
	p.Jump(reaping)
	p.Bind(mine)
	p.send(ended, 8+rusageSize)
	p.Bind(dead)
	p.Call(unix.SYS_EXIT_GROUP, 0)
}

// command is the program's file: one path, or the places where PATH says it
// may be.
func command(spec *sandbox.Spec) []string {
	name := spec.Argv[0]
	if strings.Contains(name, "/") {
		return []string{name}
	}
	var out []string
	for _, dir := range filepath.SplitList(lookup(spec.Env, "PATH")) {
		if dir == "" {
			dir = "."
		}
		out = append(out, dir+"/"+name)
	}
	return out
}
