package heal

import (
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// Verdict is what is known about the name of a package.
type Verdict struct {
	Trust  Trust
	Origin string // the map row or list that vouches for the name
	// DidYouMean are known names close to an unknown one; a name of another
	// registry says so: "lodash (npm)".
	DidYouMean []string
	// Typo tells that the nearest name differs by a slip of the fingers only.
	Typo bool
}

// Vouch says how well the name of a package is known to a manager ("pip",
// "npm", …). Curated names are Known, names of the shipped lists Listed; for
// any other name it looks for a known one that may have been meant.
func (r *Rules) Vouch(manager, name string) Verdict {
	name = bareName(manager, name)
	if w, ok := r.table("wrong").rows[manager+" "+name]; ok {
		return Verdict{Trust: Unknown, Origin: "map wrong: " + name, DidYouMean: strings.Split(w.columns["packages"], ", ")}
	}
	switch {
	case manager == "maven":
		return r.vouchMaven(name)
	case manager == "go":
		name = r.goModule(name)
	case manager == "cargo" && !r.list("cargo-known").has(name): // crates differ in more than a dash
		if dashed := strings.ReplaceAll(name, "_", "-"); r.list("cargo-known").has(dashed) || r.list("cargo").has(dashed) {
			name = dashed
		}
	}
	switch {
	case manager == "apt" && r.list("curated apt").has(name):
		return Verdict{Trust: Known, Origin: "maps: " + name}
	case manager == "pip" && r.curatedPip().has(name):
		return Verdict{Trust: Known, Origin: "map import: " + name}
	case r.list(manager + "-known").has(name):
		return Verdict{Trust: Known, Origin: "list " + manager + "-known: " + name}
	case r.list(listOf(manager)).has(name):
		return Verdict{Trust: Listed, Origin: "list " + listOf(manager) + ": " + name}
	}
	near, typo := r.nearNames(manager, name)
	return Verdict{Trust: Unknown, DidYouMean: near, Typo: typo}
}

// listOf is the file of well-known names of a manager.
func listOf(manager string) string {
	if manager == "pip" {
		return "pypi"
	}
	return manager
}

var (
	versionTail = lazyregexp.New(`[\s<>=!~;\[].*$`)
	pipRuns     = lazyregexp.New(`[-_.]+`)
)

// BareName is the name of a package as its manager compares it, without
// version and extras: "Pillow>=10" is "pillow" for pip.
func BareName(manager, name string) string { return bareName(manager, name) }

// bareName takes version and extras off, and writes Python names as the index
// compares them: lower case, runs of separators as one dash.
func bareName(manager, name string) string {
	switch manager {
	case "pip":
		name = versionTail.ReplaceAllString(strings.TrimSpace(name), "")
		return strings.ToLower(pipRuns.ReplaceAllString(name, "-"))
	case "npm":
		if i := strings.LastIndexByte(name, '@'); i > 0 {
			name = name[:i]
		}
	case "go":
		name, _, _ = strings.Cut(name, "@")
	case "cargo":
		if i := strings.IndexAny(name, "@["); i > 0 {
			name = name[:i]
		}
	case "maven":
		if part := strings.SplitN(name, ":", 3); len(part) == 3 {
			name = part[0] + ":" + part[1]
		}
	}
	return name
}

// curatedPip are the distributions that the import map names.
func (r *Rules) curatedPip() *nameList { return r.list("curated pip") }

func (r *Rules) readCurated() *nameList {
	l := &nameList{names: map[string]bool{}}
	for _, key := range sortedKeys(r.table("import").rows) {
		for _, p := range r.table("import").rows[key].packages {
			if manager, name := splitManager(p, "pip"); manager == "pip" && name != "-" {
				l.add(bareName("pip", name))
			}
		}
	}
	return l
}

// readCuratedApt are the system packages that any map names.
func (r *Rules) readCuratedApt() *nameList {
	l := &nameList{names: map[string]bool{}}
	for _, name := range []string{"command", "header", "so", "pkgconfig", "lib", "symbol", "cmake", "sty", "perl", "phpext", "lua"} {
		t := r.table(name)
		for _, key := range sortedKeys(t.rows) {
			for _, p := range t.rows[key].packages {
				if manager, pkg := splitManager(p, "apt"); manager == "apt" && pkg != "-" {
					l.add(pkg)
				}
			}
		}
	}
	return l
}

// goModule is the known module that an import path lies in, or the path.
func (r *Rules) goModule(path string) string {
	for p := path; strings.Contains(p, "/"); p = p[:strings.LastIndexByte(p, '/')] {
		if r.list("go-known").has(p) || r.list("go").has(p) {
			return p
		}
	}
	return path
}

// near are the keys of a map that are one or two letters away from key.
func (r *Rules) near(table, key string) []string {
	if table != "command" {
		return nil
	}
	return closest(sortedKeys(r.table(table).rows), key)
}

// nearNames looks for what an unknown name may have meant: a typo, other
// separators, two known names joined, a name of another registry.
func (r *Rules) nearNames(manager, name string) (near []string, typo bool) {
	own := r.known(manager)
	for _, l := range own {
		near = append(near, closest(l.all, name)...)
	}
	if len(near) > 0 {
		return firstNames(near), true
	}
	if near = joined(own, name); len(near) > 0 {
		return firstNames(near), false
	}
	for _, other := range []string{"pip", "npm", "gem", "cargo"} {
		if other == manager {
			continue
		}
		for _, l := range r.known(other) {
			if l.has(name) {
				return []string{name + " (" + other + ")"}, false
			}
		}
	}
	return nil, false
}

// known are the lists that a manager's names are compared with.
func (r *Rules) known(manager string) []*nameList {
	lists := []*nameList{r.list(manager + "-known"), r.list(listOf(manager))}
	if manager == "pip" {
		lists = append(lists, r.curatedPip())
	}
	return lists
}

func firstNames(names []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, n := range names {
		if !seen[n] && len(out) < 3 {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// joined finds two known names put together into one, with or without a dash.
func joined(lists []*nameList, name string) []string {
	has := func(n string) bool {
		for _, l := range lists {
			if l.has(n) {
				return true
			}
		}
		return false
	}
	for i := 4; i <= len(name)-4; i++ {
		left, right := name[:i], strings.TrimLeft(name[i:], "-_.")
		if len(right) >= 4 && has(left) && has(right) {
			return []string{left, right}
		}
	}
	return nil
}

// closest returns the names within one edit (two from eight letters on) of
// name, or equal to it but for separators; the nearest first.
func closest(names []string, name string) []string {
	limit := 1
	if len(name) >= 8 {
		limit = 2
	}
	if len(name) < 4 {
		return nil
	}
	var one, two []string
	flat := flatten(name)
	for _, n := range names {
		if d := len(n) - len(name); d > limit || d < -limit {
			continue
		}
		switch d := editDistance(n, name, limit); {
		case d == 0:
		case d == 1 || flatten(n) == flat:
			one = append(one, n)
		case d <= limit:
			two = append(two, n)
		}
	}
	return firstNames(append(one, two...))
}

func flatten(name string) string { return strings.ToLower(pipRuns.ReplaceAllString(name, "")) }

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours that turn a into b; more than limit gives limit+1.
func editDistance(a, b string, limit int) int {
	if len(a) > 64 || len(b) > 64 {
		return limit + 1
	}
	var rows [3][65]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur, prev, older := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		cur[0] = i
		best := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, older[j-2]+1)
			}
			cur[j] = d
			best = min(best, d)
		}
		if best > limit {
			return limit + 1
		}
	}
	return rows[len(a)%3][len(b)]
}
