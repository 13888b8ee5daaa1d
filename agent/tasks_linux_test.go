package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/agent/model"
	"kintsugi/agent/model/modeltest"
	"kintsugi/agent/tool"
	"kintsugi/agent/worktree"
	"kintsugi/sandbox"
	"kintsugi/sandbox/listen"
	"kintsugi/sandbox/namespace"
	"kintsugi/sandbox/workspace"
)

// chore is a small real task with the mistakes that a small model makes on the
// way, as a file below testdata/tasks has it.
type chore struct {
	About string
	Task  string
	Files map[string]string
	// Check is a shell command that succeeds in a box on the final checkpoint
	// when the task is solved; Answer is what the answer must match.
	Check, Answer string
	// Needs names the manager that the task cannot do without.
	Needs string
	Reply []modeltest.Reply
}

// workshop is what all tasks share.
type workshop struct {
	rt     sandbox.Runtime
	rules  func() (*heal.Rules, error)
	layers string
	mirror *install.Mirror
	noHeal bool
}

// newWorkshop makes one on real boxes, or leaves the test out.
func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	rt := namespace.New(namespace.Options{})
	if a := rt.Probe(t.Context()); !a.OK {
		if os.Getenv("CI") != "" {
			t.Fatalf("no boxes here: %s", a.Reason)
		}
		t.Skipf("no boxes here: %s", a.Reason)
	}
	dir := t.TempDir()
	w := &workshop{
		rt: rt, rules: sync.OnceValues(func() (*heal.Rules, error) { return heal.Load() }), layers: filepath.Join(dir, "layers"),
		mirror: &install.Mirror{CacheDir: filepath.Join(dir, "gateway"), Environ: os.Environ()},
	}
	t.Cleanup(w.mirror.Close)
	return w
}

// done is how a task ended.
type done struct {
	res    agent.Result
	err    error
	solved error // nil: the checker is content
	turns  int
	seams  int
}

// outside is the world that boxes reach at 127.0.0.1:8080.
type outside struct {
	sandbox.Runtime
	handler http.Handler
}

// Start implements sandbox.Runtime.
func (o outside) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	if spec.Network == sandbox.NetworkNone && len(spec.Listeners) == 0 {
		spec.Listeners = []sandbox.Listener{{Port: 8080, Serve: listen.Func(func(l net.Listener) {
			_ = (&http.Server{Handler: o.handler, ReadTimeout: 10 * time.Second}).Serve(l)
		})}}
	}
	return o.Runtime.Start(ctx, spec)
}

// weather is a web API that changes its payload after the second answer.
type weather struct {
	mu    sync.Mutex
	asked int
}

// ServeHTTP implements http.Handler.
func (a *weather) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked++
	old := a.asked <= 2
	a.mu.Unlock()
	var body any
	switch city := r.URL.Query().Get("city"); {
	case r.URL.Path == "/weather" && old:
		body = map[string]any{"city": city, "temp": 21}
	case r.URL.Path == "/weather":
		body = map[string]any{"version": 2, "data": map[string]any{"city": city, "temperature": map[string]any{"celsius": 21}}}
	case r.URL.Path == "/items" && old:
		body = []int{1, 2, 3}
	case r.URL.Path == "/items":
		body = map[string]any{"items": []int{1, 2, 3}, "next": nil}
	case r.URL.Path == "/v2/users":
		body = []any{map[string]any{"name": "Ada"}, map[string]any{"name": "Lin"}}
	default:
		w.WriteHeader(http.StatusGone)
		body = map[string]any{"error": "this path has moved to /v2/users"}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// do lets the chore's model do the chore, and checks what came of it.
func (w *workshop) do(t *testing.T, c chore) done {
	t.Helper()
	p := &modeltest.Player{Replies: c.Reply, Script: model.Script{Can: model.Caps{Tools: true, Context: 8192}}}
	b := w.bench(t, c.Files)
	l := b.loop(p)
	var d done
	d.res, d.err = l.Task(t.Context(), c.Task)
	d.turns = p.Turns
	d.seams = b.seams(t)
	d.solved = b.judge(t, c, d.res)
	return d
}

// bench is a session on a project of its own.
type bench struct {
	w      *workshop
	dir    string
	log    *event.Log
	tree   *worktree.Tree
	engine *agent.Engine
	source string
}

func (w *workshop) bench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{w: w, dir: t.TempDir(), source: t.TempDir()}
	for name, text := range files {
		path := filepath.Join(b.source, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	project := agent.Project{Path: "/work", Source: b.source, Dir: "/work"}
	store, err := workspace.Open(filepath.Join(b.dir, "work"), b.source, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b.log, err = event.Create(b.dir, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(); b.log.Close() })
	b.tree = worktree.New(store, project)
	rt := outside{w.rt, &weather{}}
	b.engine = agent.NewEngine(agent.Config{
		Runtime: rt, Rules: w.rules, Log: b.log, SideDir: filepath.Join(b.dir, "output"), Workspace: b.tree, Project: project,
		Env:    sandbox.BaseEnv([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root"}),
		Limits: sandbox.Limits{Wall: 4 * time.Second}, Now: time.Now, BestEffort: true,
		Installer: &install.Installer{Runtime: w.rt, Store: install.Store{Dir: w.layers}, Mirror: w.mirror, Now: time.Now},
	})
	return b
}

// plain runs calls without healing.
type plain struct{ *agent.Engine }

// Do implements agent.Doer.
func (p plain) Do(ctx context.Context, c agent.Call) (agent.Outcome, error) {
	c.NoHeal = true
	return p.Engine.Do(ctx, c)
}

func (b *bench) loop(p model.Provider) *agent.Loop {
	var doer agent.Doer = b.engine
	if b.w.noHeal {
		doer = plain{b.engine}
	}
	return &agent.Loop{
		Engine: doer, Model: p, Name: "player", Log: b.log, Desk: tool.Desk{Files: b.tree, Root: "/work"},
		Facts: "Python 3.11, Node 20, Bash", Budget: agent.Budget{Steps: 12, Time: 2 * time.Minute}, Saved: b.tree.Saved, Request: b.engine.Request,
	}
}

func (b *bench) state(t *testing.T) *event.State {
	t.Helper()
	events, err := event.ReadFile(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	return event.Fold(events)
}

func (b *bench) seams(t *testing.T) int {
	n := 0
	for _, s := range b.state(t).Steps {
		if s.Seam != nil {
			n++
		}
	}
	return n
}

// judge runs the checker on the final checkpoint.
func (b *bench) judge(t *testing.T, c chore, res agent.Result) error {
	t.Helper()
	if !res.OK() {
		return fmt.Errorf("%s: %s", res.Reason, res.Answer)
	}
	if !regexp.MustCompile(c.Answer).MatchString(res.Answer) {
		return fmt.Errorf("the answer %q does not match %q", res.Answer, c.Answer)
	}
	if c.Check == "" {
		return nil
	}
	out, err := b.engine.Do(t.Context(), agent.Call{Step: 999, Tool: "check", Origin: "user", Argv: []string{"/bin/sh", "-ec", c.Check}, NoHeal: true})
	if err != nil {
		return err
	}
	if !out.OK {
		return fmt.Errorf("the checker says no: exit %d\n%s%s", out.Exit, out.Stdout, out.Stderr)
	}
	return nil
}

func loadChores(t *testing.T) map[string]chore {
	t.Helper()
	files, err := filepath.Glob("testdata/tasks/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]chore{}
	for _, file := range files {
		var c chore
		meta, err := toml.DecodeFile(file, &c)
		if err != nil || len(meta.Undecoded()) > 0 {
			t.Fatalf("%s: %v, unknown keys %v", file, err, meta.Undecoded())
		}
		if c.Check == "" && c.Answer == "" {
			t.Fatalf("%s has no checker", file)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".toml")] = c
	}
	return out
}

// reachable says whether a manager's index can be reached from here, so that
// its tasks make sense.
func reachable(t *testing.T, manager string) bool {
	t.Helper()
	if manager == "" {
		return true
	}
	probe := map[string][]string{
		"pip": {"/usr/bin/python3", "-m", "pip", "download", "-q", "--no-deps", "-d", t.TempDir(), "tabulate"},
		"npm": {"npm", "view", "is-odd", "version"},
	}[manager]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, probe[0], probe[1:]...)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the index of %s cannot be reached: %v", manager, err)
		}
		t.Logf("tasks that need %s are left out: its index cannot be reached (%v)", manager, err)
		return false
	}
	return true
}

// TestTasks does every task with the rules and without them: with them all
// are solved, and the model is asked less often.
func TestTasks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("tasks take a minute; run without -short")
	}
	w := newWorkshop(t)
	chores := loadChores(t)
	if len(chores) < 30 {
		t.Errorf("%d tasks; want at least 30", len(chores))
	}
	able := map[string]bool{"": true, "pip": reachable(t, "pip"), "npm": reachable(t, "npm")}
	bare := *w
	bare.noHeal = true
	var tally tally
	t.Run("all", func(t *testing.T) {
		for name, c := range chores {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if !able[c.Needs] {
					t.Skipf("%s cannot be reached", c.Needs)
				}
				with := w.do(t, c)
				if with.solved != nil {
					t.Errorf("%s: %v (%v)", c.About, with.solved, with.err)
				}
				without := with
				if with.seams > 0 { // else the rules made no difference
					without = bare.do(t, c)
				}
				tally.add(name, with, without)
			})
		}
	})
	tally.report(t)
}

// tally adds up what the rules saved.
type tally struct {
	mu    sync.Mutex
	lines []string
	with, without, seams, unsolved,
	tasks int
}

func (y *tally) add(name string, with, without done) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.tasks++
	y.with += with.turns
	y.without += without.turns
	y.seams += with.seams
	how := "solved"
	if without.solved != nil {
		y.unsolved++
		how = "not solved"
	}
	y.lines = append(y.lines, fmt.Sprintf("%-24s %d model calls, %d seams; without rules %d, %s", name, with.turns, with.seams, without.turns, how))
}

func (y *tally) report(t *testing.T) {
	t.Helper()
	for _, line := range y.lines {
		t.Log(line)
	}
	t.Logf("%d tasks, all solved with %d model calls and %d seams; without rules %d calls and %d not solved", y.tasks, y.with, y.seams, y.without, y.unsolved)
	if y.tasks > 0 && (y.without <= y.with || y.seams == 0) {
		t.Error("the rules saved nothing")
	}
}
