package namespace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"kintsugi/sandbox"
)

// notOfImage are the folders of an image that boxes have of their own.
var notOfImage = []string{"proc", "sys", "dev", "tmp", "run", "etc", "home", "mnt", "media", "boot", ".dockerenv"}

// findImage lists what boxes see of an unpacked image.
func findImage(root string) ([]entry, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("the image cannot be read: %w", err)
	}
	var out []entry
	for _, e := range entries {
		path, source := "/"+e.Name(), filepath.Join(root, e.Name())
		switch {
		case slices.Contains(notOfImage, e.Name()):
		case e.Type()&os.ModeSymlink != 0:
			link, err := os.Readlink(source)
			if err != nil {
				return nil, err
			}
			out = append(out, entry{path: path, link: link})
		case e.IsDir():
			out = append(out, entry{path: path, source: source})
		}
	}
	return out, nil
}

// tree is an entry as the lowest layer of what a box sees at its path. An
// image's files are the user's own.
func (h *host) tree(e entry) tree {
	if e.source != "" {
		return tree{path: e.source, owned: true}
	}
	return tree{path: e.path}
}

// etcBase are the layers of /etc below the box's own files.
func (h *host) etcBase() []tree {
	switch dir := filepath.Join(h.root, "etc"); {
	case h.root == "":
		return []tree{{path: "/etc"}}
	case isDir(dir):
		return []tree{{path: dir, owned: true}}
	}
	return nil
}

// addImageParts adds what boxes of an image have of their own below its
// folders.
func (h *host) addImageParts(v *view) {
	if h.root != "" && isDir(filepath.Join(h.root, "var", "tmp")) {
		v.parts = append(v.parts, part{target: "/var/tmp", tmpfs: true})
	}
}

// Root names the image that boxes see; empty: this machine.
func (r *Runtime) Root() string { return r.options.RootName }

// environment is what a program gets of a spec's.
func (r *Runtime) environment(env []string) []string {
	if r.options.Root == "" {
		return env
	}
	return sandbox.ImageEnv(env, r.options.RootEnv, lookup(r.options.hostEnviron(), "PATH"))
}

func (o Options) hostEnviron() []string {
	if o.Environ == nil {
		return os.Environ()
	}
	return o.Environ
}
