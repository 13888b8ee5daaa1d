package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"kintsugi/agent/model"
)

// serveChoice is what the user said about starting the model server. It is
// asked once.
type serveChoice struct {
	StartOllama *bool `json:"start_ollama,omitempty"`
}

func choiceFile(p places) string { return filepath.Join(p.config, "choices.json") }

func loadChoice(p places) serveChoice {
	var c serveChoice
	if data, err := os.ReadFile(choiceFile(p)); err == nil {
		_ = json.Unmarshal(data, &c) // an unreadable answer is asked for again
	}
	return c
}

func (c serveChoice) save(p places) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.config, 0o700); err != nil {
		return err
	}
	return os.WriteFile(choiceFile(p), append(data, '\n'), 0o600)
}

// serveWait is how long a server may take to answer after its start.
const serveWait = 20 * time.Second

// startServer starts `ollama serve` for host when that is this machine, the
// program is there, and the user allows it or did so before. It reports
// whether the server answers now; the server goes on when Kintsugi ends.
func (f modelFinder) startServer(ctx context.Context, host string) bool {
	program, err := exec.LookPath("ollama")
	if err != nil || !onThisMachine(host) {
		return false
	}
	p, err := findPlaces()
	if err != nil || !f.mayServe(ctx, p) {
		return false
	}
	log := filepath.Join(filepath.Dir(p.layers), "ollama.log")
	pid, err := serve(program, log)
	if err != nil {
		f.tell("ollama serve could not be started: " + err.Error())
		return false
	}
	f.tell(fmt.Sprintf("started ollama serve (process %d, log in %s)", pid, log))
	return answers(ctx, host)
}

// onThisMachine says whether the address is the loopback interface.
func onThisMachine(host string) bool {
	u, err := url.Parse(host)
	if err != nil {
		return false
	}
	switch u.Hostname() {
	case "127.0.0.1", "localhost", "::1":
		return true
	}
	return false
}

// mayServe asks once and remembers the answer; when nobody can answer it is no.
func (f modelFinder) mayServe(ctx context.Context, p places) bool {
	c := loadChoice(p)
	if c.StartOllama != nil {
		return *c.StartOllama
	}
	yes, answered := f.ask(ctx, "Ollama is installed and does not run. May Kintsugi start it, now and whenever it is needed?")
	if !answered {
		return false
	}
	c.StartOllama = &yes
	if err := c.save(p); err != nil {
		f.tell("the answer could not be remembered: " + err.Error())
	}
	return yes
}

// serve starts the program in a session of its own, so that it outlives this
// one.
func serve(program, log string) (pid int, err error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cmd := exec.Command(program, "serve")
	cmd.Stdout, cmd.Stderr = out, out
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release()
}

// answers waits until the server does.
func answers(ctx context.Context, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, serveWait)
	defer cancel()
	for ctx.Err() == nil {
		_, err := model.NewOllama(host, nil).Models(ctx)
		var e *model.Error
		if err == nil || !errors.As(err, &e) || e.Kind != model.Absent {
			return err == nil
		}
		sleepOrDone(ctx, 100*time.Millisecond)
	}
	return false
}
