package probe

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// expectUnwritable wants none of the files to open for writing. Nothing is
// ever written.
func expectUnwritable(paths ...string) Verdict {
	var open []string
	for _, p := range paths {
		fd, err := unix.Open(p, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if !isNull(fd) {
			open = append(open, p)
		}
		unix.Close(fd)
	}
	if len(open) > 0 {
		return Breachf("open for writing: %s", abridge(open))
	}
	return Heldf("%d files, none opens for writing", len(paths))
}

// isNull says that a descriptor is the null device, a common cover.
func isNull(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3)
}

// expectFixed wants no kernel switch to take a value. What is written is what
// it has.
func expectFixed(paths ...string) Verdict {
	var open []string
	for _, p := range paths {
		now, err := os.ReadFile(p)
		if err != nil || len(now) == 0 {
			continue
		}
		if rewrite(p, string(now)).Verdict == Breach {
			open = append(open, p)
		}
	}
	if len(open) > 0 {
		return Breachf("can be set: %s", abridge(open))
	}
	return Heldf("%d switches, none can be set", len(paths))
}

// procWrites tries the files through which /proc changes the kernel, and the
// ones that undo what was set up for this process.
func procWrites(Args) Verdict {
	triggers := expectUnwritable("/proc/sysrq-trigger", "/proc/sys/vm/drop_caches", "/proc/sys/vm/compact_memory",
		"/proc/sys/fs/binfmt_misc/register", "/proc/irq/default_smp_affinity", "/proc/bus/pci/devices", "/proc/mtrr",
		"/proc/acpi/wakeup")
	sys := expectFixed("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
		"/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
		"/proc/sys/kernel/randomize_va_space", "/proc/sys/user/max_user_namespaces",
		"/proc/sys/user/max_inotify_instances", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/kernel/ns_last_pid")
	return Worst(triggers, sys, rewrite("/proc/self/uid_map", "0 0 1"), rewrite("/proc/self/gid_map", "0 0 1"),
		rewrite("/proc/self/oom_score_adj", "-1000"), rewrite("/proc/1/oom_score_adj", "-1000"),
		rewrite("/proc/self/setgroups", "allow"))
}

func rewrite(path, value string) Verdict {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(value)
		f.Close()
	}
	if err == nil {
		return Breachf("wrote %q to %s", value, path)
	}
	return Heldf("")
}

// kernelFiles looks for windows into the kernel and into real memory.
func kernelFiles(Args) Verdict {
	files := expectUnreadable("/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kmsg", "/proc/timer_list",
		"/proc/sched_debug", "/proc/slabinfo", "/proc/kpagecount", "/proc/kpageflags", "/proc/vmallocinfo",
		"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/kvm",
		"/dev/fuse", "/dev/net/tun", "/dev/vhost-net", "/dev/loop0", "/dev/loop-control", "/dev/mapper/control",
		"/dev/uinput", "/dev/input/event0", "/dev/fb0", "/dev/dri/card0", "/dev/snd/timer", "/dev/video0")
	k := &kit{}
	buf := make([]byte, 4096)
	return Worst(files, noAddresses(), expectErrno(denied, attempt{"syslog", k.try(unix.SYS_SYSLOG, 3, buf, len(buf))}))
}

// noAddresses wants /proc/kallsyms to be absent or to hide the addresses.
func noAddresses() Verdict {
	b, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return Heldf("")
	}
	for _, line := range strings.Split(string(b), "\n") {
		address, _, ok := strings.Cut(line, " ")
		if ok && strings.Trim(address, "0") != "" {
			return Breachf("/proc/kallsyms gives addresses")
		}
	}
	return Heldf("")
}

// devices makes device nodes.
func devices(Args) Verdict {
	var all []attempt
	for _, dir := range []string{".", "/tmp", "/dev/shm"} {
		all = append(all,
			attempt{dir + " disk", node(dir, unix.S_IFBLK, 8, 0)},
			attempt{dir + " memory", node(dir, unix.S_IFCHR, 1, 1)},
			attempt{dir + " whiteout", node(dir, unix.S_IFCHR, 0, 0)},
		)
	}
	return expectErrno(append([]syscall.Errno{unix.ENOENT}, denied...), all...)
}

func node(dir string, kind uint32, major, minor uint32) func() error {
	return func() error {
		path := filepath.Join(dir, "node")
		err := unix.Mknod(path, kind|0o600, int(unix.Mkdev(major, minor)))
		if err == nil {
			os.Remove(path)
		}
		return err
	}
}

// privileges checks that no program can give more than this process has. An
// engine's image is not mounted nosuid: no_new_privs alone stands there.
func privileges(a Args) Verdict {
	var all []Verdict
	if set, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); set != 1 {
		all = append(all, Breachf("no_new_privs is off"))
	}
	for _, name := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if value := statusField(name); strings.Trim(value, "0") != "" {
			all = append(all, Breachf("%s is %s", name, value))
		}
	}
	for _, point := range withoutOption("nosuid") {
		if a.Text("engine") != "" {
			break
		}
		all = append(all, Breachf("%s honours set-uid programs", point))
	}
	return Worst(append(all, Heldf("no_new_privs, no capabilities, every mount nosuid"))...)
}

// statusField is a field of /proc/self/status.
func statusField(name string) string {
	b, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(b), "\n") {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// withoutOption lists the mounts that lack a mount option and could hold
// programs: a mounted device node cannot.
func withoutOption(option string) []string {
	b, _ := os.ReadFile("/proc/self/mountinfo")
	var out []string
	for _, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) > 5 && !strings.Contains(","+f[5]+",", ","+option+",") && !isDevice(f[4]) {
			out = append(out, f[4])
		}
	}
	return out
}

func isDevice(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode()&os.ModeDevice != 0
}

// fileCaps puts capabilities and set-uid bits on a copy of this program and
// runs it.
func fileCaps(a Args) Verdict {
	path, err := copySelf("/tmp/powerful")
	if err != nil {
		return Errorf("%v", err)
	}
	capability := make([]byte, 20)
	capability[3] = 2 // revision 2
	capability[0] = 1 // effective
	for i := 4; i < 20; i++ {
		capability[i] = 0xff
	}
	set := unix.Setxattr(path, "security.capability", capability, 0)
	_ = os.Chmod(path, 0o6755)
	v := runProbe(path, "privileges", a.Token, "engine="+a.Text("engine"))
	if v.Verdict == Held {
		v.Detail = "setting them: " + short(set) + "; the program got nothing"
	}
	return v
}

func copySelf(path string) (string, error) {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, b, 0o755)
}

// runProbe runs another probe with the given executable, which is this program
// under another name.
func runProbe(path, name, token string, params ...string) Verdict {
	return parse(exec.Command(path, selfArgs(name, token, params...)...).Output())
}

func parse(out []byte, err error) Verdict {
	for _, line := range strings.Split(string(out), "\n") {
		if v, ok := Parse(line); ok {
			return v
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return Errorf("%v: %.200s", err, exit.Stderr)
	}
	return Errorf("%v", err)
}

// copies runs the walls again from a renamed copy, from anonymous memory,
// through a descriptor and through the dynamic loader.
func copies(a Args) Verdict {
	path, err := copySelf("/tmp/innocent")
	if err != nil {
		return Errorf("%v", err)
	}
	params := []string{"secret=" + a.Text("secret"), "planted=" + a.Text("planted"), "engine=" + a.Text("engine")}
	all := []Verdict{runProbe(path, "walls", a.Token, params...)}
	if fd, err := memoryCopy(); err == nil {
		all = append(all, runProbe("/proc/self/fd/"+strconv.Itoa(fd), "walls", a.Token, params...))
	}
	for _, loader := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		out, err := exec.Command(loader, "/bin/cat", a.List("planted")[0]).Output()
		if err == nil && strings.Contains(string(out), a.Text("secret")) {
			all = append(all, Breachf("the loader ran a program that read the host's file"))
		}
	}
	return Worst(all...)
}

// memoryCopy is a descriptor, open across exec, of this program in memory.
func memoryCopy() (int, error) {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return 0, err
	}
	fd, err := unix.MemfdCreate("innocent", 0)
	if err != nil {
		return 0, err
	}
	_, err = unix.Write(fd, b)
	return fd, err
}

// walls is a short form of the matrix: it tells whether this process is
// inside the same walls as any other of the box.
func walls(a Args) Verdict {
	k := &kit{}
	return Worst(
		expectSecretHidden(a.Text("secret"), a.List("planted")...),
		expectErrno(append([]syscall.Errno{unix.ENOSPC}, denied...),
			attempt{"mount", k.tryInChild(unix.SYS_MOUNT, "none", "/tmp", "tmpfs", 0, 0)},
			attempt{"unshare", k.tryInChild(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)}),
		privileges(a),
	)
}

// ownProgram tries to change the program file that the host will run again.
func ownProgram(Args) Verdict {
	paths := []string{"/proc/self/exe", "/proc/1/exe"}
	if exe, err := os.Readlink("/proc/self/exe"); err == nil {
		paths = append(paths, exe)
	}
	return expectUnwritable(paths...)
}
