package namespace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// cgroups makes control groups for boxes: version 2 where it is delegated to
// us, version 1 for root, or none. Which one is found out by making a group.
type cgroups struct {
	// version is 2, 1 or 0 (none).
	version int
	// bases are the directories below which groups are made, by controller. In
	// version 2 all are the same.
	bases map[string]string
	// why says why there is none.
	why string
	// own is which group this process was in when these were found; empty when it
	// went to another one for them.
	own string
}

// group is the control group of one slot: one directory per hierarchy.
type group struct {
	version int
	dirs    map[string]string // by controller
	procs   map[string]int    // the open files by which a process joins
	now     map[string]string // settings as they are, by file
	files   map[string]int    // files that are read again and again

	// What the counters said when the box of now began.
	oldKilled, oldRefused, oldPeak int64
}

// controllers that boxes need, most important first.
var controllers = []string{"memory", "pids", "cpu"}

// findCgroups finds a place where control groups can be made: the one that the
// mark tells of, or another.
func findCgroups(h *host) *cgroups {
	own := currentGroup()
	known := h.recall()
	if c := known.groups(own); c != nil {
		return c
	}
	c := lookForCgroups(h)
	if own == currentGroup() {
		c.own = own
	}
	if known.Sign != "" && c.version != 0 && c.own != "" {
		h.mark(c)
	}
	return c
}

// currentGroup is the text by which the kernel says in which control groups
// this process is.
func currentGroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	return string(text)
}

// lookForCgroups tries all places.
func lookForCgroups(h *host) *cgroups {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return &cgroups{why: err.Error()}
	}
	find := func(in func(*host, []*mountinfo.Info, map[string]string) *cgroups) *cgroups {
		own, err := ownGroups("/proc/self/cgroup")
		if err != nil {
			return &cgroups{why: err.Error()}
		}
		return in(h, mounts, own)
	}
	c := find(findV2)
	if c.version == 0 && h.privileged {
		if v1 := find(findV1); v1.version != 0 {
			return v1
		}
	}
	if c.version == 0 && !h.privileged && askForScope(h) == nil {
		// The answer comes before the move, and the move before the controllers.
		const patience = 300 * time.Millisecond
		for deadline := time.Now().Add(patience); c.version == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			c = find(findV2)
		}
	}
	return c
}

// askForScope asks the user's systemd to move us into a scope of our own, whose
// control group is ours to divide. Sessions on a text console or over ssh begin
// in a group that is not.
func askForScope(h *host) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	pid := strconv.Itoa(os.Getpid())
	ask := exec.CommandContext(ctx, "busctl", "--user", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
		"org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))",
		"kintsugi-"+pid+".scope", "fail", "2", "PIDs", "au", "1", pid, "Delegate", "b", "true", "0")
	ask.Env = h.environ
	return ask.Run()
}

// ownGroups reads which group this process is in, by controller ("" for
// version 2).
func ownGroups(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	own := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for _, c := range strings.Split(fields[1], ",") {
			own[c] = fields[2]
		}
	}
	return own, nil
}

// findV1 finds version 1 hierarchies; groups are made below our own group, so
// that what bounds us bounds the boxes too.
func findV1(_ *host, mounts []*mountinfo.Info, own map[string]string) *cgroups {
	c := &cgroups{version: 1, bases: map[string]string{}, why: "there is no group for the processor's share"}
	for _, m := range mounts {
		for _, name := range strings.Split(m.VFSOptions, ",") {
			if m.FSType != "cgroup" || !isController(name) {
				continue
			}
			for _, base := range []string{filepath.Join(m.Mountpoint, own[name]), m.Mountpoint} {
				if canMake(base) {
					c.bases[name] = base
					break
				}
			}
		}
	}
	if len(c.bases) == 0 {
		return &cgroups{why: "no control group can be made"}
	}
	return c
}

func isController(name string) bool { return slices.Contains(controllers, name) }

// canMake makes and removes a group.
func canMake(base string) bool {
	dir, err := os.MkdirTemp(base, "kintsugi-probe-")
	if err != nil {
		return false
	}
	return unix.Rmdir(dir) == nil
}

// findV2 finds the nearest group above us, or us, that is ours to write and
// hands the controllers down.
func findV2(h *host, mounts []*mountinfo.Info, own map[string]string) *cgroups {
	for _, m := range mounts {
		if m.FSType != "cgroup2" {
			continue
		}
		for path := own[""]; path != ""; path = above(path) {
			base := filepath.Join(m.Mountpoint, path)
			has := handsDown(base, h.privileged && path == "/")
			if !slices.Contains(has, "memory") || !slices.Contains(has, "pids") || !canMake(base) {
				continue
			}
			c := &cgroups{version: 2, bases: map[string]string{}, why: "the processor's share is not handed down to us"}
			for _, controller := range has {
				c.bases[controller] = base
			}
			return c
		}
	}
	return &cgroups{why: "no control group is delegated to this user"}
}

func above(path string) string {
	if path == "/" {
		return ""
	}
	return filepath.Dir(path)
}

// handsDown lists the controllers that groups below base have, of those that
// boxes need; enable asks for them first.
func handsDown(base string, enable bool) []string {
	file := filepath.Join(base, "cgroup.subtree_control")
	if enable {
		for _, name := range controllers {
			_ = os.WriteFile(file, []byte("+"+name), 0)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || unix.Access(filepath.Join(base, "cgroup.procs"), unix.W_OK) != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Fields(string(text)), func(name string) bool { return !isController(name) })
}

// groupsPrefix is how the names of all our groups start: other users, and other
// directories for leases, have other names.
func (h *host) groupsPrefix() string {
	sum := sha256.Sum256([]byte(h.stateDir))
	return fmt.Sprintf("kintsugi-%x-", sum[:4])
}

// groupPrefix is how the names of a slot's groups start.
func (h *host) groupPrefix(slot int) string { return fmt.Sprintf("%s%d-", h.groupsPrefix(), slot) }

// open makes the group of a slot, which its boxes use one after another. A nil
// group means that there are none here.
func (c *cgroups) open(name string) (*group, error) {
	if c.version == 0 {
		return nil, nil
	}
	g := &group{version: c.version, dirs: map[string]string{}, procs: map[string]int{}, now: map[string]string{}, files: map[string]int{}}
	for _, controller := range controllers {
		if base, has := c.bases[controller]; has {
			if err := g.add(controller, filepath.Join(base, name)); err != nil {
				g.remove()
				return nil, fmt.Errorf("control group: %w", err)
			}
		}
	}
	return g, nil
}

// add makes one directory. One of that name was left by a workbench that was
// killed, unless it is version 2's, which serves all controllers.
func (g *group) add(controller, dir string) error {
	if g.version == 2 && len(g.dirs) > 0 {
		g.dirs[controller] = dir
		return nil
	}
	err := unix.Mkdir(dir, 0o755)
	if errors.Is(err, unix.EEXIST) {
		killGroup(dir)
		removeGroup(dir)
		err = unix.Mkdir(dir, 0o755)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	g.dirs[controller] = dir
	fd, err := unix.Open(dir+"/"+g.file("tasks", "cgroup.procs"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		g.procs[controller] = fd
	}
	return err
}

// setting is a file of a group and what to write to it.
type setting struct {
	controller, file string
	value            string
	optional         bool
}

// limit writes the limits of the next box.
func (g *group) limit(l sandbox.Limits) error {
	if g == nil {
		return nil
	}
	for _, s := range g.settings(l) {
		if err := g.set(s); err != nil && !s.optional {
			return fmt.Errorf("control group: %s: %w", s.file, err)
		}
	}
	return nil
}

// set writes one setting unless it is set already.
func (g *group) set(s setting) error {
	dir, has := g.dirs[s.controller]
	if !has || g.now[s.file] == s.value {
		return nil
	}
	err := writeFile(dir+"/"+s.file, s.value)
	if err == nil {
		g.now[s.file] = s.value
	}
	return err
}

// file picks a name by version.
func (g *group) file(v1, v2 string) string {
	if g.version == 2 {
		return v2
	}
	return v1
}

// ownProcesses are ours in a group: the slot's maker and the box's init.
const ownProcesses = 2

// settings are the limits as files. Swap is closed: what does not fit into
// memory is not moved to disk. Version 1 wants memory and swap together never
// below memory alone, so that goes out of the way first.
func (g *group) settings(l sandbox.Limits) []setting {
	unlimited := g.file("-1", "max")
	number := func(n int64) string {
		if n <= 0 {
			return unlimited
		}
		return strconv.FormatInt(n, 10)
	}
	processes := "max"
	if l.Processes > 0 {
		processes = strconv.Itoa(l.Processes + ownProcesses)
	}
	const period = 100_000 // microseconds
	quota := number(int64(l.CPUs * period))
	if g.version == 2 {
		return []setting{{"memory", "memory.max", number(l.Memory), false}, {"memory", "memory.swap.max", "0", true},
			{"memory", "memory.oom.group", "1", true}, {"pids", "pids.max", processes, false},
			{"cpu", "cpu.max", quota + " 100000", l.CPUs <= 0}}
	}
	memory := number(l.Memory)
	if g.now["memory.limit_in_bytes"] != memory {
		_ = g.set(setting{"memory", "memory.memsw.limit_in_bytes", unlimited, true})
	}
	return []setting{{"memory", "memory.limit_in_bytes", memory, false}, {"memory", "memory.memsw.limit_in_bytes", memory, true},
		{"pids", "pids.max", processes, false}, {"cpu", "cpu.cfs_quota_us", quota, l.CPUs <= 0}}
}

func writeFile(path, value string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		_, err = unix.Write(fd, []byte(value))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// directory opens the directory that a process can be born in, or returns a
// negative number when the kernel cannot do that.
func (g *group) directory() int {
	if g == nil || g.version != 2 {
		return -1
	}
	fd, err := unix.Open(g.dirs["memory"], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// joins are the files that a process writes to, to join the group. Version 1
// has one for single threads, which lets a process move itself without stopping
// the machine; in version 2 a process is born in the group instead.
func (g *group) joins() []int {
	if g == nil {
		return nil
	}
	var out []int
	for _, controller := range controllers {
		if fd, open := g.procs[controller]; open {
			out = append(out, fd)
		}
	}
	return out
}

// counts says whether the group has a controller. A nil group has none.
func (g *group) counts(controller string) bool {
	return g != nil && g.dirs[controller] != ""
}

func (g *group) mechanism(controller string) string {
	return fmt.Sprintf("cgroup v%d %s", g.version, controller)
}

// killed says how many processes the kernel has killed for want of memory, in
// the life of the group.
func (g *group) killed() int64 {
	return g.counter("memory", g.file("memory.oom_control", "memory.events"), "oom_kill")
}

// refused says how often a process could not be made, in the life of the
// group.
func (g *group) refused() int64 { return g.counter("pids", "pids.events", "max") }

// account is what a group says about one box.
type account struct {
	starved, crowded bool  // memory, or a process, was refused
	peak             int64 // the most memory in bytes; 0 when it is not known
}

// settle reads the account of the box that ended and opens the next. The
// kernel keeps the peak for the group, so a box that used less than one before
// it has none.
func (g *group) settle() account {
	var a account
	if g.counts("memory") {
		killed, peak := g.killed(), g.number("memory", g.file("memory.max_usage_in_bytes", "memory.peak"))
		a.starved = killed > g.oldKilled
		if peak != g.oldPeak {
			a.peak = peak
		}
		g.oldKilled, g.oldPeak = killed, peak
	}
	if g.counts("pids") {
		refused := g.refused()
		a.crowded = refused > g.oldRefused
		g.oldRefused = refused
	}
	return a
}

// usage samples the group.
func (g *group) usage() sandbox.Usage {
	u := sandbox.Usage{Processes: int(g.number("pids", "pids.current"))}
	if g.version == 2 {
		u.Memory = g.number("memory", "memory.current")
		u.CPU = time.Duration(g.counter("memory", "cpu.stat", "usage_usec")) * time.Microsecond
		return u
	}
	u.Memory = g.number("memory", "memory.usage_in_bytes")
	return u
}

// read returns the text of a file of the group; the file stays open for the
// next box. The buffer is large enough for every file that is read here.
func (g *group) read(controller, file string, buffer []byte) []byte {
	dir, has := g.dirs[controller]
	if !has {
		return nil
	}
	fd, open := g.files[file]
	if !open {
		var err error
		if fd, err = unix.Open(dir+"/"+file, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return nil
		}
		g.files[file] = fd
	}
	n, err := unix.Pread(fd, buffer, 0)
	if err != nil {
		return nil
	}
	return buffer[:n]
}

func (g *group) number(controller, file string) int64 {
	var buffer [64]byte
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(g.read(controller, file, buffer[:]))), 10, 64)
	return n
}

// counter reads the number after a word in a file of such lines.
func (g *group) counter(controller, file, word string) int64 {
	var buffer [2048]byte
	for line := range bytes.Lines(g.read(controller, file, buffer[:])) {
		if key, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" ")); ok && string(key) == word {
			n, _ := strconv.ParseInt(string(value), 10, 64)
			return n
		}
	}
	return 0
}

// remove removes the group's directories. Its processes are gone or about to
// be; a group that still has some is tried again for a while.
func (g *group) remove() {
	if g == nil {
		return
	}
	for _, fds := range []map[string]int{g.procs, g.files} {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	for _, dir := range g.dirs {
		removeGroup(dir)
	}
}

// removeGroup removes one directory and says whether it is gone.
func removeGroup(dir string) bool {
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return true
		}
		time.Sleep(wait)
	}
	return false
}
