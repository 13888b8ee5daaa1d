package namespace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/callfilter"
)

// host is what there is to know about this machine and this user. It is
// gathered once per Runtime and never changes.
type host struct {
	uid, gid int
	// privileged: started by the host's root. Boxes then run under a range of
	// host ids that nobody else uses.
	privileged bool
	born       string // when this process began
	home       string
	environ    []string
	stateDir   string
	// system are the entries of the host's "/" that a box sees.
	system []entry
	// root is the folder of the image that stands in for this machine's
	// programs, if one does.
	root string
	// tools are directories below the home that PATH leads to.
	tools []string
	// stage is a directory that the new root covers while it is built, scratch
	// one that is covered by what only overlays use.
	stage, scratch string
	masks          []mask
	varDir         string // an empty /var, with places for what the host's has
	// filter returns the seccomp program, strictFilter the one where no control
	// group counts memory. What cannot be assembled is empty, and then the
	// kernel lets no box start.
	filter, strictFilter func() []byte
	abi                  int // Landlock ABI, 0: none
}

// lease is a lease of ours for a box with this init.
func (h *host) lease(init int) lease { return lease{Owner: os.Getpid(), Born: h.born, Init: init} }

// userFiles is how many files a process may have open in an ordinary user's
// box, unless the caller asks for another number. The kernel lets that many
// descriptors, and one message more (253), be on their way between all
// processes of a user; programs outside, which have 1024, then still can send.
const userFiles = 640

// bounds fills in the limits that a caller left open.
func (h *host) bounds(l sandbox.Limits) sandbox.Limits {
	if l.OpenFiles == 0 && !h.privileged {
		l.OpenFiles = userFiles
	}
	return l.WithDefaults()
}

// entry is a part of the host's "/": a directory, or a link when link is set.
type entry struct {
	path, link string
	source     string // where it is on the host; empty: at path
}

// systemPaths are the parts of the host's "/" that programs need. All of them
// are shown read-only; what the host lacks is left out.
var systemPaths = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu",
	"/var/lib/dpkg", "/var/lib/texmf", "/var/lib/ghostscript", "/var/lib/tex-common", "/var/cache/fontconfig",
}

// stageDirs are directories that hold nothing a box is shown. Two of them, in
// the box's own copy of the host's mounts, are covered while the box is made.
var stageDirs = []string{"/sys", "/proc/sys", "/proc/fs", "/proc/bus"}

func (h *host) findStages() error {
	stages := slices.DeleteFunc(slices.Clone(stageDirs), func(dir string) bool { return !isDir(dir) })
	if len(stages) < 2 {
		return fmt.Errorf("of %v not even two exist here", stageDirs)
	}
	h.stage, h.scratch = stages[0], stages[1]
	return nil
}

func inspect(o Options) (*host, error) {
	h := &host{uid: os.Geteuid(), gid: os.Getegid(), born: startTime(os.Getpid()), environ: o.Environ, home: o.Home, stateDir: o.StateDir}
	h.privileged = h.uid == 0
	if h.environ == nil {
		h.environ = os.Environ()
	}
	if h.home == "" {
		h.home = lookup(h.environ, "HOME")
	}
	if !filepath.IsAbs(h.home) || filepath.Clean(h.home) == "/" {
		h.home = "/home/box"
	}
	h.home = filepath.Clean(h.home)
	err := h.makeStateDir()
	if err != nil {
		return nil, err
	}
	h.root = o.Root
	h.system = findSystem()
	if h.root != "" {
		if h.system, err = findImage(h.root); err != nil {
			return nil, err
		}
	}
	if err := h.makeVarDir(); err != nil {
		return nil, err
	}
	if h.root == "" {
		h.tools = findTools(h.home, lookup(h.environ, "PATH"), h.environ)
	}
	if err := h.findStages(); err != nil {
		return nil, err
	}
	h.abi = landlockABI()
	if h.masks, err = findMasks("/proc"); err != nil {
		return nil, err
	}
	h.filter, h.strictFilter = assembled(), assembled(callfilter.Uncounted()...)
	go h.filter() // nearly every box needs it
	return h, nil
}

// assembled returns a function that assembles a filter when it is called first.
func assembled(gone ...string) func() []byte {
	return sync.OnceValue(func() []byte {
		program, _ := callfilter.Program(gone...)
		return program
	})
}

func findSystem() []entry {
	var out []entry
	for _, path := range systemPaths {
		if link, err := os.Readlink(path); err == nil {
			out = append(out, entry{path: path, link: link})
		} else if isDir(path) {
			out = append(out, entry{path: path})
		}
	}
	return out
}

// lookup returns the last value of key in environ.
func lookup(environ []string, key string) string {
	value := ""
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value = v
		}
	}
	return value
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// makeStateDir finds the directory for leases and makes it: for root below
// /run, for others in the session's runtime directory, else in /tmp.
func (h *host) makeStateDir() error {
	var errs []error
	for _, dir := range h.stateDirs() {
		err := ownDir(dir, h.uid)
		if err == nil {
			h.stateDir = dir
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("no directory for leases: %w", errors.Join(errs...))
}

func (h *host) stateDirs() []string {
	if h.stateDir != "" {
		return []string{h.stateDir}
	}
	last := fmt.Sprintf("/tmp/kintsugi-%d", h.uid)
	if h.privileged {
		return []string{"/run/kintsugi", last}
	}
	if run := lookup(h.environ, "XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		return []string{filepath.Join(run, "kintsugi"), last}
	}
	return []string{last}
}

// ownDir makes dir, or accepts the one that exists if nobody else can write
// to it.
func ownDir(dir string, uid int) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != uid || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s belongs to somebody else; remove it or set XDG_RUNTIME_DIR", dir)
	}
	return nil
}

// makeVarDir makes the skeleton of /var that layers are laid over.
func (h *host) makeVarDir() error {
	h.varDir = filepath.Join(h.stateDir, "var")
	dirs := []string{"tmp", "empty", "lib", "cache"}
	for _, e := range h.system {
		if rel, below := relative("/var", e.path); below {
			dirs = append(dirs, rel)
		}
	}
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(h.varDir, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}
