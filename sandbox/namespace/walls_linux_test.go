package namespace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	shell(t, r, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -d '\\t '",
		"CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n")
	o := run(t, r, sh("cat /proc/self/uid_map"))
	fields := strings.Fields(o.out)
	if len(fields) != 3 || fields[1] == "0" {
		t.Fatalf("mapped to host root: %q", o.out)
	}
	shell(t, r, "hostname; cat /etc/hostname", "kintsugi\nkintsugi\n")
}

func TestSystemCalls(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for name, want := range map[string]string{
		"unshare user": "EPERM", "unshare mounts": "EPERM", "setns": "EPERM", "clone user": "EPERM",
		"clone3": "ENOSYS", "mount": "EPERM", "umount": "EPERM", "fsopen": "EPERM", "open_tree": "EPERM",
		"move_mount": "EPERM", "mount_setattr": "EPERM", "pivot_root": "EPERM", "chroot": "EPERM",
		"io_uring": "EPERM", "keyctl": "EPERM", "add_key": "EPERM", "bpf": "EPERM", "perf": "EPERM",
		"userfaultfd": "EPERM", "handle": "EPERM", "kexec": "EPERM", "module": "EPERM", "reboot": "EPERM",
		"settimeofday": "EPERM", "hostname": "EPERM", "unknown": "ENOSYS",
		"vsock": "EAFNOSUPPORT", "vsock, high bits": "EAFNOSUPPORT", "packet": "EAFNOSUPPORT", "alg": "EAFNOSUPPORT",
		"netlink audit": "EAFNOSUPPORT", "netlink route": "ok", "raw": "EPERM", "inet": "ok", "unix": "ok",
		"tiocsti": "EPERM", "tiocsti, high": "EPERM", "tioclinux, high": "EPERM",
		"aslr off": "EPERM", "personality": "ok", "ptrace init": "EPERM",
		"init's memory": "open /proc/1/mem: no such file or directory",
		"x32":           "SIGSYS 159",
		"device node":   "operation not permitted", "fifo": "<nil>",
		"inotify": "32 too many open files", "descriptors": "0 1 2 ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := probe(t, r, name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		})
	}
}

func TestHostIsOutOfSight(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(home, ".kintsugi-test-secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(secret)
	o := run(t, r, sh("ls -A "+home+" /tmp /var/tmp /run /root /home /mnt /media /srv /sys /boot 2>/dev/null; cat "+secret+" /etc/shadow /etc/gshadow /proc/1/environ; echo $SECRET"))
	for _, leak := range []string{".kintsugi-test-secret", "s3cret", "root:$", "root:*", "HOME=", ".ssh", ".npmrc", "docker"} {
		if strings.Contains(o.out, leak) {
			t.Errorf("%q is visible: %s", leak, o.out)
		}
	}
	shell(t, r, "for d in /sys /boot /mnt /media /srv /run/WSL /var/run/docker.sock; do test -e $d && echo $d; done; true", "")
	if !strings.HasPrefix(home, "/tmp/") {
		shell(t, r, "ls -A /tmp /var/tmp /run /dev/shm | grep -v : | tr -d '\\n'", "")
	}
}

func TestHostIsReadOnly(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for _, path := range []string{"/x", "/usr/x", "/etc/x", "/etc/passwd", "/bin/x", "/opt/x", "/proc/x", "/dev/x", "/var/lib/dpkg/x", "/proc/sys/kernel/hostname"} {
		if o := run(t, r, sh("echo x 2>/dev/null >"+path)); o.ExitCode == 0 {
			t.Errorf("%s can be written", path)
		}
	}
	if r := newRuntime(t); landlockABI() >= oldestLandlock {
		if o := run(t, r, sh("chmod 755 / /dev && echo x >/x")); o.ExitCode == 0 {
			t.Error("the root can be opened for writing")
		}
	}
	shell(t, r, "for d in /tmp /var/tmp /run /dev/shm $HOME; do echo x >$d/x && cat $d/x; done", "x\nx\nx\nx\nx\n")
}

func TestProc(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	shell(t, r, "ls -d /proc/[0-9]* | wc -l | grep -c '^[2-5]$'", "1\n")
	for _, name := range []string{"kcore", "keys", "key-users", "kallsyms", "kmsg", "timer_list", "sysrq-trigger", "config.gz", "modules", "kpageflags", "cmdline", "iomem"} {
		if o := run(t, r, sh("cat /proc/"+name+" | head -c 100")); o.out != "" {
			t.Errorf("/proc/%s can be read: %q", name, o.out)
		}
	}
	for _, name := range []string{"cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "filesystems", "mounts", "self/status", "sys/kernel/pid_max"} {
		if o := run(t, r, sh("head -c 20 /proc/"+name+" | wc -c")); strings.TrimSpace(o.out) == "0" {
			t.Errorf("/proc/%s is missing: %s", name, o.err)
		}
	}
}

func TestNetworkNone(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	shell(t, r, "sed 1,2d /proc/net/dev | cut -d: -f1 | tr -d ' '", "lo\n")
	o := run(t, r, sh("exec 3<>/dev/tcp/192.0.2.1/80"))
	if o.ExitCode == 0 || o.Duration.Milliseconds() > 500 {
		t.Fatalf("a connection to the outside took %v and ended with %d", o.Duration, o.ExitCode)
	}
	shell(t, r, "getent hosts localhost | grep -c localhost", "1\n")
}

// TestSpacesAreTheBoxesOwn wants every name space but the users' to be neither
// the host's nor that of another box. A box has its network from its maker, in
// which nothing else is; the others are not the maker's either.
func TestSpacesAreTheBoxesOwn(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for _, space := range []string{"net", "mnt", "pid", "ipc", "uts", "cgroup"} {
		host, err := os.Readlink("/proc/self/ns/" + space)
		if err != nil {
			t.Fatal(err)
		}
		spec := sh("readlink /proc/self/ns/" + space + "; sleep 100")
		lines := &lineWriter{lines: make(chan string, 1)}
		spec.Stdout = lines
		b := start(t, r, spec)
		got := strings.TrimSpace(<-lines.lines)
		if got == "" || got == host {
			t.Errorf("%s: the box has %q, the host %q", space, got, host)
		}
		beside := run(t, r, sh("readlink /proc/self/ns/"+space))
		if strings.TrimSpace(beside.out) == got {
			t.Errorf("%s: two boxes have %q", space, got)
		}
		if os.Geteuid() == 0 && space != "net" { // only root may look at the maker
			link := fmt.Sprintf("/proc/%d/ns/%s", b.(*box).slot.maker.pid, space)
			maker, err := os.Readlink(link)
			if err != nil || maker == got {
				t.Errorf("%s: the box has %q, the maker %q, %v", space, got, maker, err)
			}
		}
		b.Kill()
		if _, err := b.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// lineWriter hands on what is written.
type lineWriter struct{ lines chan string }

func (w *lineWriter) Write(p []byte) (int, error) {
	w.lines <- string(p)
	return len(p), nil
}

func TestProgramsOfTheHostRun(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	for _, c := range []struct{ tool, script, want string }{
		{"python3", "python3 -c 'import threading,ssl,sqlite3; t=threading.Thread(target=print, args=(42,)); t.start(); t.join()'", "42\n"},
		{"node", "node -e 'const {Worker}=require(\"worker_threads\"); console.log(require(\"os\").cpus().length > 0)'", "true\n"},
		{"gcc", "cd /tmp && printf 'int puts(const char*);int main(){puts(\"c\");}' >a.c && gcc -x c a.c -o a && ./a", "c\n"},
		{"java", "cd /tmp && echo 'class A{public static void main(String[] a){System.out.println(\"j\");}}' >A.java && java A.java", "j\n"},
		{"bash", "bash -c 'echo a | tee >(cat >/dev/null) | cat'", "a\n"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			if o := run(t, r, sh("command -v "+c.tool)); o.ExitCode != 0 {
				t.Skipf("%s is not installed", c.tool)
			}
			shell(t, r, c.script, c.want)
		})
	}
}

func TestPlantedLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	victim, project, layer := t.TempDir(), t.TempDir(), files(t, map[string]string{"var/lib/x": ""})
	for link, to := range map[string]string{filepath.Join(project, "sub"): victim, filepath.Join(layer, "var/cache"): victim, filepath.Join(layer, "var/tmp"): victim} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	spec := sh("echo fine; echo x >/var/tmp/x; echo x >sub/x")
	spec.Dir, spec.Workspace, spec.Layers = project, sandbox.Workspace{Path: project}, []string{layer}
	if o := run(t, r, spec); o.out != "fine\n" {
		t.Fatalf("saw %q %q", o.out, o.err)
	}
	spec.Mounts = []sandbox.Mount{{Source: victim, Target: filepath.Join(project, "sub/new/place")}}
	spec.Env = sandbox.BaseEnv(os.Environ())
	if _, err := r.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("a mount through a link: %v", err)
	}
	if left, err := os.ReadDir(victim); err != nil || len(left) > 0 {
		t.Errorf("on the host appeared %v, %v", left, err)
	}
}

func TestHomeAsWorkspace(t *testing.T) {
	t.Parallel()
	home := files(t, map[string]string{"plot.py": "P", "data/.hidden": "H", ".ssh/id": "S", ".netrc": "N", ".cargo/bin/hello": "#!/bin/sh\necho ran\n", ".cargo/credentials.toml": "C", "bin/tool": "#!/bin/sh\necho tool\n"})
	path := home + "/.cargo/bin:" + home + "/bin:/usr/bin:/bin"
	r := open(t, Options{Home: home, Environ: []string{"PATH=" + path}, StateDir: newRuntime(t).options.StateDir})
	spec := sandbox.Spec{Argv: []string{"sh", "-c", "hello; tool; find . -type f | sort; mkdir .ssh && echo x >.ssh/new && ls .ssh"}, Env: []string{"PATH=" + path}, Dir: home, Workspace: sandbox.Workspace{Path: home}}
	want := "ran\ntool\n./.cargo/bin/hello\n./bin/tool\n./data/.hidden\n./plot.py\nnew\n"
	if o := run(t, r, spec); o.out != want {
		t.Fatalf("saw:\n%s%s\nwant:\n%s", o.out, o.err, want)
	}
	spec.Workspace.Path = filepath.Dir(home)
	if _, err := r.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "contains your home") {
		t.Fatalf("a workspace around the home: %v", err)
	}
	spec.Workspace = sandbox.Workspace{Path: home, Upper: home + "/u", Work: home + "/w"}
	if _, err := r.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "lie inside of the workspace") {
		t.Fatalf("an upper directory inside of the workspace: %v", err)
	}
}

func TestToolsBelowTheHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, f := range []string{".cargo/bin/hello", ".cargo/credentials.toml", ".pyenv/shims/py", ".local/bin/loc", ".local/share/secret/x", ".ssh/id"} {
		path := filepath.Join(home, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho ran\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := home + "/.cargo/bin:" + home + "/.pyenv/shims:" + home + "/.local/bin:/usr/bin:/bin"
	r := open(t, Options{Home: home, Environ: []string{"PATH=" + path, "HOME=" + home}, StateDir: newRuntime(t).options.StateDir})
	o := run(t, r, sandbox.Spec{Argv: []string{"sh", "-c", "hello; py; loc; cd; find . | sort; echo x >.cargo/bin/hello"}, Env: []string{"PATH=" + path, "HOME=" + home}})
	want := "ran\nran\nran\n.\n./.cargo\n./.cargo/bin\n./.cargo/bin/hello\n./.local\n./.local/bin\n./.local/bin/loc\n./.pyenv\n./.pyenv/shims\n./.pyenv/shims/py\n"
	if o.out != want || o.ExitCode == 0 {
		t.Fatalf("exit %d, saw:\n%s\nwant:\n%s", o.ExitCode, o.out, want)
	}
}

// TestNoRealTimePriority starts boxes from a workbench with real-time priority:
// their programs must not have it.
func TestNoRealTimePriority(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may have real-time priority")
	}
	t.Parallel()
	r := newRuntime(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := policy(unix.SCHED_RR, 1); err != nil {
		t.Skipf("no real-time priority is to be had here: %v", err)
	}
	defer policy(unix.SCHED_NORMAL, 0)
	shell(t, r, "cut -d' ' -f41 /proc/self/stat", "0\n")
}

// policy sets how the calling thread, and what it starts, is scheduled.
func policy(policy, priority uint32) error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0)
}
