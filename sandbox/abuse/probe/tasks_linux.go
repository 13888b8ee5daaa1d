package probe

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// forkBomb forks until the box refuses, or until four times the limit; every
// child forks one of its own.
func forkBomb(a Args) Verdict {
	limit := a.Int("limit")
	k := &kit{}
	for range 4 * limit {
		if _, err := forkCalls([]call{k.call(unix.SYS_CLONE, int(unix.SIGCHLD), 0, 0, 0, 0), k.pause()}); err != nil {
			break
		}
	}
	hold()
	n := tasksOf(a.Token)
	if n > limit {
		return Breachf("%d tasks alive under a limit of %d", n, limit)
	}
	v := Heldf("refused at %d tasks of %d", n, limit)
	v.Exit = 1 // as a program ends that cannot fork
	return v
}

// tasksOf counts the threads of all processes that have the token on their
// command line, the callers' own too.
func tasksOf(token string) int {
	n := 0
	for _, pid := range pids() {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil || !bytes.Contains(line, []byte(token)) {
			continue
		}
		tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		n += len(tasks)
	}
	return n
}

// pids lists the processes that /proc shows.
func pids() []int {
	var out []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// threadBomb starts threads in a process of its own, because Go's runtime
// gives up when it gets no thread.
func threadBomb(a Args) Verdict {
	limit := a.Int("limit")
	cmd := exec.Command("/proc/self/exe", selfArgs("thread-bomb-child", a.Token, "limit="+a.Text("limit"))...)
	out, err := cmd.Output()
	n := bytes.Count(out, []byte("."))
	if n >= limit {
		return Breachf("%d threads under a limit of %d", n, limit)
	}
	if err == nil {
		return Errorf("the bomb ended by itself after %d threads", n)
	}
	return Heldf("refused after %d threads of %d", n, limit)
}

func threadBombChild(a Args) Verdict {
	release := make(chan struct{})
	for range 2 * a.Int("limit") {
		started := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(started)
			<-release
		}()
		<-started
		os.Stdout.WriteString(".")
	}
	return Breachf("no limit was met")
}

// selfArgs are the arguments that run another probe of this executable. What
// comes before the probe's own arguments is taken from this process.
func selfArgs(name, token string, params ...string) []string {
	var lead []string
	for _, arg := range os.Args[1:] {
		if _, known := table()[arg]; known {
			break
		}
		lead = append(lead, arg)
	}
	return append(append(lead, name, token), params...)
}

// zombies makes orphans that end at once: many more than the limit of
// processes, so that it only works when somebody reaps them.
func zombies(a Args) Verdict {
	k := &kit{}
	n := 6 * a.Int("limit")
	for i := range n {
		pid, err := forkCalls([]call{k.call(unix.SYS_CLONE, int(unix.SIGCHLD), 0, 0, 0, 0)})
		if err != nil {
			return Breachf("fork %d of %d: %s; nobody reaps orphans", i, n, short(err))
		}
		if err := outcome(pid); err != nil && !errors.Is(err, unix.EAGAIN) {
			return Errorf("child: %v", err)
		}
		if i%8 == 7 {
			time.Sleep(time.Millisecond)
		}
	}
	return Heldf("%d orphans reaped under a limit of %d", n, a.Int("limit"))
}

// daemon leaves a grandchild in a session of its own, which holds standard
// output and error open and ignores hang-ups.
func daemon(Args) Verdict {
	k := &kit{}
	inner := []call{
		k.call(unix.SYS_SETSID),
		k.call(unix.SYS_CLONE, int(unix.SIGCHLD), 0, 0, 0, 0),
		k.pause(),
	}
	if _, err := forkCalls(inner); err != nil {
		return Errorf("fork: %v", err)
	}
	return Heldf("left a daemon behind")
}

// keepConnection leaves a daemon behind that holds a connection to the port.
func keepConnection(a Args) Verdict {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: a.Int("port")})
	}
	if err != nil {
		return Errorf("connecting to the port that the host serves: %v", err)
	}
	if n, err := unix.Read(fd, make([]byte, 5)); n != 5 {
		return Errorf("the host's greeting did not come: %d %v", n, err)
	}
	return daemon(a)
}

// stubborn ignores every signal, keeps one process in an uninterruptible
// vfork and stops itself.
func stubborn(Args) Verdict {
	k := &kit{}
	for sig := syscall.Signal(1); sig < 32; sig++ {
		ignore := make([]byte, 32)
		ignore[0] = 1 // SIG_IGN
		_, _ = k.now(unix.SYS_RT_SIGACTION, int(sig), ignore, 0, 8)
	}
	vfork := k.call(unix.SYS_CLONE, int(unix.SIGCHLD)|unix.CLONE_VFORK, 0, 0, 0, 0)
	if _, err := forkCalls([]call{vfork, k.pause()}); err != nil {
		return Errorf("fork: %v", err)
	}
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	return forever()
}

// napAndEnd sleeps for the given milliseconds.
func napAndEnd(a Args) Verdict {
	time.Sleep(time.Duration(a.Int("ms")) * time.Millisecond)
	return Heldf("slept %d ms", a.Int("ms"))
}

// holdOn says that it is there and waits for the end of standard input.
func holdOn(Args) Verdict {
	hold()
	return Heldf("held")
}

// spin keeps all processors busy; for ms milliseconds, when that is given, and
// then tells how much it got.
func spin(a Args) Verdict {
	var spun atomic.Int64
	for range runtime.NumCPU() {
		go func() {
			for n := 0; ; n++ {
				spun.Store(int64(n))
			}
		}()
	}
	ms := a.Int("ms")
	if ms == 0 {
		return forever()
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return Errorf("%v", err)
	}
	got := time.Duration(used.Utime.Nano() + used.Stime.Nano()).Milliseconds()
	if got > int64(a.Int("most")) {
		return Breachf("got %d ms of processors in %d ms", got, ms)
	}
	return Heldf("got %d ms of processors in %d ms", got, ms)
}

// schedulers looks for somebody who would start a program later, outside.
func schedulers(Args) Verdict {
	uid := strconv.Itoa(os.Getuid())
	v := expectAbsent(
		"/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket",
		"/run/systemd/private", "/run/user/"+uid+"/bus", "/run/user/"+uid+"/systemd/private",
		"/run/systemd/notify", "/run/initctl", "/dev/initctl", "/run/crond.pid", "/run/atd.pid",
	)
	return Worst(v, unwritable("/var/spool/cron", "/var/spool/cron/crontabs", "/var/spool/at",
		"/var/spool/cron/atjobs", "/etc/cron.d", "/etc/systemd/system", "/etc/init.d", "/etc/profile.d"))
}

func unwritable(dirs ...string) Verdict {
	var open []string
	for _, dir := range dirs {
		f, err := os.CreateTemp(dir, "kintsugi-*")
		if err != nil {
			continue
		}
		f.Close()
		os.Remove(f.Name())
		open = append(open, dir)
	}
	if len(open) > 0 {
		return Breachf("writable: %s", strings.Join(open, ", "))
	}
	return Heldf("%d directories, none writable", len(dirs))
}
