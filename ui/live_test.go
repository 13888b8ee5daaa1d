package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/feed"
	"kintsugi/ui/internal/demo"
)

// live is the real program on a virtual screen.
type live struct {
	t     *testing.T
	em    *vt.SafeEmulator
	keys  io.Writer
	done  chan error
	feed  *feed.Feed
	wants *loud
	raw   *record
}

// loud records intents from any goroutine.
type loud struct {
	mu sync.Mutex
	wishes
	bang bool // Shell panics
}

func (l *loud) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, s)
}

func (l *loud) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.got, ";")
}

func (l *loud) Submit(text string)  { l.add("submit " + text) }
func (l *loud) Cancel()             { l.add("cancel") }
func (l *loud) Quit()               { l.add("quit") }
func (l *loud) Answer(id, c string) { l.add("answer " + id + " " + c) }
func (l *loud) Shell(cmd string) {
	if l.bang {
		panic("the shell wish failed")
	}
	l.add("shell " + cmd)
}

// record keeps all that the program wrote, and tells who waits for a change.
type record struct {
	mu     sync.Mutex
	to     io.Writer
	text   strings.Builder
	change chan struct{}
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.text.Write(p)
	r.mu.Unlock()
	// A terminal without raw mode makes a line feed start the next line, and
	// the library counts on it where its input is no terminal.
	_, err := r.to.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	select {
	case r.change <- struct{}{}:
	default:
	}
	return len(p), err
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func startLive(t *testing.T, w, h int, beats []demo.Beat, change func(*Options)) *live {
	t.Helper()
	return startLiveIn(t, context.Background(), w, h, beats, change)
}

func startLiveIn(t *testing.T, ctx context.Context, w, h int, beats []demo.Beat, change func(*Options)) *live {
	t.Helper()
	em := vt.NewSafeEmulator(w, h)
	in, keys := io.Pipe()
	l := &live{t: t, em: em, keys: keys, done: make(chan error, 1), feed: feed.New(time.Now), wants: &loud{}}
	l.raw = &record{to: em, change: make(chan struct{}, 1)}
	go func() { _, _ = io.Copy(keys, em) }() // answers of the terminal
	o := Options{Events: l.feed.Out(), Intents: l.wants, Theme: themes.Dark, Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
		Input: in, Output: l.raw, Width: w, Height: h, Profile: colorprofile.TrueColor, Log: "/state/session.jsonl", Reduced: true}
	if change != nil {
		change(&o)
	}
	go func() { l.done <- Run(ctx, o) }()
	for _, e := range demo.Events(beats) {
		l.feed.Push(e)
	}
	t.Cleanup(func() { _ = in.Close(); l.feed.Close() })
	return l
}

func (l *live) screen() string { return ansi.Strip(l.em.Render()) }

// until waits for the screen to show something.
func (l *live) until(want string) {
	l.t.Helper()
	l.wait("the screen to show "+want, func() bool { return strings.Contains(l.screen(), want) })
}

func (l *live) wait(what string, ok func() bool) {
	l.t.Helper()
	deadline := time.After(10 * time.Second)
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-l.raw.change:
		case <-poll.C:
		case <-deadline:
			l.t.Fatalf("waited for %s; the screen is\n%s", what, l.screen())
		}
	}
}

func (l *live) send(keys string) {
	l.t.Helper()
	if _, err := io.WriteString(l.keys, keys); err != nil {
		l.t.Fatal(err)
	}
}

// end waits for the program to end and checks that the terminal is clean.
func (l *live) end() error {
	l.t.Helper()
	select {
	case err := <-l.done:
		l.clean()
		return err
	case <-time.After(10 * time.Second):
		l.t.Fatalf("the program does not end; the screen is\n%s", l.screen())
	}
	return nil
}

// clean says that every mode which was set has been reset.
func (l *live) clean() {
	l.t.Helper()
	raw := l.raw.String()
	for _, mode := range []string{"?1049", "?1002", "?1006", "?2004", "?1004"} {
		if on, off := strings.LastIndex(raw, mode+"h"), strings.LastIndex(raw, mode+"l"); on > off {
			l.t.Errorf("mode %s is left on", mode)
		}
	}
	if on, off := strings.LastIndex(raw, "?25h"), strings.LastIndex(raw, "?25l"); on < off {
		l.t.Error("the cursor is left hidden")
	}
}

func TestLiveStory(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}, {60, 15}} {
		l := startLive(t, size[0], size[1], demo.Plot(), nil)
		l.until("Name: temp")
		l.send("draw it\r")
		l.wait("the task to be handed over", func() bool { return l.wants.all() == "submit draw it" })
		l.send("\x1b3") // alt+3
		l.until("▸ Timeline")
		l.until("mended")
		l.send("\x1b")
		l.wait("the composer", func() bool { return !strings.Contains(l.screen(), "▸ Timeline") })
		l.send("/quit\r")
		if err := l.end(); err != nil {
			t.Errorf("%v: %v", size, err)
		}
		if got := l.wants.all(); got != "submit draw it;quit" {
			t.Errorf("intents are %q", got)
		}
	}
}

func TestLiveQuitAsksWhileSomethingRuns(t *testing.T) {
	t.Parallel()
	l := startLive(t, 100, 30, demo.Running(), nil)
	l.until("mending")
	l.send("/quit\r")
	l.until("Quit and stop it?")
	l.send("y")
	if err := l.end(); err != nil {
		t.Error(err)
	}
}

func TestLiveCtrlCStopsThenQuits(t *testing.T) {
	t.Parallel()
	l := startLive(t, 100, 30, demo.Running(), nil)
	l.until("mending")
	l.send("\x03")
	l.until("Ctrl+C again quits")
	l.wait("the wish to stop", func() bool { return l.wants.all() == "cancel" })
	l.send("\x03")
	if err := l.end(); err != nil {
		t.Error(err)
	}
}

func TestLivePanicInAGoroutineIsOneLine(t *testing.T) {
	t.Parallel()
	l := startLive(t, 100, 30, nil, nil)
	l.wants.bang = true
	l.until("Describe")
	l.send("!boom\r")
	checkCrash(t, l.end(), "the shell wish failed")
}

func TestLivePanicInUpdateIsOneLine(t *testing.T) {
	t.Parallel()
	l := startLive(t, 100, 30, nil, func(o *Options) {
		o.Complete = func(string) []string { panic("no files") }
	})
	l.until("Describe")
	l.send("/run p")
	checkCrash(t, l.end(), "no files")
}

func checkCrash(t *testing.T, err error, value string) {
	t.Helper()
	var crash *Crash
	if !errors.As(err, &crash) {
		t.Fatalf("got %v, want a crash", err)
	}
	text := err.Error()
	if !strings.Contains(text, value) || !strings.Contains(text, "/state/session.jsonl") || strings.Contains(text, "\n") {
		t.Errorf("the message is %q", text)
	}
	if !strings.Contains(string(crash.Stack), "ui") {
		t.Error("the stack is lost")
	}
}

func TestLiveEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	l := startLiveIn(t, ctx, 100, 30, nil, nil)
	l.until("Describe")
	cancel()
	if err := l.end(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDumbTerminalIsRefused(t *testing.T) {
	t.Parallel()
	err := Run(context.Background(), Options{Env: []string{"TERM=dumb"}, Output: io.Discard})
	if !errors.Is(err, ErrDumb) {
		t.Errorf("got %v", err)
	}
}

func TestLiveFloodKeepsTheScreenAlive(t *testing.T) {
	t.Parallel()
	l := startLive(t, 120, 40, demo.Running()[:11], nil)
	chunk := strings.Repeat("a line of output that is not very long\n", 200)
	for range 1000 {
		l.feed.Push(event.Event{At: demo.Start(), Body: event.Output{Step: 1, Attempt: 1, Text: chunk}})
	}
	l.feed.Push(event.Event{At: demo.Start(), Body: event.Output{Step: 1, Attempt: 1, Text: "the last line\n"}})
	l.until("the last line")
	l.send("/quit\r")
	l.until("Quit and stop it?")
	l.send("y")
	if err := l.end(); err != nil {
		t.Error(err)
	}
}

// inTime shows the files of the stories, and stops the clock: on a busy
// machine a terminal's answer may come late.
func inTime(o *Options) { o.File, o.Clock = demo.File, demo.Start }

// A terminal that says it is Kitty gets the picture as data, and marks in the
// cells where it shall be.
func TestLivePictureInAKittyTerminal(t *testing.T) {
	t.Parallel()
	l := startLive(t, 120, 40, demo.Results(), inTime)
	l.until("640×400")
	l.wait("the question", func() bool { return strings.Contains(l.raw.String(), "\x1b[>q") })
	l.send("\x1bP>|kitty(0.41.0)\x1b\\\x1b[6;20;10t\x1b[?62c")
	l.wait("the second question", func() bool { return strings.Contains(l.raw.String(), "a=q") })
	l.send("\x1b_Gi=31;OK\x1b\\")
	l.wait("the picture", func() bool {
		return strings.Contains(l.raw.String(), "a=T") && strings.Contains(l.raw.String(), "\U0010EEEE")
	})
	l.send("/quit\r")
	if err := l.end(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(l.raw.String(), "a=d,d=I") {
		t.Error("the terminal keeps the picture")
	}
}

// A terminal with Sixel graphics gets the picture once its cells are drawn.
func TestLivePictureInASixelTerminal(t *testing.T) {
	t.Parallel()
	l := startLive(t, 120, 40, demo.Results(), inTime)
	l.until("640×400")
	l.wait("the question", func() bool { return strings.Contains(l.raw.String(), "\x1b[>q") })
	l.send("\x1bP>|foot(1.16.2)\x1b\\\x1b[?62;4c")
	l.wait("the picture", func() bool { return strings.Contains(l.raw.String(), "\x1bP0;1q\"1;1;") })
	cells, drawn := strings.LastIndex(l.raw.String(), "▄▄▄▄"), strings.Index(l.raw.String(), "\x1bP0;1q")
	if cells < 0 || cells > drawn {
		t.Errorf("the cells are drawn at %d, the picture at %d", cells, drawn)
	}
	l.send("/quit\r")
	if err := l.end(); err != nil {
		t.Error(err)
	}
}
