package probe

import (
	"bytes"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// environment prints the names of all variables; the host compares them. None
// may carry the planted secret.
func environment(a Args) Verdict {
	var names []string
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if strings.Contains(value, a.Text("secret")) {
			return Breachf("%s carries the planted secret", name)
		}
		names = append(names, name)
	}
	sort.Strings(names)
	return Heldf("%s", strings.Join(names, " "))
}

// private are files below a home that belong to the user alone.
var private = []string{
	".ssh", ".aws", ".azure", ".config/gcloud", ".config/gh", ".config/git/credentials", ".netrc", ".docker/config.json",
	".git-credentials", ".gnupg", ".kube", ".npmrc", ".pypirc", ".cargo/credentials.toml", ".bash_history",
	".zsh_history", ".python_history", ".local/share/fish/fish_history", ".node_repl_history", ".psql_history",
	".mozilla", ".config/google-chrome", ".config/chromium", ".thunderbird", ".password-store",
	".local/share/keyrings", ".config/op", ".terraform.d/credentials.tfrc.json", ".vault-token", ".ollama/id_ed25519",
	".config/kintsugi", ".local/state/kintsugi", ".local/share/kintsugi",
}

// homeSecrets looks for what a home holds, under the host's path and the
// box's own.
func homeSecrets(a Args) Verdict {
	var paths []string
	for _, home := range []string{a.Text("home"), os.Getenv("HOME"), "/root"} {
		for _, file := range private {
			paths = append(paths, filepath.Join(home, file))
		}
	}
	return Worst(expectAbsent(paths...), expectSecretHidden(a.Text("secret"), a.List("planted")...))
}

// serviceSockets looks for the sockets that give control over the host.
func serviceSockets(a Args) Verdict {
	uid := a.Text("uid")
	run := "/run/user/" + uid
	paths := []string{
		"/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", run + "/podman/podman.sock",
		run + "/docker.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/buildkit/buildkitd.sock",
		"/tmp/.X11-unix", "/tmp/.ICE-unix", run + "/wayland-0", run + "/pulse/native", run + "/pipewire-0",
		run + "/bus", "/run/dbus/system_bus_socket", run + "/gnupg/S.gpg-agent", run + "/keyring/ssh",
		"/tmp/tmux-" + uid, run + "/systemd/private", "/run/snapd.socket", "/run/libvirt/libvirt-sock",
		"/run/WSL", "/mnt/wslg", "/mnt/c", "/run/cups/cups.sock", "/run/systemd/resolve/io.systemd.Resolve",
	}
	for _, name := range []string{"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "TMUX"} {
		if os.Getenv(name) != "" {
			return Breachf("%s is set", name)
		}
	}
	return Worst(expectAbsent(append(paths, a.List("paths")...)...), dial("unix", "@/tmp/.X11-unix/X0"),
		dial("unix", "@"+a.Text("abstract")))
}

// workbenchSecrets looks for the workbench's own memory, environment and
// state.
func workbenchSecrets(a Args) Verdict {
	var paths []string
	for _, pid := range append([]int{a.Int("host")}, pids()...) {
		if pid != os.Getpid() {
			paths = append(paths, procFiles(pid, "environ", "mem", "maps")...)
		}
	}
	v := expectSecretHidden(a.Text("secret"), append(a.List("planted"), paths...)...)
	return Worst(v, expectAbsent(a.List("state")...))
}

// leaveTraces leaves the token wherever a later box could find it.
func leaveTraces(a Args) Verdict {
	var left []string
	for _, dir := range append(writableDirs(), ".") {
		if os.WriteFile(filepath.Join(dir, "trace"), []byte(a.Text("trace")), 0o666) == nil {
			left = append(left, dir)
		}
	}
	k := &kit{}
	_, _ = k.now(unix.SYS_SHMGET, a.Int("key"), 4096, 0o666|0o1000)
	if a.Text("hold") != "" {
		hold()
	}
	return Heldf("left traces in %s", strings.Join(left, " "))
}

// findTraces looks for what leaveTraces left in an earlier box.
func findTraces(a Args) Verdict {
	var paths []string
	for _, dir := range append(writableDirs(), ".") {
		paths = append(paths, filepath.Join(dir, "trace"))
	}
	k := &kit{}
	if _, err := k.now(unix.SYS_SHMGET, a.Int("key"), 0, 0); err == nil {
		return Breachf("the shared memory of an earlier box is there")
	}
	return Worst(expectAbsent(paths...), dirtyMemory([]byte(a.Text("trace"))))
}

// dirtyMemory wants fresh memory to be empty.
func dirtyMemory(trace []byte) Verdict {
	b, err := unix.Mmap(-1, 0, 16*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return Errorf("%v", err)
	}
	if bytes.Contains(b, trace) || bytes.Count(b, []byte{0}) != len(b) {
		return Breachf("fresh memory is not empty")
	}
	return Heldf("fresh memory is empty")
}

// hostIdentity looks for what tells one machine from another.
func hostIdentity(a Args) Verdict {
	v := expectUnreadable("/sys/class/dmi/id/product_serial", "/sys/class/dmi/id/product_uuid",
		"/sys/class/dmi/id/board_serial", "/sys/class/net/eth0/address", "/sys/kernel/notes", "/sys/kernel/vmcoreinfo",
		"/sys/firmware/dmi/tables/DMI", "/sys/kernel/debug/sched", "/var/lib/dbus/machine-id")
	host, _ := os.Hostname()
	if host == a.Text("hostname") {
		v = Worst(v, Breachf("the host's name is %s", host))
	}
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && a.Text("machine") != "" &&
		strings.TrimSpace(string(id)) == a.Text("machine") {
		v = Worst(v, Breachf("the machine's id is readable"))
	}
	return Worst(v, shared("/proc/uptime", "/proc/loadavg", "/proc/stat", "/proc/version"))
}

// shared notes which files show the whole machine.
func shared(paths ...string) Verdict {
	var seen []string
	for _, p := range paths {
		if readable(p) {
			seen = append(seen, p)
		}
	}
	return Heldf("shared with the machine: %s", strings.Join(append(seen, "the kernel"), ", "))
}

// timing notes that boxes can see each other's load.
func timing(Args) Verdict {
	return shared("/proc/stat", "/proc/loadavg", "/proc/meminfo", "/proc/pressure/cpu")
}

// lockChannel notes whether locks on files that all boxes share can be taken.
func lockChannel(Args) Verdict {
	fd, err := unix.Open("/usr/bin/env", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Heldf("no shared file: %s", short(err))
	}
	defer unix.Close(fd)
	lock := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	_, lease := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return Heldf("on a shared file: flock %s, lease %s", short(lock), short(lease))
}

// openWatch wants to be told when the host opens a program.
func openWatch(Args) Verdict {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return Heldf("no watches: %s", short(err))
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, Watched, unix.IN_OPEN); err != nil {
		return Heldf("no watch on %s: %s", Watched, short(err))
	}
	hold()
	n, err := unix.Read(fd, make([]byte, 4096))
	if n <= 0 {
		return Heldf("nothing is told: %s", short(err))
	}
	return Breachf("the box was told that %s was opened outside", Watched)
}

// Watched is a program that host and box have.
const Watched = "/usr/bin/env"

// cgroups looks for the box's own limits and tries to loosen them.
func cgroups(Args) Verdict {
	var open []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && unix.Access(path, unix.W_OK) == nil && len(open) < 8 {
			open = append(open, path)
		}
		return nil
	})
	k := &kit{}
	v := expectErrno(denied,
		attempt{"mount cgroup", k.tryInChild(unix.SYS_MOUNT, "cgroup", "/tmp", "cgroup", 0, "memory")},
		attempt{"mount cgroup2", k.tryInChild(unix.SYS_MOUNT, "cgroup2", "/tmp", "cgroup2", 0, 0)})
	if len(open) > 0 {
		v = Worst(v, Breachf("writable: %s", abridge(open)))
	}
	return Worst(v, ownGroup())
}

// ownGroup wants the process not to see where in the host's tree it is.
func ownGroup() Verdict {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Heldf("no /proc/self/cgroup")
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 && f[2] != "/" && f[2] != "" {
			return Breachf("the host's group %s is visible", line)
		}
	}
	return Heldf("groups look like roots")
}
