// Package lock is the list of what healing installed for a program: names,
// versions and hashes, and why. It is derived from a session's log and the
// layers that the log names, written where an ecosystem wants it, and read
// again before a program's first attempt.
//
// The package never installs anything, and nothing in a lock is trusted: its
// names pass the same gate as any other, and its hashes only narrow down what
// an index offers.
package lock

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"kintsugi/sandbox/gateway"
	"kintsugi/sandbox/lazyregexp"
)

// Name is what the file is called; it lies beside the programs it is for.
const Name = "kintsugi.lock"

// Any is the program of a set that is for every program of the folder.
const Any = "*"

// version is the format of the file.
const version = 1

// maxSize bounds a lock that is read, in bytes.
const maxSize = 16 << 20

// File is a whole lock.
type File struct {
	Version int   `toml:"version" json:"version"`
	Sets    []Set `toml:"set" json:"sets"`
}

// Set is what one program needs.
type Set struct {
	// Program is its path below the lock's folder, with slashes, or Any.
	Program string `toml:"program" json:"program"`
	Parts   []Part `toml:"part" json:"parts"`
}

// Part is what one package manager brings.
type Part struct {
	Manager string `toml:"manager" json:"manager"` // pip, npm, apt, go, cargo
	// For is the interpreter and platform that it was made on. Elsewhere
	// packages may be needed that the lock does not name.
	For string `toml:"for,omitempty" json:"for,omitempty"`
	// Layer is where the packages lie on the machine that made the lock.
	Layer string `toml:"layer,omitempty" json:"layer,omitempty"`
	// Asked are the packages that were asked for: "setuptools<82".
	Asked    []string  `toml:"asked" json:"asked"`
	Packages []Package `toml:"package" json:"packages"`
}

// Package is one installed release.
type Package struct {
	Name    string `toml:"name" json:"name"`
	Version string `toml:"version" json:"version"`
	// Evidence is the line of output that asked for it, Rule what recognised
	// it; both are empty for what came along.
	Evidence string `toml:"evidence,omitempty" json:"evidence,omitempty"`
	Rule     string `toml:"rule,omitempty" json:"rule,omitempty"`
	// File and Hash are what was installed.
	File string `toml:"file,omitempty" json:"file,omitempty"`
	Hash string `toml:"hash,omitempty" json:"hash,omitempty"`
	// Files are all files of the release, for other platforms: name to hash.
	Files map[string]string `toml:"files,omitempty" json:"files,omitempty"`
}

// Read reads a lock. A file that does not exist is fs.ErrNotExist.
func Read(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return File{}, fmt.Errorf("%s: it is too large, or no file; write it anew: kintsugi lock --write", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	var f File
	if err := toml.Unmarshal(data, &f); err != nil {
		return File{}, fmt.Errorf("%s cannot be read: %s; write it anew: kintsugi lock --write", path, firstLine(err.Error()))
	}
	if f.Version != version {
		return File{}, fmt.Errorf("%s has format %d, this Kintsugi knows %d; write it anew: kintsugi lock --write", path, f.Version, version)
	}
	return f, f.check(path)
}

var (
	hashForm = lazyregexp.New(`^(?:sha1:[0-9a-f]{40}|sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}|h1:[A-Za-z0-9+/]{43}=)$`)
	wordForm = lazyregexp.New(`^[@A-Za-z0-9][A-Za-z0-9@/._+~:!-]{0,199}$`)
)

// check refuses what no lock of ours can hold.
func (f File) check(path string) error {
	for _, s := range f.Sets {
		for _, p := range s.Parts {
			for _, pkg := range p.Packages {
				if !wordForm.MatchString(pkg.Name) || !wordForm.MatchString(pkg.Version) {
					return fmt.Errorf("%s: %.80q %.80q is no name with a version", path, pkg.Name, pkg.Version)
				}
				for file, hash := range pkg.hashes() {
					if !hashForm.MatchString(hash) {
						return fmt.Errorf("%s: %s has no hash of a kind that is checked; write the lock anew: kintsugi lock --write", path, file)
					}
				}
			}
		}
	}
	return nil
}

// hashes are those of all files of the release.
func (p Package) hashes() map[string]string {
	if len(p.Files) > 0 {
		return p.Files
	}
	return map[string]string{p.File: p.Hash}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Find reads the lock that is nearest to a program, in its folder or above up
// to the folder top, and gives its set for the program. ok is false when there
// is none.
func Find(top, program, dir string) (s Set, path string, ok bool, err error) {
	if program != "" {
		dir = filepath.Dir(program)
	}
	for at := dir; ; at = filepath.Dir(at) {
		path = filepath.Join(at, Name)
		f, err := Read(path)
		if err == nil {
			s, ok = f.Set(below(at, program))
			return s, path, ok, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Set{}, path, false, err
		}
		if rel, err := filepath.Rel(top, at); err != nil || rel == "." || strings.HasPrefix(rel, "..") {
			return Set{}, "", false, nil
		}
	}
}

// below is a program's name in the lock of folder at.
func below(at, program string) string {
	rel, err := filepath.Rel(at, program)
	if program == "" || err != nil {
		return Any
	}
	return filepath.ToSlash(rel)
}

// Set gives the set for a program: its own, or the one for any.
func (f File) Set(program string) (Set, bool) {
	for _, want := range []string{program, Any} {
		if i := slices.IndexFunc(f.Sets, func(s Set) bool { return s.Program == want }); i >= 0 {
			return f.Sets[i], true
		}
	}
	return Set{}, false
}

// layer is the part that a layer was written down as.
func (f File) layer(key string) (Part, bool) {
	for _, s := range f.Sets {
		for _, p := range s.Parts {
			if p.Layer == key {
				return p, true
			}
		}
	}
	return Part{}, false
}

// Put replaces the set of the same program, or adds it. Why a package is there
// is taken over from the old set where the new one does not know.
func (f *File) Put(s Set) {
	f.Version = version
	if i := slices.IndexFunc(f.Sets, func(o Set) bool { return o.Program == s.Program }); i >= 0 {
		f.Sets[i] = s.explained(f.Sets[i])
		return
	}
	f.Sets = append(f.Sets, s)
	slices.SortFunc(f.Sets, func(a, b Set) int { return strings.Compare(a.Program, b.Program) })
}

// explained is the set with the reasons of an older one.
func (s Set) explained(old Set) Set {
	why := map[string]Package{}
	for _, p := range old.Parts {
		for _, pkg := range p.Packages {
			why[p.Manager+" "+pkg.Name] = pkg
		}
	}
	for _, p := range s.Parts {
		for i, pkg := range p.Packages {
			if o := why[p.Manager+" "+pkg.Name]; pkg.Evidence == "" && pkg.Rule == "" {
				p.Packages[i].Evidence, p.Packages[i].Rule = o.Evidence, o.Rule
			}
		}
	}
	return s
}

// head begins a written lock.
const head = `# What Kintsugi installed, by name, version and hash. kintsugi run prepares a
# program's packages from here before its first attempt and checks every hash.
# Made by: kintsugi lock --write

`

// Bytes is the file's text.
func (f File) Bytes() ([]byte, error) {
	buf := bytes.NewBufferString(head)
	enc := toml.NewEncoder(buf)
	enc.Indent = ""
	err := enc.Encode(f)
	return buf.Bytes(), err
}

// Pins are the releases that a part names, as the gateway takes them.
func (p Part) Pins() []gateway.Pin {
	var out []gateway.Pin
	for _, pkg := range p.Packages {
		out = append(out, gateway.Pin{Ecosystem: p.Manager, Name: pkg.Name, Version: pkg.Version, Files: pkg.hashes()})
	}
	return out
}

// Exact are the packages that were asked for, each at its version.
func (p Part) Exact() []string {
	var out []string
	for _, asked := range p.Asked {
		i := p.index(asked)
		if i < 0 {
			out = append(out, asked)
			continue
		}
		out = append(out, pinned(p.Manager, asked, p.Packages[i].Version))
	}
	return out
}

// index finds the package that a requirement led to; -1 when there is none. A
// Go import path lies in the module with the longest name that fits; a Java
// package may be there at several versions, of which one was asked for.
func (p Part) index(asked string) int {
	if p.Manager == "maven" {
		if i := slices.IndexFunc(p.Packages, func(pkg Package) bool { return pkg.Name+":"+pkg.Version == asked }); i >= 0 {
			return i
		}
	}
	name, best := nameOf(p.Manager, asked), -1
	for i, pkg := range p.Packages {
		fits := Same(p.Manager, pkg.Name, name) || p.Manager == "go" && strings.HasPrefix(name, pkg.Name+"/")
		if fits && (best < 0 || len(pkg.Name) > len(p.Packages[best].Name)) {
			best = i
		}
	}
	return best
}

var (
	pipName   = lazyregexp.New(`^[A-Za-z0-9._-]+`)
	crateName = lazyregexp.New(`^[A-Za-z0-9_-]+`)
	extras    = lazyregexp.New(`^[A-Za-z0-9._-]+\s*\[[^\]]*\]`)
	runs      = lazyregexp.New(`[-_.]+`)
)

// nameOf takes version and extras off a requirement.
func nameOf(manager, asked string) string {
	switch manager {
	case "pip":
		return pipName.FindString(asked)
	case "npm":
		if i := strings.LastIndexByte(asked, '@'); i > 0 {
			return asked[:i]
		}
	case "apt":
		name, _, _ := strings.Cut(asked, "=")
		return name
	case "go":
		path, _, _ := strings.Cut(asked, "@")
		return path
	case "cargo":
		return crateName.FindString(asked)
	case "maven":
		if part := strings.SplitN(asked, ":", 3); len(part) == 3 {
			return part[0] + ":" + part[1]
		}
	}
	return asked
}

// pinned is a requirement at exactly one version.
func pinned(manager, asked, version string) string {
	switch manager {
	case "pip":
		if with := extras.FindString(asked); with != "" {
			return with + "==" + version
		}
		return nameOf(manager, asked) + "==" + version
	case "npm":
		return nameOf(manager, asked) + "@" + version
	case "apt":
		return nameOf(manager, asked) + "=" + version
	case "go", "cargo":
		asked, _, _ = strings.Cut(asked, "@") // features of a crate stay
		return asked + "@" + version
	case "maven":
		return nameOf(manager, asked) + ":" + version
	}
	return asked
}

// Same compares names as a manager does.
func Same(manager, a, b string) bool {
	if manager == "pip" || manager == "cargo" {
		a, b = runs.ReplaceAllString(strings.ToLower(a), "-"), runs.ReplaceAllString(strings.ToLower(b), "-")
	}
	return a == b
}
