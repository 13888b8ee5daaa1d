package abuse

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/abuse/probe"
)

func killPlans() map[string]plan {
	return map[string]plan{
		"killed-workbench":  {alone: true, whole: killedWorkbench},
		"stopped-workbench": {whole: stoppedWorkbench},
		"hangup":            {whole: hangup},
		"full-disk":         {whole: fullDisk},
	}
}

// victim starts another workbench that runs a probe in a box; wall is the
// box's wall clock.
func (t *trial) victim(name string, wall time.Duration, env ...string) (*exec.Cmd, error) {
	if len(t.opts.Victim) == 0 {
		return nil, errors.New("no command was given that starts another workbench to kill")
	}
	args := append(append([]string{}, t.opts.Victim[1:]...), t.opts.Exe, wall.String())
	args = append(args, t.opts.Lead...)
	// The token stands behind a separator of its own, so that the workbench
	// itself can be told from its box.
	cmd := exec.Command(t.opts.Victim[0], append(args, name, t.token)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	t.said.Reset()
	cmd.Stderr = &t.said
	return cmd, cmd.Start()
}

// boxOf waits for the processes of the victim's box and returns them without
// the victim itself.
func (t *trial) boxOf(victim *exec.Cmd, most time.Duration) []int {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		var out []int
		for _, pid := range processesWith(t.token) {
			if pid != victim.Process.Pid && boxed(pid) {
				out = append(out, pid)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// boxed says whether the process is in a pid name space below ours.
func boxed(pid int) bool { return len(strings.Fields(status(pid, "NSpid"))) > 1 }

// killedWorkbench kills a workbench at odd moments: while its box is made,
// while it runs, and just as it starts to run.
func killedWorkbench(t *trial) probe.Verdict {
	if _, err := t.killRound(); err != nil { // so that what is kept ready is there
		return asVerdict(err)
	}
	before := takeBaseline()
	before.files, before.ready = math.MaxInt, killsInRound/2
	v, err := t.killRound()
	if err != nil {
		return asVerdict(err)
	}
	return worst(v, before.same(settled(before)), probe.Heldf("killed %d workbenches, nothing is left", 2*killsInRound))
}

// startTime is how long another workbench may take until its box runs: one that
// has to start an engine's service first needs seconds.
const startTime = 15 * time.Second

// killsInRound is how many workbenches are killed before what they left is
// cleaned up.
const killsInRound = 8

func (t *trial) killRound() (probe.Verdict, error) {
	var all []probe.Verdict
	for i := range killsInRound {
		delay := time.Duration(i) * 4 * time.Millisecond
		if i == killsInRound-1 {
			delay = -1
		}
		v, err := t.killOnce(delay)
		if err != nil {
			return v, err
		}
		all = append(all, v)
	}
	if _, err := t.rt.Reconcile(t.ctx); err != nil {
		all = append(all, probe.Breachf("reconcile: %v", err))
	}
	return worst(all...), nil
}

// killOnce kills a workbench after a delay, or once its box runs when the
// delay is negative.
func (t *trial) killOnce(delay time.Duration) (probe.Verdict, error) {
	cmd, err := t.victim("forever", 20*time.Second)
	if err != nil {
		return probe.Verdict{}, err
	}
	if delay >= 0 {
		time.Sleep(delay)
	} else if len(t.boxOf(cmd, startTime)) == 0 {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return t.noBox(), nil
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if left := awaitNone(t.token, 2*time.Second); len(left) > 0 {
		return probe.Breachf("alive after kill -9 of the workbench at %v: %v", delay, left), nil
	}
	return probe.Heldf(""), nil
}

// noBox says that the other workbench failed. It must have ended before.
func (t *trial) noBox() probe.Verdict {
	return probe.Errorf("the other workbench started no box: %.200s", t.said.String())
}

func asVerdict(err error) probe.Verdict { return probe.Errorf("%v", err) }

// stoppedWorkbench stops a workbench and wants its box to end in time
// nevertheless.
func stoppedWorkbench(t *trial) probe.Verdict {
	const wall = 700 * time.Millisecond
	cmd, err := t.victim("forever", wall)
	if err != nil {
		return asVerdict(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if len(t.boxOf(cmd, startTime)) == 0 {
		return t.noBox()
	}
	if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
		return probe.Errorf("%v", err)
	}
	for end := time.Now().Add(wall + time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !t.boxAlive(cmd) {
			return probe.Heldf("the box ended in time while its workbench was stopped")
		}
	}
	return probe.Breachf("the box outlives its deadline while its workbench is stopped")
}

func (t *trial) boxAlive(victim *exec.Cmd) bool {
	for _, pid := range processesWith(t.token) {
		if pid != victim.Process.Pid && boxed(pid) && alive(pid) {
			return true
		}
	}
	return false
}

// hangup closes a workbench's terminal.
func hangup(t *trial) probe.Verdict {
	cmd, err := t.victim("forever", 20*time.Second)
	if err != nil {
		return asVerdict(err)
	}
	if len(t.boxOf(cmd, startTime)) == 0 {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return t.noBox()
	}
	_ = cmd.Process.Signal(unix.SIGHUP)
	_ = cmd.Wait()
	if left := awaitNone(t.token, 2*time.Second); len(left) > 0 {
		return probe.Breachf("alive after the terminal was closed: %v", left)
	}
	return probe.Heldf("nothing outlives the closed terminal")
}

// fullDisk starts a workbench whose directories for state and temporary files
// lie on a full disk.
func fullDisk(t *trial) probe.Verdict {
	full := filepath.Join(t.dir, "full")
	if err := os.Mkdir(full, 0o755); err != nil {
		return probe.Errorf("%v", err)
	}
	if err := unix.Mount("none", full, "tmpfs", 0, "size=4k,nr_inodes=2"); err != nil {
		return probe.Heldf("not tried: only root can make a full disk (%v)", err)
	}
	defer func() { _ = unix.Unmount(full, unix.MNT_DETACH) }()
	_ = os.WriteFile(filepath.Join(full, "f"), make([]byte, 8192), 0o600)
	cmd, err := t.victim("nap", 5*time.Second, "TMPDIR="+full, "XDG_RUNTIME_DIR="+full, "XDG_STATE_HOME="+full,
		"XDG_CACHE_HOME="+full, "XDG_DATA_HOME="+full)
	if err != nil {
		return asVerdict(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return probe.Heldf("ended at once: %v %.120s", err, t.said.String())
	case <-time.After(6 * time.Second):
		_ = cmd.Process.Kill()
		return probe.Breachf("hangs when the disk is full (%v)", <-done)
	}
}

// monotonic looks at the timers of the box and of this process: none may
// follow the clock that people set.
func monotonic(t *trial) probe.Verdict {
	looked := 0
	pids := []int{os.Getpid()}
	for _, pid := range processesWith(t.token) {
		pids = append(pids, pid, initOf(pid))
	}
	for _, pid := range pids {
		files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fdinfo/*")
		if err != nil || pid == 0 {
			continue
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil || !strings.Contains(string(b), "clockid:") {
				continue
			}
			looked++
			if strings.Contains(string(b), "clockid: 0\n") {
				return probe.Breachf("process %d keeps a deadline by the clock that people set", pid)
			}
		}
	}
	return probe.Heldf("%d kernel timers, none follows the clock that people set", looked)
}
