package lock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"kintsugi/sandbox/lazyregexp"
)

// Block is what a Python script says about itself in a "# /// script" comment.
type Block struct {
	Dependencies []string `toml:"dependencies"`
	Python       string   `toml:"requires-python"`
	start, end   int      // lines of the block in the script, end exclusive
	body         []string // its TOML, line by line
}

var (
	blockStart = lazyregexp.New(`^# /// script\s*$`)
	blockEnd   = lazyregexp.New(`^# ///\s*$`)
)

// ScriptBlock reads the block of a Python script; ok is false when there is
// none. A block that cannot be read is an error.
func ScriptBlock(script string) (b Block, ok bool, err error) {
	lines := strings.Split(script, "\n")
	b.start = slices.IndexFunc(lines, blockStart.MatchString)
	if b.start < 0 {
		return Block{}, false, nil
	}
	b.end = -1
	for i := b.start + 1; i < len(lines) && strings.HasPrefix(lines[i], "#"); i++ {
		if blockEnd.MatchString(strings.TrimSuffix(lines[i], "\r")) {
			b.end = i + 1
		}
	}
	if b.end < 0 {
		return Block{}, false, fmt.Errorf("line %d: the block that begins with “# /// script” has no end “# ///”", b.start+1)
	}
	for _, l := range lines[b.start+1 : b.end-1] {
		b.body = append(b.body, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(l, "\r"), "#"), " "))
	}
	if err := toml.Unmarshal([]byte(strings.Join(b.body, "\n")), &b); err != nil {
		return Block{}, false, fmt.Errorf("line %d: the block “# /// script” cannot be read: %s", b.start+1, firstLine(err.Error()))
	}
	return b, true, nil
}

// WithDependencies gives the script with a block that names the packages,
// each exactly; other dependencies of the block, and all else in it, stay.
func WithDependencies(script string, packages []string) (string, error) {
	b, ok, err := ScriptBlock(script)
	if err != nil {
		return "", err
	}
	lines := strings.Split(script, "\n")
	if !ok {
		at := afterHead(lines)
		block := append([]string{"# /// script"}, commented(dependencyLines(packages))...)
		block = append(block, "# ///")
		if at < len(lines) && strings.TrimSpace(lines[at]) != "" {
			block = append(block, "")
		}
		return strings.Join(slices.Concat(lines[:at], block, lines[at:]), "\n"), nil
	}
	body := replaceDependencies(b.body, merged(b.Dependencies, packages))
	block := slices.Concat([]string{"# /// script"}, commented(body), []string{"# ///"})
	return strings.Join(slices.Concat(lines[:b.start], block, lines[b.end:]), "\n"), nil
}

// afterHead is the first line that is neither "#!" nor the encoding.
func afterHead(lines []string) int {
	at := 0
	if len(lines) > 0 && strings.HasPrefix(lines[0], "#!") {
		at = 1
	}
	if at < len(lines) && codingLine.MatchString(lines[at]) {
		at++
	}
	return at
}

var codingLine = lazyregexp.New(`^#.*coding[:=]`)

// merged puts the packages in the place of those of the same name.
func merged(have, packages []string) []string {
	out := slices.Clone(have)
	for _, p := range packages {
		same := func(h string) bool { return Same("pip", nameOf("pip", h), nameOf("pip", p)) }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i] = p + marker(out[i])
			continue
		}
		out = append(out, p)
	}
	return out
}

// marker is the condition of a requirement: "; sys_platform == 'win32'".
func marker(requirement string) string {
	if i := strings.IndexByte(requirement, ';'); i >= 0 {
		return requirement[i:]
	}
	return ""
}

func dependencyLines(packages []string) []string {
	out := []string{"dependencies = ["}
	for _, p := range packages {
		out = append(out, fmt.Sprintf("  %s,", quote(p)))
	}
	return append(out, "]")
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func commented(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if out[i] = "#"; l != "" {
			out[i] = "# " + l
		}
	}
	return out
}

var dependenciesKey = lazyregexp.New(`^\s*dependencies\s*=`)

// replaceDependencies writes the list anew in the TOML of a block, where the
// old one was, or before the first table.
func replaceDependencies(body, packages []string) []string {
	from := slices.IndexFunc(body, dependenciesKey.MatchString)
	table := slices.IndexFunc(body, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "[") })
	if from < 0 || table >= 0 && table < from {
		if table < 0 {
			table = len(body)
		}
		return slices.Insert(slices.Clone(body), table, dependencyLines(packages)...)
	}
	to := from + 1
	for ; to < len(body) && !closed(body[from:to]); to++ {
	}
	return slices.Concat(body[:from], dependencyLines(packages), body[to:])
}

// closed says whether the lines are a whole assignment.
func closed(lines []string) bool {
	var v map[string]any
	return toml.Unmarshal([]byte(strings.Join(lines, "\n")), &v) == nil
}
