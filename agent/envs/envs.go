// Package envs is environments in plain language: "Python 3.12 with pandas and
// ffmpeg" becomes a manifest, which is shown, can be edited, and is used again
// by its name.
//
// Rules read the words first; what they do not know a model may be asked
// about, and whatever it says still passes the gate that vouches for names. The
// package never installs anything.
package envs

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

	"kintsugi/sandbox/lazyregexp"
)

// Manifest is an environment.
type Manifest struct {
	Name string `toml:"name"`
	// About are the words that it was made from.
	About string `toml:"about,omitempty"`
	// Image is the image that boxes see, such as "python:3.12-slim"; empty: this
	// machine, or the usual one of an engine.
	Image string `toml:"image,omitempty"`
	// Python and Node are versions such as "3.12"; empty: whatever is there.
	Python string   `toml:"python,omitempty"`
	Node   string   `toml:"node,omitempty"`
	Pip    []string `toml:"pip,omitempty"`
	Npm    []string `toml:"npm,omitempty"`
	Apt    []string `toml:"apt,omitempty"`
}

// Part is what one manager brings.
type Part struct {
	Manager  string
	Packages []string
}

// Parts are the packages by manager, system packages first: others may need
// them.
func (m Manifest) Parts() []Part {
	var out []Part
	for _, p := range []Part{{"apt", m.Apt}, {"pip", m.Pip}, {"npm", m.Npm}} {
		if len(p.Packages) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// Empty says that the manifest asks for nothing.
func (m Manifest) Empty() bool {
	return len(m.Parts()) == 0 && m.Python == "" && m.Node == "" && m.Image == ""
}

func (m *Manifest) add(manager, name string) {
	list := map[string]*[]string{"pip": &m.Pip, "npm": &m.Npm, "apt": &m.Apt}[manager]
	if list != nil && !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

const fileHead = "# An environment of Kintsugi. Use it: kintsugi run --environment %s FILE\n# pip, npm and apt are package names, with a version where it matters: \"pandas<3\".\n\n"

// Bytes is the manifest's file.
func (m Manifest) Bytes() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, fileHead, m.Name)
	enc := toml.NewEncoder(&b)
	enc.Indent = ""
	err := enc.Encode(m)
	return b.Bytes(), err
}

var (
	nameForm    = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	versionForm = lazyregexp.New(`^\d{1,3}(\.\d{1,3}){0,2}$`)
	imageForm   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9./:@_-]{0,255}$`)
	packageForm = lazyregexp.New(`^[@A-Za-z0-9][A-Za-z0-9@/._+<>=!~,\[\] -]{0,199}$`)
)

// Check refuses what no manifest can be.
func (m Manifest) Check() error {
	if !nameForm.MatchString(m.Name) {
		return fmt.Errorf("%q is no name for an environment: use lower-case letters, digits, dots and dashes", m.Name)
	}
	for _, v := range []string{m.Python, m.Node} {
		if v != "" && !versionForm.MatchString(v) {
			return fmt.Errorf("environment %s: %q is no version", m.Name, v)
		}
	}
	if m.Image != "" && !imageForm.MatchString(m.Image) {
		return fmt.Errorf("environment %s: %.80q is no name of an image", m.Name, m.Image)
	}
	for _, p := range m.Parts() {
		for _, name := range p.Packages {
			if !packageForm.MatchString(name) {
				return fmt.Errorf("environment %s: %.80q is no name of a package", m.Name, name)
			}
		}
	}
	return nil
}

// Folder holds manifests, one file each.
type Folder struct{ Dir string }

func (f Folder) path(name string) string { return filepath.Join(f.Dir, name+".toml") }

// Path is the file of a manifest, which may not exist.
func (f Folder) Path(name string) (string, error) {
	if !nameForm.MatchString(name) {
		return "", fmt.Errorf("%q is no name of an environment; see: kintsugi env list", name)
	}
	return f.path(name), nil
}

// Load reads a manifest.
func (f Folder) Load(name string) (Manifest, error) {
	path, err := f.Path(name)
	if err != nil {
		return Manifest{}, err
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Manifest{}, fmt.Errorf("there is no environment %s; see: kintsugi env list", name)
	case err != nil:
		return Manifest{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	m, err := Parse(data)
	if err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	m.Name = name
	return m, m.Check()
}

// Parse reads the text of a manifest. It does not check it.
func Parse(data []byte) (Manifest, error) {
	var m Manifest
	meta, err := toml.Decode(string(data), &m)
	switch {
	case err != nil:
		return m, fmt.Errorf("no environment: %w", err)
	case len(meta.Undecoded()) > 0:
		return m, fmt.Errorf("%s is no part of an environment", meta.Undecoded()[0])
	}
	return m, nil
}

// Save writes a manifest, in the place of one with the same name.
func (f Folder) Save(m Manifest) error {
	if err := m.Check(); err != nil {
		return err
	}
	data, err := m.Bytes()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return fmt.Errorf("the environment cannot be kept: %w", err)
	}
	tmp := f.path(m.Name) + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("the environment cannot be kept: %w", err)
	}
	return os.Rename(tmp, f.path(m.Name))
}

// Remove forgets a manifest.
func (f Folder) Remove(name string) error {
	if _, err := f.Load(name); err != nil {
		return err
	}
	return os.Remove(f.path(name))
}

// List names the manifests.
func (f Folder) List() ([]string, error) {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".toml"); ok && nameForm.MatchString(name) {
			out = append(out, name)
		}
	}
	return out, err
}
