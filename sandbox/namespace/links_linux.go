package namespace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// avoidLinks drops the parts whose place lies inside of another part and leads
// through a link there: a program may have planted it, and until the box's
// root is the only one such a link leads to the host's files. When the caller
// asked for the part, that is an error.
func (v *view) avoidLinks() error {
	var kept []part
	for _, p := range v.parts {
		if !slices.ContainsFunc(kept, func(above part) bool { return above.leadsAway(p.target) }) {
			kept = append(kept, p)
		} else if p.asked {
			return fmt.Errorf("mount at %q: the path leads through a link of the project", p.target)
		}
	}
	v.parts = kept
	return nil
}

// leadsAway says whether the way from the part's place to target has a link in
// one of the part's trees that programs may have written.
func (p *part) leadsAway(target string) bool {
	rel, inside := strings.CutPrefix(target, p.target+"/")
	if !inside {
		return false
	}
	var trees []string
	for _, t := range p.lower {
		if t.owned {
			trees = append(trees, t.path)
		}
	}
	if p.upper != "" {
		trees = append(trees, p.upper)
	}
	if p.owned {
		trees = append(trees, p.source)
	}
	return slices.ContainsFunc(trees, func(tree string) bool { return hasLink(tree, rel) })
}

// hasLink says whether one of the names of rel, below tree, is a link.
func hasLink(tree, rel string) bool {
	for _, name := range strings.Split(rel, "/") {
		tree = filepath.Join(tree, name)
		if st, err := os.Lstat(tree); err == nil && st.Mode()&os.ModeSymlink != 0 {
			return true
		}
	}
	return false
}
