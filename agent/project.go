package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kintsugi/sandbox"
)

// Project is what a session works on.
type Project struct {
	// Path is where boxes see it; Source the host directory it comes from.
	Path, Source string
	// Dir is the working directory of boxes.
	Dir string
	// Mounts show what lies outside the project and is needed all the same.
	Mounts []sandbox.Mount
	// Note tells the user when less is shown than they may expect.
	Note string
	// File is the program on the host, when boxes see a copy of it.
	File string
}

// looseFolder is where a program is shown that lies in a folder too wide to
// hand to a box.
const looseFolder = "/workspace"

// roots mark the top folder of a project.
var roots = []string{".git", ".hg", "go.mod", "package.json", "pyproject.toml", "Cargo.toml", "pom.xml"}

// FindProject chooses what boxes see for a user in folder cwd who runs file
// (empty: none). A home folder, or anything above it, is never handed out:
// then only the file itself is shown, through a copy in staging.
func FindProject(cwd, home, file, staging string) (Project, error) {
	cwd, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return Project{}, fmt.Errorf("the current folder cannot be read: %w", err)
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	path := absolute(cwd, file)
	switch {
	case !wide(cwd, home):
		p := Project{Dir: cwd}
		p.Path = top(cwd, home)
		p.Source = p.Path
		if file != "" && !within(p.Path, path) {
			p.Mounts = besides(path, home)
		}
		return p, nil
	case file != "" && !wide(filepath.Dir(path), home):
		dir := filepath.Dir(path)
		return Project{Path: top(dir, home), Source: top(dir, home), Dir: dir}, nil
	}
	return loose(file, path, staging)
}

func absolute(cwd, file string) string {
	if file == "" || filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	return filepath.Join(cwd, file)
}

// wide says that a folder holds more than a project: the home folder, a
// system folder or anything above either.
func wide(dir, home string) bool {
	if dir == "/" || dir == filepath.Dir(dir) || home != "" && within(dir, home) {
		return true
	}
	for _, system := range []string{"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/run", "/opt"} {
		if dir == system || within(system, dir) {
			return true
		}
	}
	return dir == "/tmp" || dir == "/var" || dir == "/var/tmp" || dir == "/home" || dir == "/mnt" || dir == "/media"
}

// within says that path is dir or lies below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// top is the nearest folder above dir that marks a project, or dir itself.
func top(dir, home string) string {
	for at := dir; !wide(at, home); at = filepath.Dir(at) {
		for _, mark := range roots {
			if _, err := os.Lstat(filepath.Join(at, mark)); err == nil {
				return at
			}
		}
	}
	return dir
}

// besides shows the folder of a file outside the project, or only the file
// when its folder is too wide.
func besides(path, home string) []sandbox.Mount {
	if dir := filepath.Dir(path); !wide(dir, home) {
		return []sandbox.Mount{{Source: dir, Target: dir}}
	}
	return []sandbox.Mount{{Source: path, Target: path}}
}

func loose(file, path, staging string) (Project, error) {
	if err := os.MkdirAll(staging, 0o755); err != nil {
		return Project{}, fmt.Errorf("cannot prepare a workspace: %w", err)
	}
	p := Project{Path: looseFolder, Source: staging, Dir: looseFolder}
	if file == "" {
		p.Note = "this folder is too wide to show to a box (home or system folder): boxes get an empty workspace"
		return p, nil
	}
	p.File = path
	p.Note = fmt.Sprintf("this folder is too wide to show to a box (home or system folder): it sees only %s", filepath.Base(path))
	return p, copyFile(path, filepath.Join(staging, filepath.Base(path)))
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return plainPathError(from, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s %w", from, errIsDir)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
