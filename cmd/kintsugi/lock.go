package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kintsugi/agent/event"
	"kintsugi/agent/heal/install"
	"kintsugi/agent/lock"
)

// lockOptions are the flags of kintsugi lock.
type lockOptions struct {
	session string
	json    bool
	write   bool
	format  string
}

func newLock() *cobra.Command {
	var o lockOptions
	cmd := &cobra.Command{
		Use:   "lock [SESSION]",
		Short: "Show what was installed for a program, with hashes; --write keeps it",
		Long: `Shows what healing installed in a session (default: the newest one of this
project that has packages): names, versions, hashes, and the line of output that
asked for each.

--write keeps it beside the program in kintsugi.lock, and where the ecosystem
looks for it: in the program's own block (PEP 723) or in requirements.txt for
Python, in package.json for Node, in go.mod and go.sum for Go, in Cargo.toml for
Rust, in pom.xml for Maven. kintsugi run then prepares the packages before the
first attempt, on any machine, and takes nothing whose hash is another.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.session = args[0]
			}
			return o.run(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print as JSON")
	f.BoolVarP(&o.write, "write", "w", false, "write kintsugi.lock and the ecosystem's own file")
	f.StringVar(&o.format, "format", "auto", "the file for Python packages: auto, block, requirements, none")
	return cmd
}

// lockFile is a lock to show or write, and where it belongs.
type lockFile struct {
	Dir     string    `json:"folder"`
	Session string    `json:"session"`
	File    lock.File `json:"lock"`
	Skipped []string  `json:"skipped,omitempty"`
	fresh   []lock.Set

	top   string // the session's project folder, "" when there is none
	store install.Store
}

func (o lockOptions) run(w io.Writer) error {
	if !slices.Contains([]string{"auto", "block", "requirements", "none"}, o.format) {
		return fmt.Errorf("--format %s: want auto, block, requirements or none", o.format)
	}
	p, err := findPlaces()
	if err != nil {
		return err
	}
	files, err := o.locks(p)
	if err != nil {
		return err
	}
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		err = enc.Encode(files)
	} else {
		for _, f := range files {
			f.print(w)
		}
	}
	for _, f := range files {
		if o.write && err == nil {
			err = f.write(w, o.format)
		}
	}
	return err
}

// locks makes the locks of the session that is meant: one for each folder with
// programs.
func (o lockOptions) locks(p places) ([]lockFile, error) {
	sessions, err := event.Sessions(p.sessions)
	if err != nil {
		return nil, err
	}
	var chosen *lock.Derived
	var from event.Summary
	older := map[string]lock.Reason{} // the newest reason for each package wins
	for _, s := range sessions {
		d, ok := o.derive(s, p)
		if !ok || chosen == nil && len(d.Programs) == 0 {
			continue
		}
		if chosen == nil {
			chosen, from = &d, s
		}
		for k, r := range d.Reasons {
			if _, have := older[k]; !have {
				older[k] = r
			}
		}
		if o.session != "" {
			break
		}
	}
	if chosen == nil {
		return nil, errNoPackages(o.session)
	}
	kept, _ := lock.Read(filepath.Join(from.Dir, lock.Name)) // not there, or of no use: then the layers tell
	return byFolder(*chosen, from, install.Store{Dir: p.layers}, func(k string) lock.Reason { return older[k] }, kept)
}

func errNoPackages(session string) error {
	if session != "" {
		return fmt.Errorf("session %s is unknown or installed nothing; see: kintsugi sessions", session)
	}
	return errors.New("no session of this project installed anything; run a program first: kintsugi run FILE")
}

// keepLock writes down, beside a session's log, what was installed in it: the
// layers may be pruned before anybody asks. Failing to costs only that.
func (s *session) keepLock() {
	if s.engine == nil || len(s.engine.Reused()) == 0 {
		return
	}
	events, err := event.ReadFile(event.Path(s.dir))
	if err != nil {
		return
	}
	var f lock.File
	d := lock.Derive(events)
	for _, program := range d.Programs {
		set, _ := d.Set(program, s.engine.Installer.Store.Find, func(k string) lock.Reason { return d.Reasons[k] }, lock.File{})
		if set.Program = program; program == "" {
			set.Program = lock.Any
		}
		f.Put(set)
	}
	if data, err := f.Bytes(); err == nil && len(f.Sets) > 0 {
		_ = os.WriteFile(filepath.Join(s.dir, lock.Name), data, 0o600)
	}
}

// derive reads a session when it is the one asked for, or one of this project.
func (o lockOptions) derive(s event.Summary, p places) (lock.Derived, bool) {
	loose := o.session == "" && exists(filepath.Join(s.Dir, "loose"))
	if !loose && !(changesOptions{session: o.session}).means(s, p) {
		return lock.Derived{}, false
	}
	events, err := event.ReadFile(event.Path(s.Dir))
	if err != nil {
		return lock.Derived{}, false
	}
	d := lock.Derive(events)
	if loose {
		cwd, _ := os.Getwd()
		return d, slices.ContainsFunc(d.Programs, func(f string) bool { return f != "" && filepath.Dir(f) == cwd })
	}
	return d, true
}

// byFolder puts the set of each program into the lock of its folder.
func byFolder(d lock.Derived, s event.Summary, store install.Store, reason func(string) lock.Reason, kept lock.File) ([]lockFile, error) {
	var out []lockFile
	for _, program := range d.Programs {
		set, skipped := d.Set(program, store.Find, reason, kept)
		dir, name, err := lockPlace(program, s)
		if err != nil {
			return nil, err
		}
		set.Program = name
		i := slices.IndexFunc(out, func(f lockFile) bool { return f.Dir == dir })
		if i < 0 {
			i = len(out)
			out = append(out, lockFile{Dir: dir, Session: s.ID, store: store, top: projectOf(s, dir)})
		}
		out[i].Skipped = append(out[i].Skipped, skipped...)
		if len(set.Parts) > 0 {
			out[i].File.Put(set)
			out[i].fresh = append(out[i].fresh, set)
		}
	}
	return out, nil
}

// projectOf is the session's project folder when dir lies in it.
func projectOf(s event.Summary, dir string) string {
	if rel, err := filepath.Rel(s.Project, dir); err != nil || s.Project == "" || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return s.Project
}

// lockPlace is the folder of a program's lock, and its name in there: the
// nearest folder that has a lock, or the program's own.
func lockPlace(program string, s event.Summary) (dir, name string, err error) {
	if program == "" {
		if dir = s.Project; !exists(dir) {
			dir, err = os.Getwd()
		}
		return dir, lock.Any, err
	}
	top := s.Project
	if !exists(top) {
		top = filepath.Dir(program)
	}
	dir = filepath.Dir(program)
	if _, path, _, err := lock.Find(top, program, ""); err == nil && path != "" {
		dir = filepath.Dir(path)
	}
	rel, err := filepath.Rel(dir, program)
	return dir, filepath.ToSlash(rel), err
}

func (f lockFile) print(w io.Writer) {
	for _, s := range f.File.Sets {
		name := s.Program
		if name == lock.Any {
			name = "commands in " + f.Dir
		}
		fmt.Fprintf(w, "%s (session %s)\n", name, f.Session)
		for _, p := range s.Parts {
			for _, pkg := range p.Packages {
				fmt.Fprintf(w, "  %-4s %-28s %s\n", p.Manager, pkg.Name+" "+pkg.Version, pkg.Hash[:min(len(pkg.Hash), 23)]+"…")
				if pkg.Evidence != "" {
					fmt.Fprintf(w, "       because of: %s (%s)\n", oneLine(strings.TrimSpace(pkg.Evidence)), pkg.Rule)
				}
			}
		}
	}
	for _, s := range f.Skipped {
		fmt.Fprintf(w, "  left out: %s\n", s)
	}
}
