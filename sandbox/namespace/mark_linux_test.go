package namespace

import (
	"maps"
	"os"
	"strings"
	"testing"

	"kintsugi/sandbox"
)

// again is the same runtime as a later process has it.
func again(t *testing.T, r *Runtime) *Runtime {
	t.Helper()
	return open(t, r.options)
}

func TestProbeMakesOneBoxPerBootAndBuild(t *testing.T) {
	t.Parallel()
	first := newRuntime(t)
	if a := first.Probe(t.Context()); !a.OK {
		t.Fatal(a.Reason)
	}
	if first.open.Load() == nil {
		t.Fatal("the first probe made no box")
	}
	later := again(t, first)
	if a := later.Probe(t.Context()); !a.OK || len(a.Report) == 0 {
		t.Fatalf("%+v", a)
	}
	if later.open.Load() != nil {
		t.Error("a later probe made a box")
	}
	h, _ := first.host()
	if err := os.WriteFile(h.markPath(), []byte("another boot"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := again(t, first)
	if a := other.Probe(t.Context()); !a.OK || other.open.Load() == nil {
		t.Errorf("a mark of another boot was believed: %+v", a)
	}
}

// A door that closed after the mark was made is told like one that was never
// open, and the mark goes.
func TestMarkThatNoLongerHolds(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	if a := r.Probe(t.Context()); !a.OK {
		t.Fatal(a.Reason)
	}
	h, _ := r.host()
	h.stage = "/does/not/exist"
	_, err := r.Start(t.Context(), sandbox.Spec{Argv: []string{"true"}})
	if err == nil || !strings.Contains(err.Error(), "no box can be made here") || !strings.Contains(err.Error(), "to make it work") {
		t.Errorf("the error is: %v", err)
	}
	if h.marked() {
		t.Error("the mark stayed")
	}
}

// An error that is the program's own leaves the mark alone.
func TestMarkStaysWhenOneProgramCannotStart(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	if a := r.Probe(t.Context()); !a.OK {
		t.Fatal(a.Reason)
	}
	_, err := r.Start(t.Context(), sandbox.Spec{Argv: []string{"true"}, Workspace: sandbox.Workspace{Path: "/does/not/exist"}})
	if err == nil || strings.Contains(err.Error(), "no box can be made here") {
		t.Errorf("the error is: %v", err)
	}
	if h, _ := r.host(); !h.marked() {
		t.Error("the mark went")
	}
}

// What was found once is found again only when this process is elsewhere, or
// the place is gone.
func TestControlGroupsAreRemembered(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	if a := r.Probe(t.Context()); !a.OK {
		t.Fatal(a.Reason)
	}
	h, _ := r.host()
	c, _ := r.groups()
	if c.version == 0 || c.own == "" {
		t.Skipf("nothing to remember here: %s", c.why)
	}
	known := h.recall()
	got := known.groups(currentGroup())
	if got == nil || got.version != c.version || !maps.Equal(got.bases, c.bases) || got.why != c.why {
		t.Fatalf("remembered %+v, want %+v", got, c)
	}
	if known.groups("0::/elsewhere\n") != nil {
		t.Error("believed in another group")
	}
	known.Bases["memory"] = "/does/not/exist"
	if known.groups(currentGroup()) != nil {
		t.Error("believed in a place that is gone")
	}
	h.mark(&cgroups{version: 1, own: "0::/elsewhere\n", bases: known.Bases})
	if found := findCgroups(h); !maps.Equal(found.bases, c.bases) {
		t.Errorf("found %v, want %v", found.bases, c.bases)
	}
	if again := h.recall(); again.Own != currentGroup() || !maps.Equal(again.Bases, c.bases) {
		t.Errorf("what was found is not remembered: %+v", again)
	}
}
