package heal

import (
	"slices"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

var (
	rustUse    = lazyregexp.New(`\buse\s+(?:::)?([A-Za-z_]\w*)([^;]*);`)
	rustExtern = lazyregexp.New(`\bextern\s+crate\s+([A-Za-z_]\w*)`)
	rustMod    = lazyregexp.New(`\b(?:mod|enum|struct|trait|type|union)\s+([A-Za-z_]\w*)`)
	rustPath   = lazyregexp.New(`(?:^|[^\w:.])(?:::)?([a-z_][a-z0-9_]*)::`)
	rustWord   = lazyregexp.New(`[A-Za-z_]\w*`)
)

// RustImports lists what may be crates in a Rust source: the first parts of
// its use lines and of the paths in its code, without those that the source
// itself or Rust defines.
func RustImports(src []byte) []string {
	text := rustCode(string(src))
	own := map[string]bool{"std": true, "core": true, "alloc": true, "crate": true, "self": true, "super": true, "Self": true}
	for _, m := range rustMod.FindAllStringSubmatch(text, -1) {
		own[m[1]] = true
	}
	uses := rustUse.FindAllStringSubmatch(text, -1)
	for _, m := range uses {
		for _, w := range rustWord.FindAllStringSubmatch(m[2], -1) {
			own[w[0]] = own[w[0]] || w[0] != m[1] // a crate may give its name to what it brings
		}
	}
	var out []string
	add := func(name string) {
		if !own[name] && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, re := range []*lazyregexp.Regexp{rustUse, rustExtern, rustPath} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			add(m[1])
		}
	}
	return out
}

// rustCode is a source without comments and the content of strings.
func rustCode(src string) string {
	var out strings.Builder
	for i := 0; i < len(src); {
		rest := src[i:]
		n := 1
		switch {
		case strings.HasPrefix(rest, "//"):
			n = until(rest, "\n", 0)
		case strings.HasPrefix(rest, "/*"):
			n = until(rest, "*/", 2)
		case rest[0] == '"':
			n = rustString(rest)
		default:
			out.WriteByte(rest[0])
		}
		i += n
	}
	return out.String()
}

// until is the length of text up to mark, and keep bytes of it.
func until(text, mark string, keep int) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i + keep
	}
	return len(text)
}

func rustString(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
