package lock

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"kintsugi/agent/heal/pom"
)

// GoMod gives the text of a go.mod that requires the modules of a part, those
// that were asked for apart from what came along. The rest stays; an empty old
// text makes a new file.
func GoMod(old string, p Part) (string, error) {
	if strings.TrimSpace(old) == "" {
		version, _, _ := strings.Cut(strings.TrimPrefix(p.For, "go"), " ")
		if old = "module sandbox\n"; version != "" {
			old += "\ngo " + version + "\n"
		}
	}
	mod, err := modfile.Parse("go.mod", []byte(old), nil)
	if err != nil {
		return "", fmt.Errorf("go.mod cannot be read: %s", firstLine(err.Error()))
	}
	direct := map[string]bool{}
	for _, a := range p.Asked {
		if i := p.index(a); i >= 0 {
			direct[p.Packages[i].Name] = true
		}
	}
	for _, pkg := range p.Packages {
		if err := mod.AddRequire(pkg.Name, pkg.Version); err != nil {
			return "", err
		}
	}
	for _, req := range mod.Require {
		if named(p, req.Mod.Path) {
			req.Indirect = !direct[req.Mod.Path]
		}
	}
	mod.SetRequireSeparateIndirect(slices.Clone(mod.Require))
	mod.Cleanup()
	text, err := mod.Format()
	return string(text), err
}

func named(p Part, name string) bool {
	return slices.ContainsFunc(p.Packages, func(pkg Package) bool { return pkg.Name == name })
}

// GoSum gives the lines of two go.sum files, each once.
func GoSum(old, more string) string {
	var lines []string
	for _, l := range strings.Split(old+"\n"+more, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") + "\n"
}

// PomXML gives the text of a pom.xml whose dependencies name the packages that a
// part was asked for. Those that it has stay as they are; plugins, and what
// Maven uses itself, are none.
func PomXML(old string, p Part) (string, error) {
	project, err := pom.Read(old)
	if err != nil {
		return "", err
	}
	var add []pom.Dependency
	for _, exact := range p.Exact() {
		if d := pom.Parse(exact); !d.Plugin && d.Version != "" && !strings.HasPrefix(d.Group, "org.apache.maven.") {
			add = append(add, d)
		}
	}
	return project.With(add), nil
}

// CargoTOML gives the text of a Cargo.toml whose dependencies name the crates
// that a part was asked for. Crates that it names already stay as they are; an
// empty old text makes a new file for the program of that name.
func CargoTOML(old, program string, p Part) string {
	if strings.TrimSpace(old) == "" {
		name := strings.Trim(strings.ToLower(runs.ReplaceAllString(strings.TrimSuffix(program, ".rs"), "-")), "-")
		old = fmt.Sprintf("[package]\nname = %q\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[[bin]]\nname = %[1]q\npath = %q\n", name, program)
	}
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(old, "\r\n", "\n"), "\n"), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "[dependencies]" })
	if at < 0 {
		lines = append(lines, "", "[dependencies]")
		at = len(lines) - 1
	}
	end := at + 1
	for end < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[end]), "[") {
		end++
	}
	for strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	var more []string
	for _, exact := range p.Exact() {
		if line, name := crateLine(exact); !slices.ContainsFunc(lines, func(l string) bool { return namesCrate(l, name) }) {
			more = append(more, line)
		}
	}
	return strings.Join(slices.Insert(lines, end, more...), "\n") + "\n"
}

// crateLine is the dependency of "name[feature,…]@version".
func crateLine(exact string) (line, name string) {
	head, version, _ := strings.Cut(exact, "@")
	name, list, some := strings.Cut(strings.TrimSuffix(head, "]"), "[")
	if !some {
		return fmt.Sprintf("%s = %q", name, version), name
	}
	features := strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
	for i, f := range features {
		features[i] = fmt.Sprintf("%q", f)
	}
	return fmt.Sprintf("%s = { version = %q, features = [%s] }", name, version, strings.Join(features, ", ")), name
}

// namesCrate says whether a line of a Cargo.toml is the dependency on a crate.
func namesCrate(line, name string) bool {
	line = strings.TrimSpace(line)
	if head, ok := strings.CutSuffix(line, "]"); ok {
		head = head[strings.LastIndexByte(head, '.')+1:]
		return strings.Contains(line, "dependencies.") && Same("cargo", head, name)
	}
	key, _, ok := strings.Cut(line, "=")
	key, _, _ = strings.Cut(strings.Trim(strings.TrimSpace(key), `"`), ".")
	return ok && Same("cargo", key, name)
}
