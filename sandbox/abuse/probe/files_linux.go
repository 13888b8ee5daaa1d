package probe

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// linkLower gives a file of the project a second name and writes through it.
func linkLower(Args) Verdict {
	if err := os.Link("original", "alias"); err != nil {
		return Heldf("link: %s", short(err))
	}
	if err := os.WriteFile("alias", []byte("changed in the box"), 0o644); err != nil {
		return Errorf("%v", err)
	}
	return Heldf("wrote through a second name")
}

// overwrite changes the file that the host named.
func overwrite(a Args) Verdict {
	if err := os.WriteFile(a.Text("file"), []byte("changed in the box"), 0o644); err != nil {
		return Errorf("%v", err)
	}
	return Heldf("wrote %s", a.Text("file"))
}

// writeOwn changes a file that no other line of work may have changed.
func writeOwn(a Args) Verdict {
	b, err := os.ReadFile(a.Text("file"))
	if err == nil && strings.Contains(string(b), "another line") {
		return Breachf("%s holds what another line wrote", a.Text("file"))
	}
	if err := os.WriteFile(a.Text("file"), []byte("another line"), 0o644); err != nil {
		return Errorf("%v", err)
	}
	return Heldf("wrote %s", a.Text("file"))
}

// steadyView reads two files of a mounted directory for a while: both must
// come from the same directory, and always from that one.
func steadyView(a Args) Verdict {
	first := ""
	for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end); {
		for _, name := range []string{"one", "two"} {
			b, err := os.ReadFile(filepath.Join(a.Text("dir"), name))
			if err != nil {
				return Breachf("the view is torn: %v", err)
			}
			if first == "" {
				first = string(b)
			}
			if string(b) != first {
				return Breachf("the view changed from %s to %s", first, b)
			}
		}
	}
	return Heldf("%s", first)
}

// readOnlyMounts tries to write where the host's files are shown.
func readOnlyMounts(a Args) Verdict {
	dirs := append([]string{"/usr", "/usr/bin", "/usr/lib", "/etc", "/bin", "/lib", "/opt", "/var/lib/dpkg"}, a.List("dirs")...)
	v := unwritable(dirs...)
	return Worst(v, expectUnwritable("/etc/passwd", "/etc/hosts", "/etc/resolv.conf", "/usr/bin/env", "/bin/sh"))
}

// selfMemory writes to its own read-only memory through /proc, which must stay
// its own: the page of the program file on disk is shared with the host.
func selfMemory(a Args) Verdict {
	fd, err := unix.Open(a.Text("file"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Errorf("%v", err)
	}
	b, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return Errorf("%v", err)
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return Heldf("/proc/self/mem: %s", short(err))
	}
	defer mem.Close()
	_, err = mem.WriteAt([]byte("changed in the box"), addressOf(b))
	return Heldf("writing to own read-only memory: %s", short(err))
}
