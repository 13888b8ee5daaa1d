package workspace

import (
	"slices"
	"strings"

	"kintsugi/sandbox/workspace/beneath"
)

// output says whether path is, or lies in, a folder that a build makes
// (Options.Outputs). Boxes of the session see what is in there; it is no change
// of the project.
func (c *Comparison) output(path string) bool {
	if len(c.outputs) == 0 {
		return false
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if beside, ok := c.outputs[part]; ok && c.builds(prefix(path, i), part, beside) {
			return true
		}
	}
	return false
}

// builds looks at one folder name in dir, which ends with a slash or is empty.
func (c *Comparison) builds(dir, name string, beside []string) bool {
	is, known := c.built[dir+name]
	if known {
		return is
	}
	is = slices.ContainsFunc(beside, func(file string) bool {
		n, err := c.s.resolve(dir + file)
		return err == nil && n.Kind == beneath.File
	})
	if c.built == nil {
		c.built = map[string]bool{}
	}
	c.built[dir+name] = is
	return is
}

// names says whether a selection names something in a folder that could be one
// of builds: then the user wants it all the same.
func (s Selection) names(outputs map[string][]string) bool {
	return slices.ContainsFunc(s.Paths, func(p string) bool {
		return slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return outputs[part] != nil })
	})
}
