package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/agent/heal"
	"kintsugi/sandbox"
)

// codeDir is where program texts of calls are shown inside a box.
const codeDir = "/code"

// resolve finds the command of a call.
func (e *Engine) resolve(r *run) error {
	c := r.call
	switch {
	case len(c.Argv) > 0:
		r.argv = c.Argv
		return nil
	case c.File != "":
		return e.resolveFile(r)
	case c.Code != "":
		return e.resolveCode(r)
	}
	return ErrNoCall
}

func (e *Engine) resolveFile(r *run) error {
	path := e.hostPath(r.call.File)
	first, err := firstLineOf(path)
	if err != nil {
		return err
	}
	rules, err := e.Rules()
	if err != nil {
		return err
	}
	file := r.call.File
	project, runner, ok := rules.PartOf(file, func(p string) bool { return isFile(e.hostPath(p)) })
	if ok {
		file = project
	} else {
		runner, ok = rules.Runner(path, first)
	}
	if !ok {
		return fmt.Errorf("%s: no way is known to run this kind of file; name the command: kintsugi run -- COMMAND %s", r.call.File, r.call.File)
	}
	r.argv = e.command(r, runner, file)
	if runner.Project {
		r.chose = fmt.Sprintf("%s makes this a %s: %s", filepath.Base(file), runner.Name, told(runner, file))
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// told names the command of a project's runner in a few words.
func told(runner heal.Runner, file string) string {
	build, argv, _ := runner.Commands(file, builtProgram, nil, func(string) bool { return true })
	if build == nil {
		return spoken(argv)
	}
	word := "the program"
	if runner.Main != "" {
		word = runner.Main
	}
	return build[0] + " builds it, then " + word + " runs"
}

// resolveCode writes the program text into a directory that the box sees.
func (e *Engine) resolveCode(r *run) error {
	rules, err := e.Rules()
	if err != nil {
		return err
	}
	runner, ok := rules.Runner("main"+r.call.Ext, "")
	if !ok {
		return fmt.Errorf("no way is known to run %s code", r.call.Ext)
	}
	if err := e.showCode(); err != nil {
		return fmt.Errorf("cannot store the code to run: %w", err)
	}
	step := fmt.Sprint(r.call.Step)
	dir := filepath.Join(e.SideDir, "code", step)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot store the code to run: %w", err)
	}
	name := filepath.Base(r.call.Name)
	if r.call.Name == "" {
		name = "main" + r.call.Ext
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(r.call.Code), 0o644); err != nil {
		return fmt.Errorf("cannot store the code to run: %w", err)
	}
	r.argv = e.command(r, runner, codeDir+"/"+step+"/"+name)
	return nil
}

// showCode has all further boxes see the folder of program texts.
func (e *Engine) showCode() error {
	e.shows = true
	return os.MkdirAll(filepath.Join(e.SideDir, "code"), 0o755)
}

// codeMount shows the program texts of the session, each below the number of
// its step.
func (e *Engine) codeMount() []sandbox.Mount {
	if !e.shows {
		return nil
	}
	return []sandbox.Mount{{Source: filepath.Join(e.SideDir, "code"), Target: codeDir}}
}

// builtProgram is where a compiler puts the program, inside the box.
const builtProgram = "/tmp/kintsugi-program"

// thenRun ends the script that builds a program.
const thenRun = ` && exec "$@"`

// command is how a box runs the file. A program to be compiled is compiled and
// run in the same box. When no interpreter is there, the best one is named all
// the same: the box then says that it is missing, and heal knows what to do.
func (e *Engine) command(r *run, runner heal.Runner, file string) []string {
	args := r.call.Args
	build, argv, missing := runner.Commands(file, builtProgram, args, e.lookPath)
	if missing != "" {
		build, argv, _ = runner.Commands(file, builtProgram, args, func(string) bool { return true })
	}
	if build == nil {
		return argv
	}
	r.compiled = true
	script := quoted(build)
	if runner.Flags != "" {
		script += " $" + runner.Flags
	}
	script += thenRun
	return append([]string{"/bin/sh", "-c", script, "sh"}, argv...)
}

// quoted writes a command for a POSIX shell.
func quoted(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

// lookPath says whether the box's PATH has the command. The box shows the
// host's tool chains at their own paths, so the host's files answer.
func (e *Engine) lookPath(name string) bool { return e.find(name) != "" }

// find is the file of a command on the box's PATH, "" when there is none.
func (e *Engine) find(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	for _, dir := range filepath.SplitList(pathOf(e.Env)) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// Bad input of a run, in words.
var (
	errIsDir    = errors.New("is a folder, not a program; name a file in it")
	errIsBinary = errors.New("is a binary file, not a script; run it with: kintsugi run --")
)

// firstLineOf reads the first line of a program, which may name its
// interpreter, and refuses what cannot be one.
func firstLineOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", plainPathError(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return "", fmt.Errorf("%s %w", path, errIsDir)
	}
	head, err := bufio.NewReaderSize(f, 4096).Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", plainPathError(path, err)
	}
	if slices.Contains(head, 0) {
		return "", fmt.Errorf("%s %w %s", path, errIsBinary, path)
	}
	line, _, _ := strings.Cut(string(head), "\n")
	return line, nil
}

func plainPathError(path string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: there is no such file", path)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s: you may not read this file (chmod +r %s)", path, path)
	}
	return err
}
