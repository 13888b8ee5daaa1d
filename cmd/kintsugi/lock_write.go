package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kintsugi/agent/heal/install"
	"kintsugi/agent/lock"
)

// write keeps the lock beside the programs, and tells the ecosystems.
func (f lockFile) write(w io.Writer, format string) error {
	if len(f.fresh) == 0 {
		return errors.New("there is nothing to write: " + strings.Join(append(f.Skipped, "no package"), ", ") + "; run the program again")
	}
	path := filepath.Join(f.Dir, lock.Name)
	old, err := lock.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, s := range f.fresh {
		old.Put(s)
	}
	data, err := old.Bytes()
	if err != nil {
		return err
	}
	for _, s := range f.fresh {
		for _, p := range s.Parts {
			if err := f.tell(w, s.Program, p, format); err != nil {
				return err
			}
		}
	}
	return rewrite(w, path, string(data), "every name, version and hash")
}

// tell writes a part where its ecosystem looks for it.
func (f lockFile) tell(w io.Writer, program string, p lock.Part, format string) error {
	file := filepath.Join(f.Dir, filepath.FromSlash(program))
	switch p.Manager {
	case "npm":
		return f.tellNode(w, p)
	case "go":
		return f.tellGo(w, p)
	case "cargo":
		return f.tellCargo(w, program, p)
	case "maven":
		return f.tellMaven(w, p)
	case "pip":
	default:
		return nil
	}
	requirements := filepath.Join(f.Dir, "requirements.txt")
	if format == "auto" {
		switch {
		case exists(requirements):
			format = "requirements"
		case filepath.Ext(program) == ".py":
			format = "block"
		}
	}
	switch format {
	case "requirements":
		return tellRequirements(w, requirements, p)
	case "block":
		if filepath.Ext(program) != ".py" {
			return fmt.Errorf("--format block: %s is no Python program", program)
		}
		return tellBlock(w, file, p)
	}
	return nil
}

func tellBlock(w io.Writer, file string, p lock.Part) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the program: %w", err)
	}
	text, err := lock.WithDependencies(string(old), p.Exact())
	if err != nil {
		return fmt.Errorf("%s, %w", file, err)
	}
	return rewrite(w, file, text, "its block names the packages")
}

func tellRequirements(w io.Writer, file string, p lock.Part) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, hashed := lock.Requirements(string(old), p)
	what := "every package with its hashes"
	if !hashed {
		what = "without hashes, because it names packages that this session did not install"
	}
	return rewrite(w, file, text, what)
}

// tellNode writes the package.json beside the lock, which is made when it is
// not there.
func (f lockFile) tellNode(w io.Writer, p lock.Part) error {
	file := filepath.Join(f.Dir, "package.json")
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := lock.PackageJSON(string(old), p)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return rewrite(w, file, text, "its dependencies name the packages")
}

// above is the file of that name in the lock's folder or the nearest one above
// it, up to the project's; a new one belongs into the lock's folder.
func (f lockFile) above(name string) string {
	for at := f.Dir; ; at = filepath.Dir(at) {
		if path := filepath.Join(at, name); exists(path) {
			return path
		}
		if at == f.top || at == filepath.Dir(at) || f.top == "" {
			return filepath.Join(f.Dir, name)
		}
	}
}

// tellGo writes go.mod and, as far as the layer still knows them, the seals of
// go.sum.
func (f lockFile) tellGo(w io.Writer, p lock.Part) error {
	file := f.above("go.mod")
	old, err := readOptional(file)
	if err != nil {
		return err
	}
	text, err := lock.GoMod(old, p)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := rewrite(w, file, text, "it requires the modules"); err != nil {
		return err
	}
	seals := ""
	if l, ok := f.store.Find(p.Layer); ok {
		seals, _ = readOptional(install.GoSum(l))
	}
	if seals == "" {
		fmt.Fprintln(w, "go.sum is not written, because the layer is gone; go mod tidy makes it")
		return nil
	}
	sum := strings.TrimSuffix(file, ".mod") + ".sum"
	if old, err = readOptional(sum); err != nil {
		return err
	}
	return rewrite(w, sum, lock.GoSum(old, seals), "the seals of the modules")
}

// tellCargo writes Cargo.toml, which is made for a program that has none.
func (f lockFile) tellCargo(w io.Writer, program string, p lock.Part) error {
	file := f.above("Cargo.toml")
	old, err := readOptional(file)
	if err != nil {
		return err
	}
	if old == "" && filepath.Ext(program) != ".rs" {
		return nil
	}
	return rewrite(w, file, lock.CargoTOML(old, filepath.ToSlash(program), p), "its dependencies name the crates")
}

// tellMaven writes the dependencies of a Maven project; a single file has no
// place for them.
func (f lockFile) tellMaven(w io.Writer, p lock.Part) error {
	file := f.above("pom.xml")
	old, err := readOptional(file)
	if err != nil || old == "" {
		return err
	}
	text, err := lock.PomXML(old, p)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return rewrite(w, file, text, "its dependencies name the packages")
}

// readOptional reads a file; one that is not there is empty.
func readOptional(file string) (string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(data), err
}

// rewrite replaces a file of the project as a whole. A link is not followed: it
// may lead out of the project.
func rewrite(w io.Writer, path, text, what string) error {
	mode := fs.FileMode(0o644)
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is no plain file, so it is not written", path)
	case err == nil:
		mode = info.Mode().Perm()
		if old, err := os.ReadFile(path); err == nil && string(old) == text {
			fmt.Fprintf(w, "unchanged %s\n", path)
			return nil
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimPrefix(filepath.Base(path), ".")+"-")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(text)
	if err = errors.Join(err, tmp.Chmod(mode), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	fmt.Fprintf(w, "wrote %s (%s)\n", path, what)
	return nil
}
