//go:build unix

package ui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// terminal is a real terminal: a window of a tmux server of the test's own,
// with an interactive shell in it.
type terminal struct {
	t      *testing.T
	socket string
}

func newTerminal(t *testing.T, w, h int) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here: the stories in a real terminal are not run")
	}
	x := &terminal{t: t, socket: filepath.Join(t.TempDir(), "s")}
	x.tmux("-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h),
		"env LANG=C.UTF-8 PS1='shell> ' TERM=screen-256color bash --norc --noprofile -i")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", x.socket, "kill-server").Run() })
	x.until("shell>")
	return x
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (x *terminal) keys(keys ...string) {
	x.tmux(append([]string{"send-keys", "-t", "0"}, keys...)...)
}

func (x *terminal) screen() string { return x.tmux("capture-pane", "-p", "-t", "0") }

// until waits for the screen to show something.
func (x *terminal) until(want string) {
	x.t.Helper()
	x.wait("the screen to show "+want, func() bool { return strings.Contains(x.screen(), want) })
}

func (x *terminal) wait(what string, ok func() bool) {
	x.t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); {
		if time.Now().After(end) {
			x.t.Fatalf("waited for %s; the screen is\n%s", what, x.screen())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// clean says that the shell is back in a terminal that is as it was.
func (x *terminal) clean() {
	x.t.Helper()
	x.wait("a clean terminal", func() bool {
		return strings.TrimSpace(x.tmux("display-message", "-p", "-t", "0", "#{alternate_on}#{cursor_flag}#{mouse_any_flag}#{mouse_button_flag}")) == "0100"
	})
	// A program on its way out may still take what is typed: only the prompt
	// says that the shell reads again.
	x.wait("a prompt", func() bool {
		lines := strings.Split(strings.TrimSpace(x.screen()), "\n")
		return strings.TrimSpace(lines[len(lines)-1]) == "shell>"
	})
	x.keys("clear; stty -a | tr -s ' ;' '\\n' | grep -x -e icanon -e echo | tr '\\n' '.'", "Enter")
	x.until("icanon.echo.")
}

// player builds the program that plays scripted sessions.
func player(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "play")
	if out, err := exec.Command("go", "build", "-o", bin, "./internal/demo/play").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

func TestTmuxStories(t *testing.T) {
	t.Parallel()
	bin := player(t)
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			x := newTerminal(t, size[0], size[1])
			x.keys(bin+" -speed 50", "Enter")
			x.until("Name: temp")
			x.keys("M-3")
			x.until("▸ Timeline") // an Escape that overtakes would make one key of both
			x.until("━━━╸ mended ╺━")
			x.keys("Escape")
			x.wait("the composer", func() bool { return !strings.Contains(x.screen(), "▸ Timeline") })
			x.keys("C-p")
			x.until("type to search")
			x.keys("Escape")
			x.wait("no palette", func() bool { return !strings.Contains(x.screen(), "type to search") })
			x.keys("/quit", "Enter")
			x.clean()
		})
	}
}

// Inside tmux pictures are half blocks, and nothing is asked that tmux would
// not pass on.
func TestTmuxResults(t *testing.T) {
	t.Parallel()
	bin := player(t)
	for _, size := range [][2]int{{60, 15}, {120, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			x := newTerminal(t, size[0], size[1])
			x.keys(bin+" -story results -speed 50", "Enter")
			x.until("▣ out/model.bin")
			x.keys("M-o")
			x.until("Enter look")
			x.keys("Enter")
			x.until("640×400")
			x.until("▀▀▀▀▀▀▀▀▀▀")
			x.keys("q")
			x.wait("the list", func() bool { return strings.Contains(x.screen(), "Enter look") })
			x.keys("j", "j", "Enter")
			x.until("12 rows")
			x.keys("q", "q")
			x.wait("the panes", func() bool { return !strings.Contains(x.screen(), "Enter look") })
			x.keys("/quit", "Enter")
			x.clean()
		})
	}
}

func TestTmuxSuspendAndSignals(t *testing.T) {
	t.Parallel()
	bin := player(t)
	x := newTerminal(t, 100, 30)
	x.keys(bin+" -speed 50 & fg", "Enter")
	x.until("Name: temp")
	x.keys("C-z")
	x.until("Stopped")
	x.clean()
	x.keys("clear; fg", "Enter")
	x.until("Name: temp")
	x.tmux("resize-window", "-t", "0", "-x", "70", "-y", "20")
	x.until("Tab next")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		pid := childOf(x, bin)
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
		x.clean()
		x.keys("clear; "+bin+" -speed 50", "Enter")
		x.until("Name: temp")
	}
	x.keys("/quit", "Enter")
	x.clean()
}

// childOf finds the running player by its path, which no other has.
func childOf(x *terminal, bin string) int {
	x.t.Helper()
	found := 0
	x.wait("the program", func() bool {
		entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, e := range entries {
			line, err := os.ReadFile(e)
			if err == nil && strings.HasPrefix(string(line), bin+"\x00") {
				found, _ = strconv.Atoi(filepath.Base(filepath.Dir(e)))
				return true
			}
		}
		return false
	})
	return found
}
