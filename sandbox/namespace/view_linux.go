package namespace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// view is what one box sees: the parts of its root, parents before children.
type view struct {
	links  []entry
	parts  []part
	number int // the last number given to something in the hidden space
}

// part is one mount of a box: a bind of source, or an overlay of lower.
type part struct {
	target string
	source string
	file   bool
	// lower are overlay layers, newest first.
	lower []tree
	// upper and work make the overlay writable; scratchNumber (from 1) says
	// instead that the upper directory is the box's own and vanishes with it.
	upper, work   string
	ownWork       bool // work is made for this box and removed after it
	scratchNumber int
	tmpfs         bool // an empty tmpfs that anyone may write
	writable      bool
	device        bool
	// handle is the open tree of the source, parent the one that holds upper
	// and work, whose names are then relative to it. 0 means none.
	handle, parent int
	// owned: the content belongs to the caller and must belong to the box's
	// user inside. closed: the path may lead through directories that only the
	// caller can pass.
	owned, closed bool
	asked         bool // the caller asked for it by name
}

// tree is one layer of an overlay.
type tree struct {
	path   string
	owned  bool
	handle int
	// veil, when not 0, numbers a layer of nothing but marks that hide names
	// of the layers below.
	veil   int
	hidden []string
}

// attr is the mode of a bind: private, without set-user-id, without devices,
// and read-only unless it is meant to be written.
func (p *part) attr() *unix.MountAttr {
	a := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE}
	if !p.writable {
		a.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	return a
}

func (p part) overlay() bool { return len(p.lower) > 0 }

// layered are the parts of the host's view that layers are laid over.
var layered = []string{"usr", "etc", "opt", "var"}

// devices are the device nodes that a box has.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

func (h *host) view(spec *sandbox.Spec) (*view, error) {
	v := &view{}
	if err := h.addSystem(v, spec); err != nil {
		return nil, err
	}
	for _, name := range devices {
		v.parts = append(v.parts, part{target: "/dev/" + name, source: "/dev/" + name, file: true, device: true, writable: true})
	}
	for _, dir := range h.tools {
		v.parts = append(v.parts, part{target: dir, source: dir, closed: true})
	}
	if err := h.addLayers(v, spec); err != nil {
		return nil, err
	}
	if err := h.addWorkspace(v, spec.Workspace); err != nil {
		return nil, err
	}
	if err := addMounts(v, spec); err != nil {
		return nil, err
	}
	sort.SliceStable(v.parts, func(i, j int) bool { return v.parts[i].target < v.parts[j].target })
	return v, v.avoidLinks()
}

// addSystem adds the host's part of the root, with layers over it.
func (h *host) addSystem(v *view, spec *sandbox.Spec) error {
	own, err := h.etcDir(spec.Network)
	if err != nil {
		return err
	}
	for _, e := range h.system {
		if e.link != "" {
			v.links = append(v.links, e)
			continue
		}
		v.parts = append(v.parts, laid(spec, e.path, h.tree(e)))
	}
	h.addImageParts(v)
	etc := laid(spec, "/etc", append([]tree{{path: own}}, h.etcBase()...)...)
	v.parts = append(v.parts, etc)
	return nil
}

// laid is the part at path: a bind of the only base when no layer has that
// path, otherwise an overlay of the layers and the bases.
func laid(spec *sandbox.Spec, path string, base ...tree) part {
	var lower []tree
	if top, _, _ := strings.Cut(path[1:], "/"); isLayered(top) {
		lower = layersWith(spec.Layers, path)
	}
	p := part{target: path, lower: append(lower, base...)}
	if spec.Capture != "" && isDir(filepath.Join(spec.Capture, path)) {
		p.upper = filepath.Join(spec.Capture, path)
		p.work = filepath.Join(workOf(spec.Capture), strings.ReplaceAll(path[1:], "/", "-"))
		p.ownWork = true
		p.writable = true
		return p
	}
	if len(p.lower) == 1 {
		return part{target: path, source: base[0].path, owned: base[0].owned, closed: base[0].owned}
	}
	return p
}

// workOf is the directory for the scratch directories of a layer being built.
func workOf(capture string) string { return filepath.Clean(capture) + ".work" }

func isLayered(top string) bool {
	for _, name := range layered {
		if top == name {
			return true
		}
	}
	return false
}

func layersWith(layers []string, path string) []tree {
	var out []tree
	for _, layer := range layers {
		if dir := filepath.Join(layer, path); isDir(dir) {
			out = append(out, tree{path: dir, owned: true})
		}
	}
	return out
}

// addLayers adds the parts of layers that the host has no counterpart of.
func (h *host) addLayers(v *view, spec *sandbox.Spec) error {
	all := spec.Layers
	if spec.Capture != "" {
		all = append([]string{spec.Capture}, all...)
	}
	names := map[string]bool{}
	for _, layer := range all {
		entries, err := os.ReadDir(layer)
		if err != nil {
			return fmt.Errorf("layer: %w", err)
		}
		for _, e := range entries {
			names[e.Name()] = e.IsDir()
		}
	}
	for name, dir := range names {
		switch path := "/" + name; {
		case !dir || v.has(path):
		case name == "var":
			h.addVar(v, spec)
		default:
			addEntry(v, spec, path)
		}
	}
	return nil
}

// addVar lays layers over what the box's own /var has.
func (h *host) addVar(v *view, spec *sandbox.Spec) {
	v.parts = append(v.parts, laid(spec, "/var", tree{path: h.varDir}), part{target: "/var/tmp", tmpfs: true})
}

// addEntry adds an entry that only layers have: the one being built, or all
// others together.
func addEntry(v *view, spec *sandbox.Spec, path string) {
	if dir := filepath.Join(spec.Capture, path); spec.Capture != "" && isDir(dir) {
		v.parts = append(v.parts, part{target: path, source: dir, writable: true, owned: true, closed: true})
		return
	}
	lower := layersWith(spec.Layers, path)
	if len(lower) == 1 {
		v.parts = append(v.parts, part{target: path, source: lower[0].path, owned: true, closed: true})
		return
	}
	v.parts = append(v.parts, part{target: path, lower: lower})
}

func (v *view) has(path string) bool {
	for _, p := range v.parts {
		if p.target == path {
			return true
		}
	}
	for _, l := range v.links {
		if l.path == path {
			return true
		}
	}
	return false
}

func (h *host) addWorkspace(v *view, w sandbox.Workspace) error {
	if w.Path == "" {
		return nil
	}
	path, source := filepath.Clean(w.Path), filepath.Clean(w.Source)
	if w.Source == "" {
		source = path
	}
	if err := h.checkWorkspace(path, source, w); err != nil {
		return err
	}
	p := part{target: path, upper: w.Upper, work: w.Work, writable: true}
	for _, dir := range w.Lower {
		p.lower = append(p.lower, tree{path: dir, owned: true})
	}
	if source == h.home {
		v.number++
		p.lower = append(p.lower, tree{veil: v.number, hidden: secretsOf(source, h.tools)})
	}
	p.lower = append(p.lower, tree{path: source, owned: true})
	if w.Upper == "" {
		v.number++
		p.scratchNumber = v.number
	}
	v.parts = append(v.parts, p)
	return nil
}

func (h *host) checkWorkspace(path, source string, w sandbox.Workspace) error {
	switch {
	case !filepath.IsAbs(path) || path == "/":
		return fmt.Errorf("the workspace %q must be a folder's absolute path", w.Path)
	case source == "/" || within(h.home, source) && source != h.home:
		return fmt.Errorf("the workspace %s contains your home directory; work in a folder of your own", source)
	case w.Upper != "" && w.Work == "":
		return errors.New("workspace: an upper directory needs a work directory on the same file system")
	case w.Upper != "" && within(filepath.Clean(w.Upper), source):
		return fmt.Errorf("the session's files in %s lie inside of the workspace %s; work in a folder of your own, or set XDG_STATE_HOME to a place outside", w.Upper, source)
	}
	for _, dir := range append([]string{source}, w.Lower...) {
		if err := needDir(dir); err != nil {
			return fmt.Errorf("workspace: %w", err)
		}
	}
	return nil
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// secretsOf lists what must not be seen of a home that is a workspace, by path
// relative to it: everything whose name starts with a dot, except the way to
// the tool chains.
func secretsOf(home string, tools []string) []string {
	var out []string
	var look func(dir string, all bool)
	look = func(dir string, all bool) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			onTheWay := slices.ContainsFunc(tools, func(t string) bool { return within(t, path) && t != path })
			switch {
			case slices.Contains(tools, path):
			case onTheWay:
				look(path, all || e.Name()[0] == '.')
			case all || e.Name()[0] == '.':
				out = append(out, strings.TrimPrefix(path, home+"/"))
			}
		}
	}
	look(home, false)
	return out
}

func needDir(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is not a directory", path)
	}
	return nil
}

func addMounts(v *view, spec *sandbox.Spec) error {
	for _, m := range spec.Mounts {
		if !filepath.IsAbs(m.Source) || !filepath.IsAbs(m.Target) || filepath.Clean(m.Target) == "/" {
			return fmt.Errorf("mount of %q at %q: both must be absolute paths below /", m.Source, m.Target)
		}
		st, err := os.Stat(m.Source)
		if err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		v.parts = append(v.parts, part{target: filepath.Clean(m.Target), source: m.Source, file: !st.IsDir(),
			writable: m.Writable, owned: true, closed: true, asked: true})
	}
	return nil
}
