package modeltest

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Models that .ci/ollama puts into the store, all with the same 135 million
// weights: one that only talks, one whose template offers tools, one whose
// calls the server does not recognise, and one whose template thinks first.
const (
	Small    = "smollm2:135m"
	Tools    = "smollm2-tools:135m"
	Leaky    = "smollm2-leaky:135m"
	Thinking = "smollm2-think:135m"
)

// Live is a real Ollama server of the test's own.
type Live struct {
	// Host is its address.
	Host string

	t        testing.TB
	program  string
	models   string
	log      *os.File
	cmd      *exec.Cmd
	lifeline io.Closer
}

// NewLive starts the server that .ci/ollama built. Without one the test is
// left out; in CI that is a failure.
func NewLive(t testing.TB) *Live {
	t.Helper()
	program, models := find()
	if program == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no Ollama server to test with: run .ci/ollama first")
		}
		t.Skip("no Ollama server was built for tests (.ci/ollama builds one)")
	}
	l := &Live{t: t, program: program, models: models, Host: freePort(t)}
	var err error
	if l.log, err = os.Create(filepath.Join(t.TempDir(), "ollama.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Kill()
		l.log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(l.log.Name())
			t.Logf("the server's log ends:\n%s", text[max(0, len(text)-4000):])
		}
	})
	l.Start()
	return l
}

// find looks for what .ci/ollama made, in the repository that the test is in.
func find() (program, models string) {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		home := filepath.Join(dir, ".cache", "ollama")
		if _, err := os.Stat(filepath.Join(home, "models", "complete-2")); err == nil {
			return filepath.Join(home, "bin", "ollama"), filepath.Join(home, "models")
		}
		dir = filepath.Dir(dir)
	}
	return "", ""
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Start starts the server, again after a Kill, and waits until it answers.
func (l *Live) Start() {
	l.t.Helper()
	// The shell ends the whole group when this test process is gone, however
	// that came about.
	l.cmd = exec.Command("/bin/sh", "-c", `"$0" serve </dev/null & cat >/dev/null; kill -9 0`, l.program)
	lifeline, err := l.cmd.StdinPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	l.lifeline = lifeline
	l.cmd.Env = append(os.Environ(), "OLLAMA_HOST="+l.Host, "OLLAMA_MODELS="+l.models, "HOME="+filepath.Dir(l.models),
		"OLLAMA_NUM_PARALLEL=1", "OLLAMA_NOPRUNE=1")
	l.cmd.Stdout, l.cmd.Stderr = l.log, l.log
	ownGroup(l.cmd)
	if err := l.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	client := http.Client{Timeout: time.Second}
	for range 300 {
		resp, err := client.Get("http://" + l.Host + "/api/version")
		if err == nil {
			resp.Body.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	l.t.Fatal("the Ollama server does not answer")
}

// Kill ends the server and its runners at once.
func (l *Live) Kill() {
	if l.cmd == nil {
		return
	}
	killGroup(l.cmd)
	l.lifeline.Close()
	var exit *exec.ExitError
	if err := l.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		l.t.Errorf("ending the Ollama server: %v", err)
	}
	l.cmd = nil
}
