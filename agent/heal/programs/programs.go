// Package programs holds small programs that fail, each for another reason,
// and what should come of each: the output once it is mended, or the
// explanation when nothing may be installed. kintsugi heal table runs them.
//
// The programs are data (one TOML file per ecosystem). The package never runs
// them and never decides what mends them.
package programs

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Program is one program that fails.
type Program struct {
	// Ecosystem is the name of the file that has the program ("python").
	Ecosystem string `toml:"-"`
	Name      string `toml:"name"`
	// File and Code are the program; Files are more files beside it, by path.
	File  string            `toml:"file"`
	Code  string            `toml:"code"`
	Files map[string]string `toml:"files"`
	// Run is a command to run instead of File.
	Run []string `toml:"run"`
	// Args are the program's own arguments; Flags those of kintsugi run.
	Args  []string `toml:"args"`
	Flags []string `toml:"flags"`
	// Why says what fails, for the table.
	Why string `toml:"why"`
	// Kind is the failure that has to be recognised: the first one of a
	// program that is mended, the last one of any other.
	Kind string `toml:"kind"`
	// Want is text that standard output has once the program is mended. Empty:
	// it cannot be mended by acting, and must be explained.
	Want string `toml:"want"`
	// Needs are all packages that may be installed for it, "manager name".
	Needs []string `toml:"needs"`
	// Asks says that the mend needs the user's word first.
	Asks bool `toml:"asks"`
	// Quick programs need few packages or none.
	Quick bool `toml:"quick"`
}

//go:embed *.toml
var files embed.FS

// Load reads all programs, by ecosystem and in the order of their files.
func Load() ([]Program, error) { return load(files) }

func load(fsys fs.FS) ([]Program, error) {
	names, err := fs.Glob(fsys, "*.toml")
	if err != nil {
		return nil, err
	}
	var all []Program
	seen := map[string]bool{}
	for _, name := range names {
		list, err := loadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, p := range list {
			if seen[p.Name] {
				return nil, fmt.Errorf("%s: there are two programs called %s", name, p.Name)
			}
			seen[p.Name] = true
		}
		all = append(all, list...)
	}
	return all, nil
}

func loadFile(fsys fs.FS, name string) ([]Program, error) {
	var doc struct {
		Program []Program `toml:"program"`
	}
	meta, err := toml.DecodeFS(fsys, name, &doc)
	if err != nil {
		return nil, err
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return nil, fmt.Errorf("%s means nothing here", extra[0])
	}
	for i := range doc.Program {
		doc.Program[i].Ecosystem = strings.TrimSuffix(path.Base(name), ".toml")
		if err := doc.Program[i].check(); err != nil {
			return nil, err
		}
	}
	return doc.Program, nil
}

// check finds entries that could never end right, or always would.
func (p Program) check() error {
	fail := func(why string) error { return fmt.Errorf("program %q: %s", p.Name, why) }
	switch {
	case p.Name == "" || p.Why == "" || p.Kind == "":
		return fail("name, why and kind must be set")
	case p.File == "" && len(p.Run) == 0:
		return fail("there is neither a file nor a command to run")
	case p.Want != "" && p.Asks:
		return fail("it cannot both ask and be mended")
	}
	for name := range p.texts() {
		if !filepath.IsLocal(name) {
			return fail("the path " + name + " leads out of its folder")
		}
	}
	for _, need := range p.Needs {
		if len(strings.Fields(need)) != 2 {
			return fail("needs has \"manager name\" entries, not " + need)
		}
	}
	return nil
}

// texts are all files of the program.
func (p Program) texts() map[string]string {
	all := map[string]string{}
	for name, text := range p.Files {
		all[name] = text
	}
	if p.File != "" && p.Code != "" {
		all[p.File] = p.Code
	}
	return all
}

// Write puts the program's files into a folder.
func (p Program) Write(dir string, write func(path, text string) error) error {
	var errs []error
	for name, text := range p.texts() {
		errs = append(errs, write(filepath.Join(dir, filepath.FromSlash(name)), text))
	}
	return errors.Join(errs...)
}

// Command gives the arguments of kintsugi run.
func (p Program) Command() []string {
	if len(p.Run) > 0 {
		return slices.Concat(p.Flags, []string{"--"}, p.Run, p.Args)
	}
	return slices.Concat(p.Flags, []string{p.File}, p.Args)
}

// May says whether this package may be installed for the program.
func (p Program) May(manager, name string) bool {
	return slices.Contains(p.Needs, manager+" "+name)
}
