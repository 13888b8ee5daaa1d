package heal

import (
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// GoImports lists the packages of other modules that a Go source imports. What
// has no dot in its first part belongs to Go, or to the user's own module.
func GoImports(src []byte) []string {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ImportsOnly)
	if f == nil || err != nil && len(f.Imports) == 0 {
		return nil
	}
	var out []string
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if first, _, _ := strings.Cut(name, "/"); err == nil && strings.Contains(first, ".") {
			out = append(out, name)
		}
	}
	return out
}
