package namespace

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox/namespace/launch"
)

// shownProc are the entries of /proc, besides processes, that programs read to
// do their work, or that say nothing that is not in those.
// Whatever tells more about the machine or its user is covered, and so is
// whatever is not known here.
var shownProc = []string{
	"cgroups", "cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "swaps", "sys",
	"sysvipc", "thread-self", "uptime", "version", "vmstat",
	"buddyinfo", "consoles", "crypto", "devices", "dma", "execdomains", "misc", "pressure", "zoneinfo",
}

// mask is an entry of /proc that is covered by an empty file or directory.
type mask struct {
	name string
	dir  bool
}

// findMasks lists what is to be covered on this kernel. Links lead to places
// that a box does not have, or to what is shown or covered itself. Entries that only the
// host's root may read stay: nobody in a box is the host's root.
func findMasks(proc string) ([]mask, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	var out []mask
	for _, e := range entries {
		name := e.Name()
		if name[0] >= '0' && name[0] <= '9' || slices.Contains(shownProc, name) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode()&0o077 != 0 && info.Mode()&os.ModeSymlink == 0 {
			out = append(out, mask{name: name, dir: e.IsDir()})
		}
	}
	return out, nil
}

// emptyDir is a directory of every box that has nothing in it.
const emptyDir = "var/empty"

// proc mounts a /proc of the box's own processes.
func (p *plan) proc() {
	p.Note("mounting /proc")
	p.Call(unix.SYS_MOUNT, "proc", "proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=invisible")
	p.Note("making /proc/sys read-only")
	p.Call(unix.SYS_MOUNT, "proc/sys", "proc/sys", 0, unix.MS_BIND, 0)
	readOnly := part{}
	p.setattr("proc/sys", readOnly.attr())
	for _, m := range p.host.masks {
		p.Note("covering /proc/%s", m.name)
		cover := "dev/null"
		if m.dir {
			cover = emptyDir
		}
		p.unless(unix.ENOENT, unix.SYS_MOUNT, cover, "proc/"+m.name, 0, unix.MS_BIND, 0)
	}
}

// unless adds a call that may fail with one error number: what is to be
// covered may be gone by then.
func (p *plan) unless(errno unix.Errno, nr int, args ...any) {
	failed, fine := p.Label(), p.Label()
	p.CallOr(failed, nr, args...)
	p.Jump(fine)
	p.Bind(failed)
	p.JumpIf(launch.LastErrno(), -1, int(errno), fine)
	p.Jump(launch.Failed)
	p.Bind(fine)
}
