package abuse

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/abuse/probe"
)

func taskPlans() map[string]plan {
	few := sandbox.Limits{Processes: 32}
	return map[string]plan{
		"fork-bomb": {alone: true, limits: few, setup: with("limit", 32), during: responsive, judge: taskLimit},
		"fork-bomb-root": {probe: "fork-bomb", alone: true, limits: few, setup: asRoot, during: notRoot,
			judge: taskLimit},
		"thread-bomb": {alone: true, limits: few, setup: with("limit", 32)},
		"zombies":     {limits: few, setup: with("limit", 32)},
		"spin": {alone: true, limits: sandbox.Limits{Wall: time.Second}, judge: atDeadline,
			setup: watchHost},
		"cpu-share":       {probe: "spin", alone: true, limits: sandbox.Limits{CPUs: 0.5}, setup: shareKept},
		"open-files":      {limits: sandbox.Limits{OpenFiles: 64}, setup: with("limit", 64), during: responsive},
		"inotify":         {alone: true, limits: sandbox.Limits{OpenFiles: 4096}, setup: with("most", 2000), during: stillWatches},
		"terminals":       {alone: true, limits: sandbox.Limits{OpenFiles: 4096}, setup: with("most", 4000), during: stillTerminals},
		"pending-signals": {alone: true, limits: sandbox.Limits{Wall: 15 * time.Second}, setup: with("most", 300000), during: stillTimers},
		"lookups":         {alone: true, setup: watchHost},
	}
}

// taskLimit takes the probe's word, and wants the result to name the limit
// when the kernel counts for the group.
func taskLimit(t *trial) probe.Verdict {
	v := t.inside()
	if t.res.Limit == sandbox.LimitProcesses {
		return worst(v, probe.Heldf("the result says so (%s)", t.res.Mechanism))
	}
	kept := t.rt.Probe(t.ctx).Report.Find(sandbox.PromiseProcesses)
	if strings.Contains(kept.Mechanism, "cgroup") {
		return worst(v, probe.Breachf("the result names no limit: %s", t.ending()))
	}
	return v
}

func asRoot(t *trial) error {
	if os.Geteuid() != 0 {
		return notHere("this workbench was not started by root")
	}
	return with("limit", 32)(t)
}

// notRoot wants no process of the box to be the host's root.
func notRoot(t *trial) probe.Verdict {
	for _, pid := range processesWith(t.token) {
		if ids := strings.Fields(status(pid, "Uid")); slices.Contains(ids, "0") {
			return probe.Breachf("process %d of the box is the host's root", pid)
		}
	}
	return responsive(t)
}

// watchHost measures, while the box runs, how long the host takes to start
// processes.
func watchHost(t *trial) error {
	judge := t.plan.judge
	if judge == nil {
		judge = (*trial).inside
	}
	seen := make(chan probe.Verdict, 1)
	go func() {
		time.Sleep(200 * time.Millisecond)
		seen <- responsive(t)
	}()
	t.plan.judge = func(t *trial) probe.Verdict { return worst(judge(t), <-seen) }
	return nil
}

// shareKept asks for half a processor for a second. A runtime that says that
// it keeps no shares here has not promised one.
func shareKept(t *trial) error {
	kept := t.rt.Probe(t.ctx).Report.Find(sandbox.PromiseCPU)
	if kept.Strength == sandbox.NotKept {
		return notHere("the runtime says that it keeps no share here (" + kept.Mechanism + "); deadlines hold")
	}
	return with("ms", 1000, "most", 700)(t)
}

func stillWatches(*trial) probe.Verdict {
	for n := range 8 {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return probe.Breachf("the host's user gets no inotify instance after %d: %v", n, err)
		}
		defer unix.Close(fd)
		if _, err := unix.InotifyAddWatch(fd, os.TempDir(), unix.IN_CREATE); err != nil {
			return probe.Breachf("the host's user gets no watch: %v", err)
		}
	}
	return probe.Heldf("the host's user still gets watches")
}

func stillTerminals(*trial) probe.Verdict {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return probe.Breachf("the host gets no pseudo-terminal: %v", err)
	}
	unix.Close(fd)
	return probe.Heldf("the host still gets a pseudo-terminal")
}

func stillTimers(*trial) probe.Verdict {
	var id int32
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&id)))
	if errno != 0 {
		return probe.Breachf("the host's user gets no timer: %v", errno)
	}
	_, _, _ = unix.Syscall(unix.SYS_TIMER_DELETE, uintptr(id), 0, 0)
	return probe.Heldf("the host's user still gets timers")
}

// most is the memory that probes may use, in bytes: the least with which Go's
// runtime starts where the limit counts what is mapped.
const most = 160 * mib

func memoryPlans() map[string]plan {
	little := sandbox.Limits{Memory: most}
	limit := with("limit", most, "files", 256)
	memory := endedBy(sandbox.LimitMemory)
	return map[string]plan{
		"memory-bomb":   {alone: true, limits: little, setup: limit, judge: memory},
		"memory-many":   {alone: true, limits: little, setup: limit, judge: memory},
		"memory-shared": {alone: true, limits: little, setup: limit, judge: memory},
		"memory-file":   {alone: true, limits: little, setup: limit, judge: memory},
		"swap-out":      {alone: true, limits: little, setup: needSwap, judge: memory},
		"lock-memory":   {alone: true, limits: little, setup: limit, judge: memory},
		"pipe-bloat":    {alone: true, limits: little, setup: limit, judge: memory},
		"socket-bloat":  {alone: true, limits: little, setup: limit, judge: memory},
		"sysv-shm":      {setup: plantShm, judge: ownShm},
		"posix-mq":      {setup: plantQueue, during: stillQueues},
	}
}

func needSwap(t *trial) error {
	b, err := os.ReadFile("/proc/swaps")
	if err != nil || strings.Count(string(b), "\n") < 2 {
		return notHere("this machine has no swap")
	}
	return with("limit", most)(t)
}

// shmSize is an odd size by which a left-over segment is found.
const shmSize = 1<<20 - 4096*3

func plantShm(t *trial) error {
	key := 0x4b540000 + os.Getpid()&0xffff
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		return err
	}
	t.undo = append(t.undo, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	return with("key", key, "size", shmSize)(t)
}

func ownShm(t *trial) probe.Verdict {
	b, _ := os.ReadFile("/proc/sysvipc/shm")
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.Fields(line); len(f) > 3 && f[3] == fmt.Sprint(shmSize) {
			return probe.Breachf("the box's segment is left on the host: %s", strings.Join(f[:4], " "))
		}
	}
	return t.inside()
}

func plantQueue(t *trial) error {
	if err := makeQueue(t.token + "host"); err != nil {
		return notHere("the host has no message queues: " + err.Error())
	}
	t.undo = append(t.undo, func() { dropQueue(t.token + "host") })
	return with("name", t.token+"host", "most", 5000)(t)
}

func makeQueue(name string) error {
	b := append([]byte(name), 0)
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&b[0])), unix.O_RDWR|unix.O_CREAT, 0o666, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func dropQueue(name string) {
	b := append([]byte(name), 0)
	_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(&b[0])), 0, 0)
}

func stillQueues(t *trial) probe.Verdict {
	if err := makeQueue(t.token + "second"); err != nil {
		return probe.Breachf("the host's user gets no message queue: %v", err)
	}
	dropQueue(t.token + "second")
	return probe.Heldf("the host's user still gets queues")
}

func diskPlans() map[string]plan {
	return map[string]plan{
		"disk-fill": {alone: true, limits: sandbox.Limits{Disk: 16 * mib, FileSize: -1}, setup: with("limit", 16*mib),
			judge: endedBy(sandbox.LimitDisk, sandbox.LimitMemory)},
		"layer-fill": {probe: "disk-fill", alone: true, limits: sandbox.Limits{Disk: 16 * mib, FileSize: -1},
			setup: func(t *trial) error { return errors.Join(t.capture(), with("limit", 16*mib)(t)) },
			judge: endedBy(sandbox.LimitDisk, sandbox.LimitMemory)},
		"inodes": {limits: sandbox.Limits{Inodes: 500}, setup: with("limit", 500)},
		"workspace-inodes": {alone: true, limits: sandbox.Limits{Wall: 15 * time.Second, Inodes: 500}, setup: with("most", 1200),
			judge: endedBy(sandbox.LimitDisk)},
		"workspace-fill": {alone: true, limits: sandbox.Limits{Wall: 15 * time.Second, Disk: 32 * mib, FileSize: 8 * mib},
			setup: with("file", 8*mib, "most", 256*mib), judge: endedBy(sandbox.LimitDisk)},
		"big-file":   {limits: sandbox.Limits{FileSize: 8 * mib}, setup: with("limit", 8*mib), judge: projectEmpty},
		"deep-tree":  {limits: sandbox.Limits{Wall: 15 * time.Second, Inodes: 50000}, setup: deep, judge: removedFast},
		"many-files": {limits: sandbox.Limits{Wall: 15 * time.Second, Inodes: 50000}, setup: with("count", 400), judge: removedFast},
		"odd-names":  {judge: sameNames},
	}
}

func deep(t *trial) error { return with("workspace", t.project(""), "depth", 1100)(t) }

// removedFast wants what the box left in the workspace to be removable, and
// the box itself to have ended in good time.
func removedFast(t *trial) probe.Verdict {
	began := time.Now()
	removeAll(t.upper(""))
	if _, err := os.Lstat(t.upper("")); err == nil {
		return probe.Breachf("what the box left cannot be removed")
	}
	if took := time.Since(began); took > 5*time.Second {
		return probe.Breachf("removing what the box left took %v", took)
	}
	return worst(t.inside(), probe.Heldf("over and removed in %d ms", (t.took+time.Since(began)).Milliseconds()))
}

// capture makes the box one that installs: what it writes to the system's
// directories becomes a layer.
func (t *trial) capture() error {
	t.spec.Capture = filepath.Join(t.dir, "layer")
	for _, dir := range []string{"usr", "etc", "opt", "var"} {
		if err := os.MkdirAll(filepath.Join(t.spec.Capture, dir), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// projectEmpty wants the project itself to be untouched, and the change to
// hold no more than the limit.
func projectEmpty(t *trial) probe.Verdict {
	entries, err := os.ReadDir(t.project(""))
	if err != nil || len(entries) != 1 {
		return probe.Breachf("the project itself changed")
	}
	return t.inside()
}

// sameNames wants the odd names on the host to be those that the box made.
func sameNames(t *trial) probe.Verdict {
	entries, err := os.ReadDir(t.upper(""))
	if err != nil {
		return probe.Errorf("%v", err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := slices.Sorted(slices.Values(probe.OddNames()))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return probe.Breachf("names differ: %q instead of %q", got, want)
	}
	return t.inside()
}

func outputPlans() map[string]plan {
	return map[string]plan{
		"long-line":      {alone: true, limits: sandbox.Limits{Output: -1}, setup: measured("mib", 100), judge: wholeLine},
		"flood":          {alone: true, limits: sandbox.Limits{Output: mib / 4}, setup: measured(), judge: truncated},
		"drip":           {limits: sandbox.Limits{Wall: 700 * time.Millisecond}, judge: atDeadline},
		"deaf":           {probe: "nap", alone: true, setup: unread, judge: boundedInput},
		"huge-arguments": {whole: hugeArguments},
	}
}

// measured starts to watch this process's memory.
func measured(pairs ...any) func(*trial) error {
	return func(t *trial) error {
		stop := flat()
		var grown int64
		stopped := false
		t.kept = func() int64 {
			if !stopped {
				grown, stopped = stop(), true
			}
			return grown
		}
		t.undo = append(t.undo, func() { t.kept.(func() int64)() })
		return with(pairs...)(t)
	}
}

// mostGrowth is how far this process may grow for one stream, in bytes.
const mostGrowth = 64 * mib

func (t *trial) growth() probe.Verdict {
	grown := t.kept.(func() int64)()
	if grown > mostGrowth {
		return probe.Breachf("this process grew by %d MiB", grown/mib)
	}
	return probe.Heldf("this process grew by %d MiB", grown/mib)
}

func wholeLine(t *trial) probe.Verdict {
	if t.out.size() < 100*mib {
		return worst(t.inside(), probe.Breachf("only %d bytes of the line arrived", t.out.size()))
	}
	return worst(t.inside(), t.growth())
}

func truncated(t *trial) probe.Verdict {
	limit := t.spec.Limits.Output
	v := worst(t.limitIs(sandbox.LimitOutput), t.growth())
	if t.out.size() > limit {
		v = worst(v, probe.Breachf("%d bytes came through a limit of %d", t.out.size(), limit))
	}
	return v
}

// endless is standard input that never ends and counts what is taken.
type endless struct{ taken atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.taken.Add(int64(len(p))) > 100*mib {
		return 0, io.EOF
	}
	return len(p), nil
}

func unread(t *trial) error {
	t.spec.Stdin = &endless{}
	return with("ms", 200)(t)
}

func boundedInput(t *trial) probe.Verdict {
	taken := t.spec.Stdin.(*endless).taken.Load()
	if taken > 4*mib {
		return probe.Breachf("%d MiB were taken for a program that reads nothing", taken/mib)
	}
	return worst(prompt(3*time.Second)(t), probe.Heldf("%d KiB taken", taken>>10))
}

// hugeArguments wants arguments past what the kernel takes to be a clear error
// or a clear exit, never a hang.
func hugeArguments(t *trial) probe.Verdict {
	t.plan.probe = "nap"
	t.param("ms", 0)
	t.param("padding", strings.Repeat("x", 200<<10))
	t.spec.Env = append(t.spec.Env, "PADDING="+strings.Repeat("y", 4<<20))
	t.spec.Argv = t.argv()
	t.release = func() {}
	box, err := t.rt.Start(t.ctx, t.spec)
	if err != nil {
		if strings.Count(err.Error(), "\n") > 0 || len(err.Error()) > 500 {
			return probe.Breachf("the error is no clear line: %.100q, %d bytes", err.Error(), len(err.Error()))
		}
		return probe.Heldf("refused: %v", err)
	}
	if v := t.wait(box, t.spec.Limits.Wall+grace); v.Verdict != probe.Held {
		return v
	}
	if t.res.ExitCode == 0 {
		return probe.Breachf("the kernel does not take these arguments, but the program ran")
	}
	return probe.Heldf("ended with %s", t.ending())
}
