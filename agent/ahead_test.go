package agent

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kintsugi/sandbox"
)

// expectant is a runtime that notes what it was told of the next box.
type expectant struct {
	*fakeRuntime
	told []*sandbox.Spec
}

func (x *expectant) Prepare(next *sandbox.Spec) { x.told = append(x.told, next) }

// numbered is a workspace whose drafts have a folder of their own each.
type numbered struct {
	made, discarded int
	moved           bool // the workspace went on since the last draft began
}

type numberedDraft struct {
	w *numbered
	n int
}

func (w *numbered) Begin() (Draft, error) {
	w.made++
	w.moved = false
	return numberedDraft{w, w.made}, nil
}

func (d numberedDraft) Spec() sandbox.Workspace {
	return sandbox.Workspace{Path: "/project", Upper: "/upper" + string(rune('0'+d.n))}
}
func (d numberedDraft) Renew() (bool, error)   { return !d.w.moved, nil }
func (d numberedDraft) Commit() (Saved, error) { return Saved{}, nil }
func (d numberedDraft) Discard() error         { d.w.discarded++; return nil }

// aheadBench is an engine that has boxes made ready.
func aheadBench(t *testing.T) (bench, *expectant, *numbered) {
	t.Helper()
	b := newBench(t, func(sandbox.Spec) reply { return reply{} })
	x, w := &expectant{fakeRuntime: b.rt}, &numbered{}
	b.Engine.Runtime, b.Engine.Workspace, b.Engine.Ahead = x, w, true
	return b, x, w
}

func mustDo(t *testing.T, e *Engine, c Call) {
	t.Helper()
	if out, err := e.Do(context.Background(), c); err != nil || !out.OK {
		t.Fatalf("%+v %v", out, err)
	}
}

// The box that is expected differs from the one that is asked for in nothing
// but its command, environment and streams.
func TestNextBoxIsAsExpected(t *testing.T) {
	t.Parallel()
	b, x, w := aheadBench(t)
	mustDo(t, b.Engine, Call{Step: 1, Argv: []string{"true"}})
	for step, c := range []Call{{Argv: []string{"true"}}, {Code: "print(1)", Ext: ".py"}, {Argv: []string{"ls"}}} {
		c.Step = step + 2
		mustDo(t, b.Engine, c)
		told, got := *x.told[len(x.told)-2], x.ran[len(x.ran)-1]
		got.Argv, got.Env, got.Stdin, got.Stdout, got.Stderr = nil, told.Env, nil, nil, nil
		if diff := cmp.Diff(told, got); diff != "" {
			t.Errorf("step %d: -expected +asked for\n%s", c.Step, diff)
		}
		for _, m := range got.Mounts {
			if _, err := os.Stat(m.Source); err != nil {
				t.Error(err)
			}
		}
	}
	if w.made != 5 || w.discarded != 0 {
		t.Errorf("%d drafts begun, %d discarded", w.made, w.discarded)
	}
	if err := b.Engine.Close(); err != nil || w.discarded != 1 || x.told[len(x.told)-1] != nil {
		t.Errorf("%v, %d drafts discarded, told %v", err, w.discarded, x.told)
	}
}

// What was begun for a workspace that went on since is not used.
func TestStaleDraftIsDiscarded(t *testing.T) {
	t.Parallel()
	b, x, w := aheadBench(t)
	mustDo(t, b.Engine, Call{Step: 1, Argv: []string{"true"}})
	w.moved = true
	mustDo(t, b.Engine, Call{Step: 2, Argv: []string{"true"}})
	if got, stale := x.ran[len(x.ran)-1].Workspace.Upper, x.told[0].Workspace.Upper; got == stale || w.discarded != 1 {
		t.Errorf("the call wrote to %s, the stale draft was %s; %d discarded", got, stale, w.discarded)
	}
}

// Engines that work side by side share the boxes: none knows what comes next.
func TestForksExpectNothing(t *testing.T) {
	t.Parallel()
	b, x, w := aheadBench(t)
	fork := b.Engine.Fork(Fork{Log: b.log, SideDir: t.TempDir(), Workspace: w})
	mustDo(t, fork, Call{Step: 1, Argv: []string{"true"}})
	if len(x.told) != 1 || x.told[0] != nil || w.made != 1 {
		t.Errorf("told %v, %d drafts begun", x.told, w.made)
	}
}
