package main

import (
	"bytes"
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kintsugi/agent/model"
	"kintsugi/agent/model/modeltest"
)

func TestPreferredModelCallsToolsAndFits(t *testing.T) {
	t.Parallel()
	picks := []model.Pick{{Name: "a:4b"}, {Name: "b:1b"}}
	tools := model.Caps{Tools: true}
	ranks := []struct {
		m    model.Info
		caps model.Caps
	}{
		{model.Info{Name: "a:4b", Size: 3e9}, tools},
		{model.Info{Name: "b:1b", Size: 1e9}, tools},
		{model.Info{Name: "unlisted", Size: 1e9}, tools},
		{model.Info{Name: "huge", Size: 40e9}, tools},
		{model.Info{Name: "a:4b", Size: 3e9}, model.Caps{}},
		{model.Info{Name: "talker", Size: 1e9}, model.Caps{}},
	}
	for i := range len(ranks) - 1 {
		x, y := ranks[i], ranks[i+1]
		if a, b := worthOf(x.m, x.caps, picks, 8e9), worthOf(y.m, y.caps, picks, 8e9); a <= b {
			t.Errorf("%+v (%d) must be worth more than %+v (%d)", x, a, y, b)
		}
	}
}

// An OpenAI-compatible server is found by its variable.
func TestOpenAIPrefixNeedsAServer(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "")
	if _, _, err := onTerminal().model(t.Context(), "openai:x"); err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL") {
		t.Errorf("%v", err)
	}
}

// fakeOllama puts a program called ollama on the PATH that notes its start and
// then serves a model, by way of a port that the test opens for it.
func fakeOllama(t *testing.T) (host, started string, serve func()) {
	t.Helper()
	dir := t.TempDir()
	started = filepath.Join(dir, "started")
	script := "#!/bin/sh\necho \"$@\" > " + started + "\nsleep 5\n"
	if err := os.WriteFile(filepath.Join(dir, "ollama"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for key, sub := range map[string]string{"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state"} {
		t.Setenv(key, filepath.Join(home, sub))
	}
	server := httptest.NewUnstartedServer(&modeltest.Server{Name: "tiny:1b"})
	host = "http://" + server.Listener.Addr().String()
	// The port is closed until the program starts.
	addr := server.Listener.Addr().String()
	server.Listener.Close()
	t.Cleanup(server.Close)
	t.Setenv("OLLAMA_HOST", addr)
	serve = func() { listenAgain(t, server, addr) }
	return host, started, serve
}

func TestServerIsStartedWhenTheUserAllowsIt(t *testing.T) {
	_, started, serve := fakeOllama(t)
	var told []string
	asked := 0
	f := modelFinder{tell: func(s string) { told = append(told, s) }}
	f.ask = func(context.Context, string) (bool, bool) {
		asked++
		go func() {
			for range 100 {
				if _, err := os.Stat(started); err == nil {
					serve()
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
		return true, true
	}
	p, name, err := f.model(t.Context(), "")
	if err != nil || name != "tiny:1b" || p.Name() != "ollama" {
		t.Fatalf("%v %q, %v; told %q", p, name, err, told)
	}
	if args, err := os.ReadFile(started); err != nil || string(args) != "serve\n" {
		t.Errorf("started with %q, %v", args, err)
	}
	if _, _, err := f.model(t.Context(), ""); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	places, err := findPlaces()
	if err != nil || loadChoice(places).StartOllama == nil || !*loadChoice(places).StartOllama {
		t.Errorf("the answer is not remembered: %v", err)
	}
}

func TestServerIsNotStartedAgainstTheUsersWord(t *testing.T) {
	_, started, _ := fakeOllama(t)
	asked := 0
	f := modelFinder{tell: func(string) {}, ask: func(context.Context, string) (bool, bool) { asked++; return false, true }}
	for range 2 {
		if _, _, err := f.model(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "ollama serve") {
			t.Errorf("%v", err)
		}
	}
	if _, err := os.Stat(started); err == nil || asked != 1 {
		t.Errorf("started: %v, asked %d times", err == nil, asked)
	}
	// Where nobody can answer, nothing is started and nothing remembered.
	fakeOllama(t)
	f.ask = func(context.Context, string) (bool, bool) { return false, false }
	if _, _, err := f.model(t.Context(), ""); err == nil {
		t.Error("no error")
	}
	places, err := findPlaces()
	if err != nil || loadChoice(places).StartOllama != nil {
		t.Errorf("something was remembered: %v", err)
	}
}

func TestPullBar(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(0, 0)
	b := &pullBar{out: &out, terminal: true, now: func() time.Time { return now }}
	b.show(model.Progress{Status: "pulling manifest"})
	now = now.Add(time.Second)
	b.show(model.Progress{Status: "downloading", Done: 0, Total: 2e9})
	now = now.Add(10 * time.Second)
	b.show(model.Progress{Status: "downloading", Done: 1e9, Total: 2e9})
	b.show(model.Progress{Status: "downloading", Done: 1.1e9, Total: 2e9})
	b.end()
	text := out.String()
	if !strings.Contains(text, "pulling manifest") || !strings.Contains(text, "50%  1.00 of 2.00 GB  100.0 MB/s, 10s left") || strings.Contains(text, "55%") || !strings.HasSuffix(text, "\n") {
		t.Errorf("%q", text)
	}
}

func listenAgain(t *testing.T, server *httptest.Server, addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Errorf("the port was taken meanwhile: %v", err)
		return
	}
	server.Listener = l
	server.Start()
}
