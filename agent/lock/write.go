package lock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"kintsugi/sandbox/lazyregexp"
)

// Requirements gives the text of a requirements file with the packages of a
// part at their versions. When every line of it is one of them, each gets its
// hashes; else none does, since pip takes hashes for all or for none, and
// hashed is false.
func Requirements(old string, p Part) (text string, hashed bool) {
	lines := strings.Split(strings.ReplaceAll(joinedLines(old), "\r\n", "\n"), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	hashed = !slices.ContainsFunc(lines, func(l string) bool { return isRequirement(l) && find(p, l) < 0 })
	var out []string
	done := map[int]bool{}
	for _, l := range lines {
		i := find(p, l)
		switch {
		case !isRequirement(l) || i < 0:
			out = append(out, l)
		case !done[i]:
			done[i] = true
			out = append(out, requirement(p, l, i, hashed)...)
		}
	}
	for i, pkg := range p.Packages {
		if !done[i] && (hashed || slices.ContainsFunc(p.Asked, func(a string) bool { return Same("pip", nameOf("pip", a), pkg.Name) })) {
			out = append(out, requirement(p, pkg.Name, i, hashed)...)
		}
	}
	return strings.Join(out, "\n") + "\n", hashed
}

var hashOption = lazyregexp.New(`\s*--hash=\S+`)

// joinedLines undoes continuation lines and takes old hashes away.
func joinedLines(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\\\r\n", " "), "\\\n", " ")
	return hashOption.ReplaceAllString(text, "")
}

func isRequirement(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#' && line[0] != '-'
}

func find(p Part, line string) int {
	name := nameOf("pip", strings.TrimSpace(line))
	return slices.IndexFunc(p.Packages, func(pkg Package) bool { return name != "" && Same("pip", pkg.Name, name) })
}

// requirement writes one package; extras, marker and comment of the old line
// stay.
func requirement(p Part, line string, i int, hashed bool) []string {
	pkg := p.Packages[i]
	old, comment, ok := strings.Cut(strings.TrimSpace(line), " #")
	if ok {
		comment = "  #" + comment
	}
	head := pinned("pip", asAsked(p, old), pkg.Version)
	if m := marker(old); m != "" {
		head += " " + m
	}
	if !hashed {
		return []string{head + comment}
	}
	var hashes []string
	for _, h := range pkg.hashes() {
		if strings.HasPrefix(h, "sha256:") || strings.HasPrefix(h, "sha512:") || strings.HasPrefix(h, "sha384:") {
			hashes = append(hashes, "    --hash="+h)
		}
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	var out []string
	if comment != "" {
		out = append(out, strings.TrimSpace(comment))
	}
	out = append(out, head+" \\")
	for n, h := range hashes {
		if n < len(hashes)-1 {
			h += " \\"
		}
		out = append(out, h)
	}
	return out
}

// asAsked prefers the form with extras in which a package was asked for.
func asAsked(p Part, line string) string {
	if extras.MatchString(line) {
		return line
	}
	for _, a := range p.Asked {
		if Same("pip", nameOf("pip", a), nameOf("pip", line)) && extras.MatchString(a) {
			return a
		}
	}
	return line
}

// PackageJSON gives the text of a package.json whose dependencies name the
// packages that a part was asked for, at their versions. Order and the rest
// stay; an empty old text makes a new file.
func PackageJSON(old string, p Part) (string, error) {
	if strings.TrimSpace(old) == "" {
		old = "{\n  \"private\": true\n}\n"
	}
	top, err := readFields([]byte(old))
	if err != nil {
		return "", fmt.Errorf("package.json cannot be read: %w", err)
	}
	deps, err := readFields(top.get("dependencies"))
	if err != nil {
		return "", fmt.Errorf("dependencies of package.json cannot be read: %w", err)
	}
	for _, exact := range p.Exact() {
		name := nameOf("npm", exact)
		deps.set(name, []byte(quote(strings.TrimPrefix(exact, name+"@"))))
	}
	slices.SortStableFunc(deps, func(a, b field) int { return strings.Compare(a.key, b.key) })
	top.set("dependencies", deps.bytes())
	var out bytes.Buffer
	if err := json.Indent(&out, top.bytes(), "", indentOf(old)); err != nil {
		return "", err
	}
	return out.String() + "\n", nil
}

var indented = lazyregexp.New(`\n([ \t]+)"`)

func indentOf(text string) string {
	if m := indented.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return "  "
}

// field is one member of a JSON object; fields keep their order.
type field struct {
	key   string
	value json.RawMessage
}

type fields []field

func readFields(data []byte) (fields, error) {
	if len(data) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("want an object in braces")
	}
	var out fields
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var f field
		f.key, _ = t.(string)
		if err := dec.Decode(&f.value); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	_, err := dec.Token()
	return out, err
}

func (f fields) get(key string) []byte {
	for _, m := range f {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

func (f *fields) set(key string, value []byte) {
	for i, m := range *f {
		if m.key == key {
			(*f)[i].value = value
			return
		}
	}
	*f = append(*f, field{key, value})
}

func (f fields) bytes() []byte {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range f {
		if i > 0 {
			out.WriteByte(',')
		}
		key, _ := json.Marshal(m.key)
		out.Write(key)
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}
