package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo-terminal of w x h cells: what a terminal program
// holds, and what the program in it gets.
func openTerminal(tb testing.TB, w, h int) (terminal, program *os.File) {
	tb.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		tb.Skipf("no pseudo-terminal can be had here: %v", err)
	}
	fd := int(terminal.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		tb.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		tb.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		tb.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(h), Col: uint16(w)}); err != nil {
		tb.Fatal(err)
	}
	return terminal, program
}

// withoutNetwork takes the network away from what this goroutine starts, where
// we may; its thread ends with it.
func withoutNetwork() {
	runtime.LockOSThread()
	_ = unix.Unshare(unix.CLONE_NEWNET)
}

// firstFrame starts the workbench in a terminal and gives the time to the end
// of its first frame.
func firstFrame(b *testing.B, bin, home string) time.Duration {
	b.Helper()
	terminal, program := openTerminal(b, 200, 50)
	defer terminal.Close()
	cmd := exec.Command(bin, "--theme", "kintsugi-dark")
	cmd.Dir, cmd.Stdin, cmd.Stdout = home, program, program
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "OLLAMA_HOST=127.0.0.1:1"}
	var words bytes.Buffer
	cmd.Stderr = &words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	seen := make(chan time.Time, 1)
	go func() { // a goroutine that is bound to its thread is slow to wake
		defer close(seen)
		var all []byte
		for buf := make([]byte, 64<<10); !bytes.Contains(all, []byte("escribe a task")); {
			n, err := terminal.Read(buf)
			if err != nil {
				return
			}
			all = append(all, buf[:n]...)
		}
		seen <- time.Now()
	}()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_ = program.Close()
	end, ok := <-seen
	if !ok {
		b.Fatalf("the program ended before its first frame: %s", words.String())
	}
	took := end.Sub(start)
	// It leaves by itself, so that nothing of it is in the way of the next.
	go func() { _, _ = io.Copy(io.Discard, terminal) }()
	_, _ = terminal.WriteString("\x03\x03")
	_ = cmd.Wait()
	return took
}

// BenchmarkFirstFrame is the time from the start of the process to its first
// frame, with no network at all.
func BenchmarkFirstFrame(b *testing.B) {
	dir := b.TempDir()
	bin := filepath.Join(dir, "kintsugi")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, strings.TrimSpace(string(out)))
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		b.Fatal(err)
	}
	withoutNetwork()
	var took []time.Duration
	for b.Loop() {
		took = append(took, firstFrame(b, bin, home))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e6, "ms/first-frame-p50")
	b.ReportMetric(float64(took[len(took)*95/100])/1e6, "ms/first-frame-p95")
}
