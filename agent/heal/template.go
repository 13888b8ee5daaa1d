package heal

import (
	"path"
	"regexp"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// capture adds the named groups of the first pattern that matches (or of all
// of them, when every one must match).
func capture(res []*regexp.Regexp, text string, vars map[string]string, all bool) bool {
	for _, re := range res {
		ok := captureOne(re, text, vars)
		if ok && !all {
			return true
		}
		if !ok && all {
			return false
		}
	}
	return all
}

func captureOne(re *regexp.Regexp, text string, vars map[string]string) bool {
	found := re.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	for i, name := range re.SubexpNames() {
		if name != "" && found[i] != "" {
			vars[name] = strings.TrimSpace(found[i])
		}
	}
	return true
}

// expand replaces {name} by its value, and {name|change} by its changed value:
// lower, dash (lower case, separators become dashes), base (what follows the
// last slash), stem (base without extension), root (before the first dot),
// some (a question mark when there is no value).
func expand(t string, vars map[string]string) string {
	if !strings.Contains(t, "{") {
		return t
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(t, '{')
		if i < 0 {
			break
		}
		j := strings.IndexByte(t[i:], '}')
		if j < 0 {
			break
		}
		b.WriteString(t[:i])
		name, change, _ := strings.Cut(t[i+1:i+j], "|")
		b.WriteString(changed(vars[name], change))
		t = t[i+j+1:]
	}
	b.WriteString(t)
	return b.String()
}

var separators = lazyregexp.New(`[:/._\-\s]+`)

func changed(v, change string) string {
	switch change {
	case "lower":
		return strings.ToLower(v)
	case "dash":
		return strings.ToLower(strings.Trim(separators.ReplaceAllString(v, "-"), "-"))
	case "base":
		if v == "" {
			return ""
		}
		return path.Base(v)
	case "stem":
		b := path.Base(v)
		return strings.TrimSuffix(b, path.Ext(b))
	case "some":
		if v == "" {
			return "?"
		}
	case "root":
		v, _, _ = strings.Cut(v, ".")
		return v
	}
	return v
}

// expandWords expands each template; a value of several words becomes several
// entries, an empty one none.
func expandWords(templates []string, vars map[string]string) []string {
	var out []string
	for _, t := range templates {
		out = append(out, strings.Fields(expand(t, vars))...)
	}
	return out
}

// baseVars are the placeholders every rule has: where the code failed, which
// program it was, what ended it.
func (s *scan) baseVars(e *exception) map[string]string {
	vars := map[string]string{
		"limit": s.in.Limit, "signal": s.in.Signal, "python": s.in.Python,
		"script": scriptOf(s.in.Argv), "file": scriptOf(s.in.Argv), "exit": itoa(s.in.Exit), "where": "",
	}
	if len(s.in.Argv) > 0 && isCompiler(s.in.Argv[0]) {
		vars["compiler"] = path.Base(s.in.Argv[0])
	}
	if e == nil {
		return vars
	}
	if f := e.userFrame(); f != nil {
		vars["file"], vars["row"], vars["code"] = path.Base(f.file), f.row, f.code
		vars["where"] = " (" + vars["file"] + ", line " + f.row + ")"
	}
	vars["type"] = e.shortType()
	return vars
}

// isCompiler tells a C or C++ compiler that takes libraries at the end.
func isCompiler(program string) bool {
	switch base, _, _ := strings.Cut(path.Base(program), "-"); base {
	case "gcc", "g++", "cc", "c++", "clang", "clang++":
		return true
	}
	return false
}

// scriptOf is the first argument that names a file, else the command.
func scriptOf(argv []string) string {
	for i, a := range argv {
		if i > 0 && !strings.HasPrefix(a, "-") && path.Ext(a) != "" {
			return a
		}
	}
	if len(argv) > 0 {
		return argv[0]
	}
	return ""
}

// explain fills the explanation; a placeholder's value is shortened so that
// the text stays readable.
func (s *scan) explain(m *match, name string, o *outcome) string {
	short := make(map[string]string, len(m.vars))
	for k, v := range m.vars {
		if k != "where" {
			v = strings.Join(strings.Fields(v), " ")
		}
		if len(v) > 80 {
			v = clip(v, 77) + "…"
		}
		short[k] = v
	}
	short["packages"] = barePackages(m.vars["packages"])
	text := expand(s.rules.explanation(m.rule, name, o), short)
	text = tidy.Replace(strings.Join(strings.Fields(text), " "))
	return loneStop.ReplaceAllString(text, ".$1")
}

// tidy and loneStop take away what an empty placeholder leaves behind.
var (
	tidy     = strings.NewReplacer(" (, line )", "", " (, पंक्ति )", "", "“” ", "")
	loneStop = lazyregexp.New(`(?::| |\.)\.( |$)`)
)

// versionWords says a limit of a version in words.
var versionWords = strings.NewReplacer("<=", " up to ", ">=", " from version ", "==", " version ", "<", " before version ", ">", " after version ")

// barePackages shows a list of packages to a reader: without managers and
// versions.
func barePackages(list string) string {
	var out []string
	for _, p := range strings.Fields(list) {
		_, p = splitManager(p, "")
		out = append(out, versionWords.Replace(p))
	}
	return strings.Join(out, ", ")
}
