package agent_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"kintsugi/agent"
	"kintsugi/agent/model"
	"kintsugi/agent/model/modeltest"
	"kintsugi/agent/tool"
)

// TestLiveLoop lets the smallest real model work in real boxes. It is far too
// small to solve anything; what counts is that every turn of it is an action,
// that the budget ends it honestly, and that nothing breaks the loop.
func TestLiveLoop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a real model takes its time; run without -short")
	}
	server := modeltest.NewLive(t)
	w := newWorkshop(t)
	for name, m := range map[string]string{"by the grammar": modeltest.Small, "by native tools": modeltest.Tools} {
		t.Run(name, func(t *testing.T) { liveTask(t, w, server, m) })
	}
	t.Run("through a restart of the server", func(t *testing.T) { liveRestart(t, w, server) })
}

func liveLoop(b *bench, server *modeltest.Live, name string) *agent.Loop {
	l := b.loop(model.NewOllama(server.Host, nil))
	l.Name = name
	l.Tools = slices.DeleteFunc(tool.All(), func(t model.Tool) bool {
		return !slices.Contains([]string{tool.RunCode, tool.RunShell, tool.Finish}, t.Name)
	})
	l.Budget = agent.Budget{Steps: 3, Time: 4 * time.Minute, Window: 4096}
	return l
}

func liveTask(t *testing.T, w *workshop, server *modeltest.Live, name string) {
	b := w.bench(t, map[string]string{"readme.txt": "hello\n"})
	l := liveLoop(b, server, name)
	res, err := l.Task(t.Context(), "Print 2+2 with Python, then finish.")
	if err != nil || res.Turns == 0 || res.Tokens == 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	s := b.state(t)
	if s.Model.Speed == 0 || s.Model.Window != 4096 || s.Model.Context == 0 {
		t.Errorf("the log does not tell how the model fares: %+v", s.Model)
	}
	for _, st := range s.Steps {
		if !st.Done {
			t.Errorf("step %d stays open", st.N)
		}
	}
	t.Logf("%s after %d turns, %d calls, %d tokens: %.80q", res.Reason, res.Turns, res.Calls, res.Tokens, res.Answer)
}

// liveRestart kills the server in the middle of its first answer and starts it
// again a little later: the task goes on.
func liveRestart(t *testing.T, w *workshop, server *modeltest.Live) {
	b := w.bench(t, nil)
	l := liveLoop(b, server, modeltest.Small)
	var once sync.Once
	killing := killer{model.NewOllama(server.Host, nil), func() {
		once.Do(func() {
			server.Kill()
			time.AfterFunc(1500*time.Millisecond, server.Start)
		})
	}}
	l.Model = killing
	// A short answer may have arrived as a whole when the server is killed.
	res, err := l.Task(t.Context(), "Write a long story about a bowl that broke.")
	if err != nil || res.Turns == 0 { // its answer may well be empty
		t.Fatalf("%+v, %v", res, err)
	}
	again := 0
	for _, st := range b.state(t).Steps {
		for _, n := range st.Notes {
			if n.Level == "warn" {
				again++
			}
		}
	}
	if again == 0 {
		t.Error("the log does not tell that the server died")
	}
	t.Logf("%s after %d turns and %d more tries", res.Reason, res.Turns, again)
}

// killer calls kill at the first word.
type killer struct {
	model.Provider
	kill func()
}

// Chat implements model.Provider.
func (k killer) Chat(ctx context.Context, req model.Request, on func(model.Chunk)) (model.Reply, error) {
	return k.Provider.Chat(ctx, req, func(c model.Chunk) {
		on(c)
		if c.Kind == model.Text || c.Kind == model.Thinking {
			k.kill()
		}
	})
}
