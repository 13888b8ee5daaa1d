package namespace

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace/launch"
)

// Exit codes that shells use when a command cannot be run.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// target turns the process into the user's program. It shares init's memory
// until then, and init waits.
func (p *plan) target(spec *sandbox.Spec, parts []part, clock launch.Cell) {
	p.confine(spec.Dir, parts)
	p.startClock(clock)
	p.walls()
	p.exec(spec)
}

// confine goes to the working directory and gives up what the program may not
// have. The system call filter is not up yet.
func (p *plan) confine(dir string, parts []part) {
	p.Note("leaving init's session")
	p.Try(unix.SYS_SETSID)
	p.Call(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, signalSet(), 0, 8)
	p.Call(unix.SYS_UMASK, 0o022)
	p.Note("going to %s", dir)
	if dir != "" {
		p.Call(unix.SYS_CHDIR, dir)
	}
	p.rlimits()
	p.drop()
	p.landlock(parts)
	p.Note("closing descriptors")
	p.Call(unix.SYS_CLOSE_RANGE, 3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// noCore is a size of core files that none fits into. Unlike 0, it also keeps
// the kernel from handing the core to a program of the host.
const noCore = 1

// maxPending is how many signals and timers a box may have queued. They count
// against the host's user, who has tens of thousands for everything.
const maxPending = 4096

// rlimits sets the limits that the kernel keeps per process.
func (p *plan) rlimits() {
	p.Note("setting limits")
	for _, r := range []struct {
		resource int
		value    int64
	}{
		{unix.RLIMIT_CORE, noCore},
		{unix.RLIMIT_SIGPENDING, maxPending},
		{unix.RLIMIT_CPU, int64(p.limits.CPU.Seconds() + 0.999)},
		{unix.RLIMIT_FSIZE, p.limits.FileSize},
		{unix.RLIMIT_NOFILE, int64(p.limits.OpenFiles)},
		{unix.RLIMIT_NPROC, p.processes()},
		{unix.RLIMIT_DATA, p.data()},
	} {
		if r.value <= 0 {
			continue
		}
		p.rlimit(r.resource, uint64(r.value))
	}
}

// processes is the limit of the box's user: a little above the control
// group's, which can tell us when it was hit, or the limit itself.
func (p *plan) processes() int64 {
	if p.limits.Processes <= 0 {
		return -1
	}
	if p.group.counts("pids") {
		return int64(p.limits.Processes) + 32
	}
	return int64(p.limits.Processes) + ownProcesses
}

// data is the limit of one process's memory where no control group counts all
// of them together.
func (p *plan) data() int64 {
	if p.group.counts("memory") {
		return -1
	}
	return p.limits.Memory
}

// rlimit lowers a limit; one that is lower already stays.
func (p *plan) rlimit(resource int, value uint64) {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err == nil {
		value = min(value, now.Max)
	}
	hard := value
	if resource == unix.RLIMIT_CPU {
		hard++ // the signal first, the kill a second later
	}
	b := binary.LittleEndian.AppendUint64(nil, value)
	p.Call(unix.SYS_PRLIMIT64, 0, resource, binary.LittleEndian.AppendUint64(b, hard), 0)
}

// bound gives up every capability for all programs that are run later. The
// maker and each box's init keep their own, in the boxes' user name space, until
// the target has dropped them.
func (p *plan) bound() {
	p.Note("bounding capabilities")
	for c := 0; c <= unix.CAP_LAST_CAP; c++ {
		p.Try(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
}

// drop gives up every capability.
func (p *plan) drop() {
	p.Note("dropping capabilities")
	const locked = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7 // no root, no fixup, no ambient: all locked
	p.Call(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, locked, 0, 0, 0)
	p.Call(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := binary.LittleEndian.AppendUint32(nil, unix.LINUX_CAPABILITY_VERSION_3)
	p.Call(unix.SYS_CAPSET, append(header, 0, 0, 0, 0), make([]byte, 24))
	p.Call(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// startClock starts the wall clock.
func (p *plan) startClock(clock any) {
	if p.limits.Wall <= 0 {
		return
	}
	p.Note("starting the wall clock")
	ns := p.limits.Wall.Nanoseconds()
	spec := make([]byte, 16, 32) // struct itimerspec: no interval
	spec = binary.LittleEndian.AppendUint64(spec, uint64(ns/1e9))
	spec = binary.LittleEndian.AppendUint64(spec, uint64(ns%1e9))
	p.Call(unix.SYS_TIMERFD_SETTIME, clock, 0, spec, 0)
}

// walls puts the system call filter up.
func (p *plan) walls() {
	p.Note("putting the system call filter up")
	assembled := p.host.filter
	if !p.group.counts("memory") {
		assembled = p.host.strictFilter
	}
	filter := assembled()
	program := p.Zero(16) // struct sock_fprog
	p.PutWord(program, uint32(len(filter)/8))
	p.Point(program+8, p.Bytes(filter))
	p.Call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, program)
}

// exec tries each place of the program and, if none works, says so the way
// shells do.
func (p *plan) exec(spec *sandbox.Spec) {
	p.Note("running %s", spec.Argv[0])
	args := make([]launch.Addr, len(spec.Argv))
	for i, a := range spec.Argv {
		args[i] = p.Text(a)
	}
	argv, env := p.Pointers(args), p.Strings(spec.Env)
	refused := p.Word(0)
	for _, path := range command(spec) {
		p.tryExec(p.Text(path), argv, env, args, refused)
	}
	forbidden := p.Label()
	p.JumpIf(refused, -1, 1, forbidden)
	p.complain(spec.Argv[0]+": command not found", exitNotFound)
	p.Bind(forbidden)
	p.complain(spec.Argv[0]+": permission denied", exitCannotRun)
}

// tryExec runs the file at path, or, when it has no header, lets the shell
// run it. It comes back when the file is absent or may not be run.
func (p *plan) tryExec(path, argv, env launch.Addr, args []launch.Addr, refused launch.Cell) {
	failed, next, notScript := p.Label(), p.Label(), p.Label()
	p.CallOr(failed, unix.SYS_EXECVE, path, argv, env)
	p.Bind(failed)
	p.JumpIf(launch.LastErrno(), -1, int(unix.ENOENT), next)
	p.JumpIf(launch.LastErrno(), -1, int(unix.ENOTDIR), next)
	script := p.Label()
	p.JumpIf(launch.LastErrno(), -1, int(unix.ENOEXEC), script)
	p.Jump(notScript)
	p.Bind(script)
	shell := append([]launch.Addr{p.Text("sh"), path}, args[1:]...)
	p.CallOr(notScript, unix.SYS_EXECVE, "/bin/sh", p.Pointers(shell), env)
	p.Bind(notScript)
	p.Set(refused, 1)
	p.Bind(next)
}

// complain writes one line to the program's standard error and ends.
func (p *plan) complain(what string, code int) {
	line := "kintsugi: " + what + "\n"
	p.Try(unix.SYS_WRITE, fdErr, line, len(line))
	p.Call(unix.SYS_EXIT_GROUP, code)
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
