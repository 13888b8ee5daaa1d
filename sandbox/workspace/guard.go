package workspace

import (
	"bufio"
	_ "embed" // for the built-in list
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"unicode"

	"kintsugi/sandbox/workspace/beneath"
)

//go:embed guard.txt
var builtinGuard string

// Guard knows the files that trusted tools run or obey by themselves.
type Guard struct {
	exact map[string][]rule // rules of one component without "*"
	other []rule
}

type rule struct {
	hold   bool
	parts  []string // folded components
	reason string
}

// BuiltinGuard is the list that comes with the program.
func BuiltinGuard() *Guard {
	g, err := ReadGuard(strings.NewReader(builtinGuard))
	if err != nil {
		panic("workspace: built-in guard list: " + err.Error())
	}
	return g
}

// builtin is the built-in list, read when something is first compared.
var builtin = sync.OnceValue(BuiltinGuard)

// guard is the list that the store's owner gave, or the built-in one.
func (s *Store) guard() *Guard {
	if s.opts.Guard != nil {
		return s.opts.Guard
	}
	return builtin()
}

// ReadGuard reads a list: one rule per line, an action (hold or flag), a
// pattern and a reason, separated by blanks; "#" starts a comment.
func ReadGuard(r io.Reader) (*Guard, error) {
	g := Guard{exact: map[string][]rule{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 3 || f[0] != "hold" && f[0] != "flag" {
			return nil, fmt.Errorf("guard list, line %d: want \"hold PATTERN REASON\" or \"flag PATTERN REASON\"", n)
		}
		ru := rule{hold: f[0] == "hold", parts: strings.Split(fold(f[1]), "/"), reason: strings.Join(f[2:], " ")}
		for _, p := range ru.parts {
			if _, err := path.Match(p, "x"); err != nil {
				return nil, fmt.Errorf("guard list, line %d: pattern %q: %w", n, f[1], err)
			}
		}
		g.add(ru)
	}
	return &g, lines.Err()
}

func (g *Guard) add(r rule) {
	if len(r.parts) == 1 && !strings.ContainsAny(r.parts[0], `*?[\`) {
		g.exact[r.parts[0]] = append(g.exact[r.parts[0]], r)
		return
	}
	g.other = append(g.other, r)
}

// Check says why a path is to be held back, and why it is to be pointed out;
// both are empty for most paths.
func (g *Guard) Check(p string) (held, flag string) {
	v := (&checker{guard: g}).check(fold(p))
	return v.held, v.flag
}

// verdict is what the guard says about a path.
type verdict struct{ held, flag string }

// checker remembers the verdicts on the directories above the last path, since
// paths come directory by directory.
type checker struct {
	guard *Guard
	above []judged
}

// judged is a directory with the verdict on it.
type judged struct {
	dir string
	verdict
}

// check judges a folded path: what holds for a directory holds for all in it.
func (c *checker) check(p string) verdict {
	for len(c.above) > 0 && !strings.HasPrefix(p, c.above[len(c.above)-1].dir+"/") {
		c.above = c.above[:len(c.above)-1]
	}
	v, done := verdict{}, 0
	if n := len(c.above); n > 0 {
		v, done = c.above[n-1].verdict, len(c.above[n-1].dir)+1
	}
	for {
		i := strings.IndexByte(p[done:], '/')
		if i < 0 {
			c.guard.end(p, &v)
			return v
		}
		dir := p[:done+i]
		c.guard.end(dir, &v)
		c.above = append(c.above, judged{dir, v})
		done += i + 1
	}
}

// end applies the rules that match the last components of p.
func (g *Guard) end(p string, v *verdict) {
	_, name := beneath.Split(p)
	for _, r := range g.exact[name] {
		r.apply(v)
	}
	for _, r := range g.other {
		if r.matchesEnd(p, name) {
			r.apply(v)
		}
	}
}

func (r rule) apply(v *verdict) {
	switch {
	case r.hold && v.held == "":
		v.held = r.reason
	case !r.hold && v.flag == "":
		v.flag = r.reason
	}
}

func (r rule) matchesEnd(p, name string) bool {
	for i := len(r.parts) - 1; i >= 0; i-- {
		if ok, _ := path.Match(r.parts[i], name); !ok || i > 0 && p == name {
			return false
		}
		p, name = lastOf(p, name)
	}
	return true
}

// lastOf drops the last name of p and gives the one before.
func lastOf(p, name string) (string, string) {
	if p == name {
		return "", ""
	}
	p = p[:len(p)-len(name)-1]
	_, name = beneath.Split(p)
	return p, name
}

// fold maps names to one form where some file system or tool takes them for
// the same: case, invisible characters (macOS drops them), trailing dots and
// blanks and stream suffixes (Windows drops them).
func fold(p string) string {
	if isPlain(p) {
		return strings.ToLower(p)
	}
	plain := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Mn) {
			return -1
		}
		return r
	}, p)
	parts := strings.Split(strings.ToLower(strings.ToUpper(plain)), "/")
	for i, part := range parts {
		part, _, _ = strings.Cut(part, ":")
		parts[i] = strings.TrimRight(part, ". ")
	}
	return strings.Join(parts, "/")
}

// isPlain says whether only the case of p needs folding.
func isPlain(p string) bool {
	for i := range len(p) {
		b := p[i]
		if b >= 0x7f || b <= ' ' || b == ':' || b == '.' && (i+1 == len(p) || p[i+1] == '/') {
			return false
		}
	}
	return true
}

// mark fills in what the guard knows about ch.
func (c *checker) mark(ch *Change) {
	v := c.check(fold(ch.Path))
	ch.Held, ch.Flag = v.held, v.flag
	if ch.twin && ch.Flag == "" && ch.New.Kind != beneath.Absent {
		ch.Flag = "another name differs only in case; macOS and Windows take them for one"
	}
	if ch.Held == "" && makesRepository(*ch) {
		ch.Held = "git: may make the directory a repository"
	}
	if ch.Held == "" && ch.New.Kind == beneath.Symlink && leavesProject(ch.Path, ch.New.Target) {
		ch.Held = "a link out of the project, to " + Quote(ch.New.Target)
	}
}

// makesRepository says whether a file is the one by which git takes any
// directory for a repository, with the commands in its configuration.
func makesRepository(ch Change) bool {
	_, name := beneath.Split(ch.Path)
	return fold(name) == "head" && (ch.New.Kind == beneath.File || ch.New.Kind == beneath.Symlink)
}

// leavesProject says whether a link at path may lead out of the project: its
// target is absolute, climbs above the project, or climbs after going down,
// where another link could have led elsewhere.
func leavesProject(p, target string) bool {
	if path.IsAbs(target) || strings.ContainsAny(target, `\:`) {
		return true
	}
	depth, down := strings.Count(p, "/"), false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 || down {
				return true
			}
		default:
			down = true
		}
	}
	return false
}
