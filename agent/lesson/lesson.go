// Package lesson plays lessons: sessions whose reasoning is written down and
// whose work is real.
//
// A lesson is a folder with a lesson.toml: what is said, which programs run,
// and the Python packages that it ships as source. The programs run in real
// boxes, fail for real and are mended for real, with a wheel that the lesson
// builds, so that no network is needed. Adding a lesson takes no code.
//
// The package never fakes a result and never installs anything itself.
package lesson

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"kintsugi/agent/tool"
)

//go:embed all:lessons
var embedded embed.FS

// Lesson is one lesson, ready to play.
type Lesson struct {
	Name  string `toml:"-"` // its folder's name
	Title string
	About string
	// Task is what the user is said to have asked for.
	Task string
	// Files are put into the workspace before the first step.
	Files  []string
	Wheels []Wheel `toml:"wheel"`
	Steps  []Step  `toml:"step"`

	dir fs.FS
}

// Step is one turn: what is said, a call, and what is said about its end.
type Step struct {
	Say    []Say
	Call   *Call
	Worked []Say // when the call was mended and worked
	Same   []Say // when it worked at once
	Failed []Say // when it did not work; the lesson ends there
	Answer string
}

// Say is a piece of reasoning.
type Say struct {
	Text     string
	Thinking bool
	// Pause comes before it: "500ms".
	Pause duration
}

// Call is a program to run: its text, or the lesson's file that holds it.
type Call struct {
	Language string
	Code     string
	File     string
}

// duration is a time.Duration that TOML writes as "500ms".
type duration time.Duration

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 || v > time.Minute {
		return fmt.Errorf("pause %q is no time up to a minute, such as 500ms", text)
	}
	*d = duration(v)
	return nil
}

// sources are where lessons come from, the user's first.
func sources(user []fs.FS) []fs.FS {
	own, err := fs.Sub(embedded, "lessons")
	if err != nil {
		panic(err) // the name is valid
	}
	return append(slices.Clone(user), own)
}

// List gives the names of all lessons, sorted. user are the user's own
// folders of lessons (os.DirFS); they may be missing.
func List(user ...fs.FS) []string {
	var names []string
	for _, src := range sources(user) {
		entries, _ := fs.ReadDir(src, ".")
		for _, e := range entries {
			if _, err := fs.Stat(src, path.Join(e.Name(), "lesson.toml")); err == nil && !slices.Contains(names, e.Name()) {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	return names
}

// Load reads a lesson and checks all of it. One of the user's hides a built-in
// one of the same name.
func Load(name string, user ...fs.FS) (*Lesson, error) {
	for _, src := range sources(user) {
		if !fs.ValidPath(name) || strings.Contains(name, "/") || name == "." {
			break
		}
		dir, err := fs.Sub(src, name)
		if err != nil {
			continue
		}
		data, err := fs.ReadFile(dir, "lesson.toml")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("lesson %s: %w", name, err)
		}
		return parse(name, string(data), dir)
	}
	return nil, fmt.Errorf("there is no lesson called %q; there are: %s", name, strings.Join(List(user...), ", "))
}

func parse(name, text string, dir fs.FS) (*Lesson, error) {
	l := &Lesson{Name: name, dir: dir}
	meta, err := toml.Decode(text, l)
	if err != nil {
		return nil, fmt.Errorf("lesson %s: lesson.toml: %w", name, oneLine(err))
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return nil, fmt.Errorf("lesson %s: lesson.toml has an unknown key: %s", name, extra[0])
	}
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("lesson %s: %w", name, err)
	}
	return l, nil
}

// oneLine keeps the first line of an error.
func oneLine(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}

func (l *Lesson) check() error {
	if l.Title == "" || l.Task == "" || len(l.Steps) == 0 {
		return errors.New("it needs a title, a task and at least one [[step]]")
	}
	for i, s := range l.Steps {
		if err := l.checkStep(s); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	for _, w := range l.Wheels {
		if err := w.check(l.dir); err != nil {
			return err
		}
	}
	for _, name := range l.Files {
		if _, err := fs.ReadFile(l.dir, name); err != nil {
			return fmt.Errorf("file %s: %w", name, cause(err))
		}
	}
	return nil
}

func (l *Lesson) checkStep(s Step) error {
	if s.Call == nil {
		if s.Answer == "" && len(s.Say) == 0 {
			return errors.New("it says nothing and calls nothing")
		}
		return nil
	}
	if _, ok := tool.Ext(s.Call.Language); !ok {
		return fmt.Errorf("language %q is not known", s.Call.Language)
	}
	_, err := l.code(*s.Call)
	return err
}

// code is the program of a call.
func (l *Lesson) code(c Call) (string, error) {
	switch {
	case (c.Code == "") == (c.File == ""):
		return "", errors.New("a call needs either code or a file")
	case c.Code != "":
		return c.Code, nil
	}
	data, err := fs.ReadFile(l.dir, c.File)
	if err != nil {
		return "", fmt.Errorf("file %s: %w", c.File, cause(err))
	}
	return string(data), nil
}

// cause leaves out the path and the operation.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
