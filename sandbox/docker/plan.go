package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/strslice"
	"github.com/docker/go-units"

	"kintsugi/sandbox"
	"kintsugi/sandbox/docker/keeper"
	"kintsugi/sandbox/workspace"
)

// plan is a spec as containers understand it.
type plan struct {
	spec   sandbox.Spec
	limits sandbox.Limits
	order  keeper.Order
	shape  shape
	trees  []*source // one for each tree of the order
	uid    int       // whom the program runs as
}

// shape is all that a container must have from its beginning. Containers of
// one shape stand in for each other.
type shape struct {
	key    string
	config container.Config
	host   container.HostConfig
}

// source is where a tree's content comes from and where its changes go.
type source struct {
	view    *workspace.View
	hide    bool              // names that begin with a dot are left out
	files   map[string]string // single files instead: name in the tree, path here
	into    string            // what gets the changes; empty: nobody
	overlay bool              // into is the upper directory of an overlay
}

func (p *plan) close() {
	for _, s := range p.trees {
		if s.view != nil {
			s.view.Close()
		}
	}
}

// plan works out what a spec needs.
func (r *Runtime) plan(ctx context.Context, spec sandbox.Spec) (*plan, error) {
	p := &plan{spec: spec, limits: spec.Limits.WithDefaults(), uid: r.uid}
	if spec.Capture != "" {
		p.uid = 0 // what is captured belongs to the image's root
	}
	if err := r.addWorkspace(p); err != nil {
		return nil, err
	}
	fixed, err := p.addMounts()
	if err != nil {
		p.close()
		return nil, err
	}
	if err := errors.Join(p.addCapture(), r.checkNames(p)); err != nil {
		p.close()
		return nil, err
	}
	image, err := r.images.with(ctx, spec, fixed)
	if err != nil {
		p.close()
		return nil, err
	}
	r.fillOrder(p, image)
	if p.shape, err = r.shape(p, image); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// checkNames refuses what Podman's interface cannot say.
func (r *Runtime) checkNames(p *plan) error {
	for _, t := range p.order.Trees {
		if r.Name() == Podman && strings.ContainsAny(t.Path, ",:") {
			return fmt.Errorf("%s cannot be shown by Podman: its name has a comma or a colon; rename the folder, or use another runtime", t.Path)
		}
	}
	return nil
}

func (p *plan) add(t keeper.Tree, s *source) {
	p.order.Trees = append(p.order.Trees, t)
	p.trees = append(p.trees, s)
}

// addWorkspace shows the project: a copy of the merged view.
func (r *Runtime) addWorkspace(p *plan) error {
	w := p.spec.Workspace
	if w.Path == "" {
		return nil
	}
	at, from := path.Clean(w.Path), w.Source
	if from == "" {
		from = at
	}
	home := filepath.Clean(r.options.home())
	switch {
	case !path.IsAbs(at) || at == "/":
		return fmt.Errorf("the workspace %q must be a folder's absolute path", w.Path)
	case from == "/" || strings.HasPrefix(home, strings.TrimSuffix(from, "/")+"/"):
		return fmt.Errorf("the workspace %s contains your home directory; work in a folder of your own", from)
	}
	for _, dir := range append([]string{from}, w.Lower...) {
		if info, err := os.Stat(dir); err != nil {
			return fmt.Errorf("workspace: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("workspace: %s is not a directory", dir)
		}
	}
	view, err := workspace.Merge(w.Lower, from)
	if err != nil {
		return err
	}
	p.add(keeper.Tree{Path: at, Put: true, Get: w.Upper != ""}, &source{view: view, hide: from == home, into: w.Upper, overlay: true})
	return nil
}

// addMounts shows folders as copies, and single files either in a folder of
// their own or, where the image's own files lie, as part of the image. fixed
// are the latter: path in the box, path here.
func (p *plan) addMounts() (fixed map[string]string, err error) {
	fixed = map[string]string{}
	folders := map[string]*source{}
	for _, m := range p.spec.Mounts {
		at := path.Clean(m.Target)
		if !filepath.IsAbs(m.Source) || !path.IsAbs(at) || at == "/" {
			return nil, fmt.Errorf("mount of %q at %q: both must be absolute paths below /", m.Source, m.Target)
		}
		info, err := os.Stat(m.Source)
		switch dir := path.Dir(at); {
		case err != nil:
			return nil, fmt.Errorf("mount: %w", err)
		case info.IsDir():
			err = p.addFolder(m, at)
		case m.Writable:
			return nil, fmt.Errorf("mount of %s: only folders can be writable here", m.Source)
		case ofImage(dir):
			fixed[at] = m.Source
		case folders[dir] != nil:
			folders[dir].files[path.Base(at)] = m.Source
		default:
			folders[dir] = &source{files: map[string]string{path.Base(at): m.Source}}
			p.add(keeper.Tree{Path: dir, Put: true}, folders[dir])
		}
		if err != nil {
			return nil, err
		}
	}
	return fixed, nil
}

func (p *plan) addFolder(m sandbox.Mount, at string) error {
	real, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	view, err := workspace.Merge(nil, real)
	if err != nil {
		return err
	}
	s := &source{view: view}
	if m.Writable {
		s.into = real
	}
	p.add(keeper.Tree{Path: at, Put: true, Get: m.Writable, Fixed: !m.Writable}, s)
	return nil
}

// ofImage says whether a folder is one where images have files of their own.
func ofImage(dir string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(dir, "/"), "/")
	return dir == "/" || slices.Contains([]string{"bin", "sbin", "lib", "lib32", "lib64", "usr", "etc", "opt", "dev", "proc", "sys"}, top)
}

// addCapture watches the folders that a layer being built has.
func (p *plan) addCapture() error {
	if p.spec.Capture == "" {
		return nil
	}
	entries, err := os.ReadDir(p.spec.Capture)
	if err != nil {
		return fmt.Errorf("layer: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			into := filepath.Join(p.spec.Capture, e.Name())
			p.add(keeper.Tree{Path: "/" + e.Name(), Get: true}, &source{into: into, overlay: true})
		}
	}
	return nil
}

// fillOrder says what the keeper is to run.
func (r *Runtime) fillOrder(p *plan, image imageInfo) {
	o, s, l := &p.order, &p.spec, p.limits
	o.Argv, o.Dir = s.Argv, s.Dir
	o.Env = sandbox.ImageEnv(s.Env, image.env, r.options.lookup("PATH"))
	for _, l := range s.Listeners {
		o.Ports = append(o.Ports, l.Port)
	}
	o.Stdin, o.Stdout, o.Stderr = s.Stdin != nil, s.Stdout != nil, s.Stderr != nil
	o.Wall = max(0, l.Wall)
	o.Most, o.MostFiles = unlimited(l.Disk), unlimited(l.Inodes)
	if r.keepsNothing() {
		o.Bounds = p.bounds()
	}
}

// bounds are the limits that a keeper keeps where the engine keeps none. Who
// builds a layer is root inside, whose tasks are the user's own of this machine
// as well: they are not counted.
func (p *plan) bounds() *keeper.Bounds {
	l := p.limits
	b := &keeper.Bounds{Memory: l.Memory, OpenFiles: int64(l.OpenFiles), FileSize: p.fileSize(), CPU: int64(l.CPU.Seconds())}
	if l.CPU > 0 {
		b.CPU = max(1, b.CPU)
	}
	if l.Processes > 0 && p.uid != 0 {
		b.Tasks = int64(l.Processes) + keeperTasks
	}
	return b
}

// fileSize bounds one file; those of a layer lie on the engine's disk.
func (p *plan) fileSize() int64 {
	if l := p.limits; p.spec.Capture != "" && l.Disk > 0 && (l.FileSize < 0 || l.FileSize > l.Disk) {
		return l.Disk
	}
	return p.limits.FileSize
}

func unlimited(n int64) int64 {
	if n < 0 {
		return 1<<63 - 1
	}
	return n
}

// keeperTasks are the threads that a keeper has; they count as the box's.
const keeperTasks = 12

// shape is the container that a plan needs.
func (r *Runtime) shape(p *plan, image imageInfo) (shape, error) {
	l := p.limits
	s := shape{
		config: container.Config{
			Image: image.id, User: fmt.Sprintf("%d:%d", p.uid, p.uid), Entrypoint: strslice.StrSlice{keeperPath, keeper.Word}, Cmd: strslice.StrSlice{},
			OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true, WorkingDir: "/",
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, Hostname: "box",
		},
		host: container.HostConfig{
			NetworkMode: network.NetworkNone, AutoRemove: true, IpcMode: "private", CgroupnsMode: "private", MaskedPaths: masked(),
			CapDrop: strslice.StrSlice{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
			LogConfig: container.LogConfig{Type: "none"}, ShmSize: shmSize(l),
		},
	}
	s.host.ReadonlyRootfs = p.spec.Capture == ""
	l.FileSize = p.fileSize()
	s.host.Resources = r.resources(l)
	s.host.Tmpfs = r.tmpfs(p, image)
	if r.Name() == Podman { // it does not know the list of Docker's interface
		s.host.SecurityOpt = append(s.host.SecurityOpt, "mask="+strings.Join(masked(), ":"))
	}
	if r.Name() == Podman && p.uid != 0 {
		// Its folders in memory belong to root: the keeper takes them over, and
		// gives up all that it needed for that.
		s.config.User = "0:0"
		s.host.CapAdd = strslice.StrSlice{"CHOWN", "SETUID", "SETGID", "SETPCAP", "SYS_ADMIN"}
		s.config.Cmd = append(strslice.StrSlice{anyUID, strconv.FormatInt(max(0, l.Inodes), 10)}, slices.Sorted(maps.Keys(s.host.Tmpfs))...)
	}
	key, err := json.Marshal([]any{s.config, s.host})
	s.key = string(key)
	return s, err
}

// anyUID stands for an id that each container gets for itself.
const anyUID = "?"

// masked are files of the kernel that nobody in a box has business with: what
// engines mask themselves, and some more.
func masked() []string {
	return []string{
		"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
		"/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap",
		"/proc/key-users", "/proc/kallsyms", "/proc/kmsg", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/vmallocinfo",
		"/proc/slabinfo", "/proc/modules", "/proc/config.gz", "/sys/kernel", "/sys/class/dmi", "/sys/devices/virtual/dmi", "/sys/fs/pstore",
	}
}

func shmSize(l sandbox.Limits) int64 {
	if l.Disk < 0 {
		return 1 << 30
	}
	return max(l.Disk, 1<<16)
}

// resources are the limits that the engine keeps.
func (r *Runtime) resources(l sandbox.Limits) container.Resources {
	var out container.Resources
	if l.Memory > 0 {
		out.Memory, out.MemorySwap = max(l.Memory, 16<<20), max(l.Memory, 16<<20)
	}
	if l.CPUs > 0 {
		out.NanoCPUs = int64(l.CPUs * 1e9)
	}
	tasks := int64(-1)
	if l.Processes > 0 {
		tasks = int64(l.Processes) + keeperTasks
	}
	out.PidsLimit = &tasks
	ulimit := func(name string, n int64) {
		out.Ulimits = append(out.Ulimits, &units.Ulimit{Name: name, Soft: n, Hard: n})
	}
	ulimit("core", 0)
	if l.OpenFiles > 0 {
		ulimit("nofile", int64(l.OpenFiles))
	}
	if l.FileSize > 0 {
		ulimit("fsize", l.FileSize)
	}
	if l.CPU > 0 {
		ulimit("cpu", max(1, int64(l.CPU.Seconds())))
	}
	if r.Name() == Podman { // its own default may be more than it may set
		ulimit("nproc", max(4096, int64(l.Processes)*4))
	}
	return out
}

// tmpfs are the folders in the box's memory.
func (r *Runtime) tmpfs(p *plan, image imageInfo) map[string]string {
	out := map[string]string{}
	put := func(at string) { out[at] = r.tmpfsOptions(p) }
	for _, at := range append(slices.Sorted(maps.Keys(image.volumes)), "/tmp", "/var/tmp", "/run") {
		put(path.Clean(at))
	}
	if home := home(p.order.Env); path.IsAbs(home) && !ofImage(home) {
		put(path.Clean(home))
	}
	for _, t := range p.order.Trees {
		if t.Put {
			put(path.Clean(t.Path))
		}
	}
	if r.Name() == Docker {
		put("/dev/shm") // in place of the engine's, which has any number of files
	}
	if p.spec.Capture != "" { // what is captured must be the image's own
		maps.DeleteFunc(out, func(at, _ string) bool {
			return slices.ContainsFunc(p.order.Trees, func(t keeper.Tree) bool { return !t.Put && at == t.Path })
		})
	}
	return out
}

func home(env []string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			return v
		}
	}
	return ""
}

// tmpfsOptions bound one folder, which belongs to the program. Podman knows
// neither owners nor numbers of files, so its folders belong to anyone who is
// inside.
func (r *Runtime) tmpfsOptions(p *plan) string {
	opts := []string{"rw", "exec", "nosuid", "nodev"}
	if p.limits.Disk > 0 {
		opts = append(opts, fmt.Sprintf("size=%d", max(p.limits.Disk, 1<<16)))
	}
	if r.Name() == Podman {
		return strings.Join(append(opts, "mode=1777", "notmpcopyup"), ",")
	}
	if p.limits.Inodes > 0 {
		opts = append(opts, fmt.Sprintf("nr_inodes=%d", p.limits.Inodes))
	}
	return strings.Join(append(opts, "mode=1777", fmt.Sprintf("uid=%d,gid=%d", p.uid, p.uid)), ",")
}
