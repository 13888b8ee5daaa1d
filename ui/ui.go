// Package ui is the workbench: three panes side by side, a composer, a status
// line. It folds the session's events into a screen and turns keys into
// intents.
//
// The package never runs anything, never asks a sandbox or a model, and reads
// no file but the themes it is given. Everything that happens reaches it as
// events; everything that the user wants leaves it through Intents.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"kintsugi/agent/event"
	"kintsugi/themes"
)

// Intents is what the user wants. The methods are called outside the update
// loop, each in a goroutine of its own, and may take their time; what comes of
// them arrives as events.
type Intents interface {
	// Submit gives the agent a task.
	Submit(text string)
	// Shell runs a command line in the sandbox.
	Shell(cmd string)
	// RunFile runs a program file in the sandbox.
	RunFile(path string, args []string)
	// Cancel stops what runs now.
	Cancel()
	// Answer answers an open question with one of its choices.
	Answer(id, choice string)
	// Quit says that the workbench is about to close.
	Quit()
}

// FileReader reads at most limit bytes of an artefact.
type FileReader func(a event.Artefact, limit int64) ([]byte, error)

// Options are what Run needs. Only Intents is required.
type Options struct {
	// Events are batches of what happens; see package feed. Nil or a closed
	// channel: nothing more happens.
	Events <-chan []event.Event
	// History is what happened before the workbench opened.
	History []event.Event
	Intents Intents
	// Replay shows the history again from its beginning, at its own pace.
	Replay bool

	// Theme is the name of a theme; empty: chosen for the terminal. Themes are
	// the user's own, beside the built-in ones.
	Theme  string
	Themes fs.FS
	// ThemeChanged tells that a file among Themes has changed; nil: they are
	// only looked at again when the terminal is.
	ThemeChanged <-chan struct{}

	// Settings were remembered; Save remembers them. Save runs outside the
	// update loop.
	Settings Settings
	Save     func(Settings)
	// Keys are the user's own keys, by the names of KeyTable.
	Keys map[string][]string
	// Copy is a second way to copy text, for terminals without OSC 52.
	Copy func(text string)

	// Env is the environment; nil: the process's.
	Env   []string
	Clock func() time.Time
	// Input and Output are the terminal; nil: the process's.
	Input  io.Reader
	Output io.Writer
	// Width and Height set the size instead of asking the terminal, and
	// Profile its colours. For tests.
	Width, Height int
	Profile       colorprofile.Profile

	// Title is the window title.
	Title string
	// Present starts in presenter mode.
	Present bool
	// Reduced turns off everything that moves by itself.
	Reduced bool
	// Log is the path of the session's log, named when the workbench fails.
	Log string
	// Complete lists the files that begin with a prefix, for the composer.
	Complete func(prefix string) []string
	// Changes compares the session with the real project. It runs outside the
	// update loop. Nil: changes are brought to it by Applier alone.
	Changes func() (Changes, error)
	// File reads an artefact, at most limit bytes of it; nil: artefacts are
	// only listed. It runs outside the update loop.
	File FileReader
	// SaveDir is where artefacts are saved unless the user says otherwise.
	SaveDir string
	// Said are earlier inputs, oldest first; Remember keeps a new one.
	Said     []string
	Remember func(string)
}

// Crash is a fault of the workbench itself. The terminal is restored by the
// time anyone sees it.
type Crash struct {
	Value any
	Stack []byte
	Log   string
}

// Error is one line that says where the session is.
func (c *Crash) Error() string {
	text := fmt.Sprintf("the workbench failed (%v)", c.Value)
	if c.Log != "" {
		text += "; the session is safe in " + c.Log
	}
	return text
}

// ErrDumb says that the terminal cannot show a full screen.
var ErrDumb = errors.New("this terminal cannot show a full screen (TERM=dumb); use --plain")

// Run shows the workbench until the user quits or ctx ends. It leaves the
// terminal as it was, whatever happens: a *Crash is the only error that is the
// workbench's own fault. A terminal that goes away ends it without an error.
func Run(ctx context.Context, o Options) error {
	o = o.complete()
	if lookup(o.Env, "TERM") == "dumb" {
		return ErrDumb
	}
	m, err := newModel(o)
	if err != nil {
		return err
	}
	hung, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	beats := &pulse{}
	beats.program = tea.NewProgram(&guard{m: m, log: o.Log}, o.program(hung, beats)...)
	final, err := beats.program.Run()
	beats.end()
	if g, ok := final.(*guard); ok && g.crash != nil {
		return g.crash
	}
	if hung.Err() != nil {
		return ctx.Err() // nil when the terminal went away
	}
	return err
}

// complete fills in the defaults.
func (o Options) complete() Options {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.Profile == colorprofile.Unknown {
		o.Profile = colorprofile.Detect(o.Output, o.Env)
	}
	if o.Title == "" {
		o.Title = "Kintsugi"
	}
	if o.Intents == nil {
		o.Intents = nobody{}
	}
	return o
}

// program are the options of the terminal library.
func (o Options) program(ctx context.Context, beats *pulse) []tea.ProgramOption {
	calm := newCalm(o.Clock)
	filter := func(m tea.Model, msg tea.Msg) tea.Msg {
		beats.beat()
		return calm.filter(m, msg)
	}
	opts := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithEnvironment(o.Env), tea.WithOutput(o.Output),
		tea.WithColorProfile(o.Profile), tea.WithFilter(filter), tea.WithFPS(framesPerSecond),
	}
	if o.Input != nil {
		opts = append(opts, tea.WithInput(o.Input))
	}
	if o.Width > 0 && o.Height > 0 {
		opts = append(opts, tea.WithWindowSize(o.Width, o.Height))
	}
	return opts
}

// lookup finds a variable in an environment; the last one counts.
func lookup(env []string, key string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], key+"="); ok {
			return v
		}
	}
	return ""
}

// nobody ignores every wish.
type nobody struct{}

func (nobody) Submit(string)            {}
func (nobody) Shell(string)             {}
func (nobody) RunFile(string, []string) {}
func (nobody) Cancel()                  {}
func (nobody) Answer(string, string)    {}
func (nobody) Quit()                    {}

// ThemeFor is the theme for a terminal that has shown no wish: its colours
// decide, then what the environment says about its background.
func ThemeFor(profile colorprofile.Profile, env []string) string {
	light := lightByEnv(env)
	switch {
	case profile <= colorprofile.ASCII:
		return themes.Mono
	case profile == colorprofile.ANSI && light:
		return themes.ANSILight
	case profile == colorprofile.ANSI:
		return themes.ANSI
	case light:
		return themes.Light
	}
	return themes.Dark
}

// lightByEnv reads COLORFGBG, "fg;bg" or "fg;default;bg", with the palette
// index of the background last.
func lightByEnv(env []string) bool {
	v := lookup(env, "COLORFGBG")
	i := strings.LastIndexByte(v, ';')
	switch v[i+1:] {
	case "7", "15":
		return i >= 0
	}
	return false
}

// plainGlyphs says that the terminal lacks the signs of the screen.
func plainGlyphs(env []string) bool {
	if lookup(env, "TERM") == "linux" {
		return true
	}
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(lookup(env, key)); v != "" {
			return !strings.Contains(v, "utf-8") && !strings.Contains(v, "utf8")
		}
	}
	return false
}
