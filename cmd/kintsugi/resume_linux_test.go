package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/model/modeltest"
)

// chapters is a model that writes a story of four chapters, one a step, and
// knows by the conversation alone how far it is: what a cut-off step did is to
// be done again.
type chapters struct{ modeltest.Server }

// ServeHTTP implements http.Handler.
func (c *chapters) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/chat" {
		c.Server.ServeHTTP(w, r)
		return
	}
	var ask struct {
		Messages []struct{ Role, Content string }
	}
	_ = json.NewDecoder(r.Body).Decode(&ask)
	n := 1
	for _, m := range ask.Messages {
		if m.Role == "tool" && (!strings.Contains(m.Content, "(stopped") || strings.Contains(m.Content, "are kept")) {
			n++
		}
	}
	reply := modeltest.Reply{Text: fmt.Sprintf("Chapter %d.", n), Tool: "finish", Args: map[string]any{"answer": "The story has four chapters."}}
	switch {
	case n == 2: // a file tool
		reply.Tool, reply.Args = "write_file", map[string]any{"path": "chapter2.txt", "content": "chapter 2"}
	case n <= 4: // a program, with a line in a file that they share
		reply.Tool = "run_shell"
		reply.Args = map[string]any{"command": fmt.Sprintf("echo 'chapter %d' > chapter%d.txt; echo %d >> order.txt", n, n, n)}
	}
	once := modeltest.Server{Name: "tiny:1b", Replies: []modeltest.Reply{reply}}
	r.Body = http.NoBody
	once.ServeHTTP(w, r)
}

// teller runs kintsugi as a process of its own, with a home of its own.
type teller struct {
	t       *testing.T
	env     []string
	project string
	state   string
}

func newTeller(t *testing.T, model http.Handler) teller {
	t.Helper()
	if _, err := chooseRuntime(t.Context(), boxOptions{}); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	home := t.TempDir()
	s := teller{t: t, project: filepath.Join(home, "project"), state: filepath.Join(home, "state")}
	if err := os.Mkdir(s.project, 0o755); err != nil {
		t.Fatal(err)
	}
	s.env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "OLLAMA_HOST=" + server.URL, "XDG_STATE_HOME=" + s.state,
		"XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config")}
	return s
}

func (s teller) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	exe, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Args[0] = "kintsugi"
	cmd.Env, cmd.Dir = s.env, s.project
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// log is the session's events so far.
func (s teller) log() (dir string, events []event.Event) {
	found, _ := filepath.Glob(filepath.Join(s.state, "kintsugi", "sessions", "*"))
	if len(found) == 0 {
		return "", nil
	}
	events, _ = event.ReadFile(event.Path(found[0]))
	return found[0], events
}

// startAndKill begins the story and kills kintsugi when its log has n events.
func (s teller) startAndKill(n int) (before []event.Event) {
	s.t.Helper()
	cmd, out := s.command("ask", "tell a story in four chapters")
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for {
		if _, events := s.log(); len(events) >= n {
			break
		}
		select {
		case <-ended:
			return nil // the story was over before
		case <-time.After(time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	<-ended
	_, before = s.log()
	if len(before) == 0 {
		s.t.Fatalf("no log: %s", out)
	}
	return before
}

// TestKilledAtAnyMoment kills kintsugi at one moment after the other of a
// task. Resumed, it finishes the task; what was acknowledged is there once, and
// what was not is not.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes; run without -short")
	}
	for n := 2; n <= 38; n += 3 {
		t.Run(fmt.Sprintf("after event %d", n), func(t *testing.T) {
			t.Parallel()
			s := newTeller(t, &chapters{modeltest.Server{Name: "tiny:1b"}})
			before := s.startAndKill(n)
			if before == nil {
				t.Skip("the story was over before")
			}
			dir, _ := s.log()
			cmd, out := s.command("ask", "--resume", filepath.Base(dir), "--apply")
			if err := cmd.Run(); err != nil {
				t.Fatalf("resume: %v\n%s", err, out)
			}
			s.judge(before, out.String())
		})
	}
}

func (s teller) judge(before []event.Event, out string) {
	s.t.Helper()
	if !strings.Contains(out, "The story has four chapters.") {
		s.t.Errorf("no answer in: %s", out)
	}
	for name, want := range map[string]string{"chapter1.txt": "chapter 1\n", "chapter2.txt": "chapter 2\n", "chapter3.txt": "chapter 3\n", "chapter4.txt": "chapter 4\n", "order.txt": "1\n3\n4\n"} {
		if data, err := os.ReadFile(filepath.Join(s.project, name)); err != nil || string(data) != want {
			s.t.Errorf("%s: %q, %v; want %q\n%s", name, data, err, want, out)
		}
	}
	_, after := s.log()
	if len(after) < len(before) || event.Fold(after).Ended == nil {
		s.t.Errorf("%d events became %d, ended: %v", len(before), len(after), event.Fold(after).Ended)
	}
	seen := map[int]bool{}
	for _, e := range after {
		if b, ok := e.Body.(event.StepStart); ok {
			if seen[b.Step] {
				s.t.Errorf("step %d began twice", b.Step)
			}
			seen[b.Step] = true
		}
	}
}

func TestResumeRefusesWhatItCannot(t *testing.T) {
	t.Parallel()
	s := newTeller(t, &chapters{modeltest.Server{Name: "tiny:1b"}})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ask", "--resume", "no-such", "go on"}, "there is no session no-such"},
		{[]string{"resume", "no-such"}, "there is no session no-such"},
		{[]string{"ask", "tell a story in four chapters"}, "four chapters"},
		{[]string{"ask", "--resume", "2"}, "the last task of this session is finished; say what to do next"},
		{[]string{"ask", "-q", "--resume", "2", "again"}, "four chapters"},
	} {
		cmd, out := s.command(c.args...)
		err := cmd.Run()
		if !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), "goroutine") {
			t.Errorf("%v: %v, %s", c.args, err, out)
		}
	}
}

// A checkpoint that was made and never told is dropped; one that was told in a
// step that was cut off stays.
func TestUnacknowledgedChangesAreDropped(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(project)
	for key, sub := range map[string]string{"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state"} {
		t.Setenv(key, filepath.Join(home, sub))
	}
	s, err := openSession(t.Context(), sessionOptions{title: "x", box: boxOptions{runtime: "auto"}})
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	writes := func(step int, name string, tell bool) {
		t.Helper()
		if _, err := s.log.Append(event.StepStart{Step: step}); err != nil {
			t.Fatal(err)
		}
		if err := s.store.tree.Write(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if id, parent := s.store.tree.Saved(); tell {
			if _, err := s.log.Append(event.Checkpoint{Step: step, ID: id, Parent: parent, Total: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	writes(1, "told.txt", true)
	writes(2, "never-told.txt", false)
	s.Close() // without an end, as a kill leaves it
	s, err = openSession(t.Context(), sessionOptions{resume: s.id, box: boxOptions{runtime: "auto"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.store.tree.Read("told.txt"); err != nil {
		t.Errorf("what was acknowledged is lost: %v", err)
	}
	if _, err := s.store.tree.Read("never-told.txt"); err == nil {
		t.Error("what was never acknowledged is there")
	}
	if s.steps != 2 {
		t.Errorf("the next step would be %d", s.steps+1)
	}
}
