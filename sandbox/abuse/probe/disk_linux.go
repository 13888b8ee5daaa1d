package probe

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// writableDirs are the directories outside the workspace in which a file can
// be made: every mount that lets us, and the usual places.
func writableDirs() []string {
	candidates := append(mountPoints(), "/tmp", "/var/tmp", "/dev/shm", "/run", os.Getenv("HOME"), "/")
	cwd, _ := os.Getwd()
	seen := map[string]bool{"": true, cwd: true}
	var out []string
	for _, dir := range candidates {
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if canMake(dir) {
			out = append(out, dir)
		}
	}
	return out
}

func canMake(dir string) bool {
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

// mountPoints lists the mounts that this process sees.
func mountPoints() []string {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var out []string
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.Fields(line); len(f) > 4 {
			out = append(out, f[4])
		}
	}
	return out
}

// diskFill writes into every writable directory outside the workspace until it
// takes no more.
func diskFill(a Args) Verdict {
	signal.Ignore(syscall.SIGXFSZ)
	limit := a.Int("limit")
	return eachDir(func(dir string) Verdict {
		n, err := fillNew(filepath.Join(dir, "full"), 3*limit)
		if n > limit+mib {
			return Breachf("%s took %d MiB under a limit of %d MiB", dir, n/mib, limit/mib)
		}
		return Heldf("%s: %s at %d MiB", dir, short(err), n/mib)
	})
}

func eachDir(try func(dir string) Verdict) Verdict {
	dirs := writableDirs()
	if len(dirs) == 0 {
		return Heldf("no directory is writable")
	}
	var all []Verdict
	for _, dir := range dirs {
		all = append(all, try(dir))
	}
	return Worst(all...)
}

func fillNew(path string, most int) (int, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	n, err := fill(int(f.Fd()), most)
	if n == most {
		time.Sleep(watcherTime)
	}
	return n, err
}

// watcherTime is how long what a probe wrote stays, for a watcher to find it.
const watcherTime = 2 * time.Second

// inodes makes empty files in every writable directory outside the workspace.
func inodes(a Args) Verdict {
	limit := a.Int("limit")
	return eachDir(func(dir string) Verdict {
		n, err := makeFiles(filepath.Join(dir, "many"), 3*limit)
		if n > limit {
			return Breachf("%s took %d files under a limit of %d", dir, n, limit)
		}
		return Heldf("%s: %s at %d files", dir, short(err), n)
	})
}

func makeFiles(dir string, most int) (int, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	for n := range most {
		f, err := os.Create(fmt.Sprintf("%s/%d", dir, n))
		if err != nil {
			return n, err
		}
		f.Close()
	}
	time.Sleep(watcherTime)
	return most, nil
}

// workspaceInodes makes files in the workspace, many more than any limit, and
// stays until somebody looks.
func workspaceInodes(a Args) Verdict {
	n, err := makeFiles("many", a.Int("most"))
	if err != nil {
		return Heldf("%s at %d files", short(err), n)
	}
	return Breachf("the workspace took %d files", n)
}

// workspaceFill writes many files, each below the limit of one file.
func workspaceFill(a Args) Verdict {
	signal.Ignore(syscall.SIGXFSZ)
	size, total := a.Int("file"), 0
	for i := 0; total < a.Int("most"); i++ {
		f, err := os.Create(fmt.Sprintf("part-%d", i))
		if err != nil {
			return Heldf("%s at %d MiB", short(err), total/mib)
		}
		n, err := fill(int(f.Fd()), size)
		f.Close()
		total += n
		if err != nil && !errors.Is(err, unix.EFBIG) {
			return Heldf("%s at %d MiB", short(err), total/mib)
		}
	}
	time.Sleep(watcherTime)
	return Breachf("the workspace took %d MiB", total/mib)
}

// bigFile writes one file past the limit, in the workspace and outside.
func bigFile(a Args) Verdict {
	signal.Ignore(syscall.SIGXFSZ)
	limit := a.Int("limit")
	var all []Verdict
	for _, dir := range []string{".", "/tmp"} {
		n, err := fillNew(filepath.Join(dir, "big"), 4*limit)
		if n > limit {
			all = append(all, Breachf("%s: a file of %d MiB under a limit of %d MiB", dir, n/mib, limit/mib))
			continue
		}
		all = append(all, Heldf("%s: %s at %d MiB", dir, short(err), n/mib))
	}
	return Worst(all...)
}

var tooBig = []syscall.Errno{unix.EFBIG, unix.ENOSPC, unix.EINVAL, unix.EOPNOTSUPP, unix.EPERM}

// sparseFile asks for an exbibyte of nothing.
func sparseFile(Args) Verdict {
	return resize(func(fd int) error { return unix.Ftruncate(fd, 1<<60) })
}

// allocate asks for the whole disk at once.
func allocate(Args) Verdict {
	return resize(func(fd int) error { return unix.Fallocate(fd, 0, 0, 1<<40) })
}

func resize(do func(fd int) error) Verdict {
	signal.Ignore(syscall.SIGXFSZ)
	var all []Verdict
	for _, dir := range []string{".", "/tmp"} {
		f, err := os.Create(filepath.Join(dir, "sized"))
		if err != nil {
			return Errorf("%v", err)
		}
		all = append(all, expectErrno(tooBig, attempt{dir, func() error { return do(int(f.Fd())) }}))
		f.Close()
		os.Remove(f.Name())
	}
	return Worst(all...)
}

// deepTree nests directories below each other, far past the longest path.
func deepTree(a Args) Verdict {
	var all []Verdict
	for _, dir := range []string{a.Text("workspace"), "/tmp"} {
		n, err := nest(dir, a.Int("depth"))
		all = append(all, Heldf("%s: %d deep (%s)", dir, n, short(err)))
	}
	return Worst(all...)
}

func nest(dir string, depth int) (int, error) {
	if err := os.Chdir(dir); err != nil {
		return 0, err
	}
	for n := range depth {
		if err := unix.Mkdir("deep", 0o755); err != nil {
			return n, err
		}
		if err := unix.Chdir("deep"); err != nil {
			return n, err
		}
	}
	return depth, nil
}

// manyFiles leaves many small files behind, in the workspace and outside.
func manyFiles(a Args) Verdict {
	for _, dir := range []string{".", "/tmp"} {
		for n := range a.Int("count") {
			if err := os.WriteFile(fmt.Sprintf("%s/small-%d", dir, n), []byte("x"), 0o600); err != nil {
				return Heldf("%s at %d", short(err), n)
			}
		}
	}
	return Heldf("left %d files in each place", a.Int("count"))
}

// oddNames leaves files with every odd name in the workspace.
func oddNames(Args) Verdict {
	for _, name := range OddNames() {
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			return Errorf("%q: %v", name, err)
		}
	}
	return Heldf("%d odd names", len(OddNames()))
}

// writeOut asks for all file systems to be written out, again and again while
// the host looks.
func writeOut(Args) Verdict {
	var fds []int
	for _, path := range []string{"/", "/usr", "/etc", "/tmp", "."} {
		if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			fds = append(fds, fd)
		}
	}
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		defer func() { done <- n }()
		for pause := time.Tick(time.Millisecond); ; n++ {
			unix.Sync()
			for _, fd := range fds {
				_ = unix.Syncfs(fd)
			}
			select {
			case <-stop:
				return
			case <-pause:
			}
		}
	}()
	hold()
	close(stop)
	return Heldf("asked %d times", <-done)
}

// fileLease takes leases on files and holds them.
func fileLease(a Args) Verdict {
	var said []string
	for _, path := range []string{a.Text("shown"), "original"} {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		}
		said = append(said, short(err))
	}
	hold()
	return Heldf("leases: %s", strings.Join(said, ", "))
}
