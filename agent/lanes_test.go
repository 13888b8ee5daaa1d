package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"kintsugi/agent/event"
	"kintsugi/sandbox"
)

const noTk = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import matplotlib.pyplot\n  File \"/usr/lib/python3/dist-packages/matplotlib/backends/_backend_tk.py\", line 1, in <module>\n    import tkinter\nModuleNotFoundError: No module named 'tkinter'\n"

// drawing is a program that two remedies fit: it works once agg is set.
func drawing(agg reply) func(sandbox.Spec) reply {
	return func(s sandbox.Spec) reply {
		switch {
		case !strings.HasPrefix(s.Argv[0], "python"): // this system has no apt
			return reply{exit: 1}
		case slices.Contains(s.Env, "MPLBACKEND=Agg"):
			return agg
		}
		return reply{stderr: noTk, exit: 1}
	}
}

func lanesOf(b bench) (started []event.Remedy, ended map[string]event.RemedyEnd) {
	ended = map[string]event.RemedyEnd{}
	for _, e := range b.log.events {
		switch r := e.Body.(type) {
		case event.Remedy:
			if r.Lane > 0 {
				started = append(started, r)
			}
		case event.RemedyEnd:
			ended[r.ID] = r
		}
	}
	return started, ended
}

func TestRemediesAreTriedSideBySide(t *testing.T) {
	t.Parallel()
	b := newBench(t, drawing(reply{stdout: "drawn\n"}))
	b.Lanes = 2
	out, err := b.Do(context.Background(), code("import matplotlib.pyplot\n"))
	if err != nil || !out.OK || out.Attempts != 2 || out.Stdout != "drawn\n" {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	started, ended := lanesOf(b)
	if len(started) != 2 || started[0].Lane != 1 || started[1].Lane != 2 {
		t.Fatalf("lanes %+v", started)
	}
	for _, r := range started {
		if end := ended[r.ID]; end.OK != (r.Action == "env") || !end.OK && end.Error == "" {
			t.Errorf("%s ended as %+v", r.Title, end)
		}
	}
	if b.ws.committed != 1 {
		t.Errorf("%d commits: trials must leave nothing", b.ws.committed)
	}
	if got := b.env.vars; !slices.Equal(got, []string{"MPLBACKEND=Agg"}) {
		t.Errorf("the winner's environment is %v", got)
	}
}

// TestALaneThatGetsFurtherIsKept: the next failure is mended from there.
func TestALaneThatGetsFurtherIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, drawing(reply{stderr: "Traceback (most recent call last):\n  File \"a.py\", line 2, in <module>\nKeyError: 'pot'\n", exit: 1}))
	b.Lanes = 2
	out, err := b.Do(context.Background(), code("import matplotlib.pyplot\n"))
	if err != nil || out.OK || out.Diagnosis == nil || out.Diagnosis.Kind != "exception" {
		t.Fatalf("outcome %+v, %v; want the next failure", out, err)
	}
}

func TestNoLaneHelps(t *testing.T) {
	t.Parallel()
	b := newBench(t, drawing(reply{stderr: noTk, exit: 1}))
	b.Lanes = 2
	out, err := b.Do(context.Background(), code("import matplotlib.pyplot\n"))
	if err != nil || out.OK || out.Attempts != 1 || b.log.count(event.KindSeam) != 0 {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if _, ended := lanesOf(b); len(ended) != 2 {
		t.Errorf("%d remedies, want each tried once", len(ended))
	}
}

func TestOneLaneIsNoRace(t *testing.T) {
	t.Parallel()
	b := newBench(t, drawing(reply{stdout: "drawn\n"}))
	if out, err := b.Do(context.Background(), code("import matplotlib.pyplot\n")); err != nil || !out.OK {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if started, _ := lanesOf(b); len(started) != 0 {
		t.Errorf("lanes %+v", started)
	}
}

// machines is a runtime of several machines.
type machines struct {
	*fakeRuntime
	mu    sync.Mutex
	given []*fakeRuntime
}

func (m *machines) Beside() sandbox.Runtime {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given = append(m.given, &fakeRuntime{answer: m.answer})
	return m.given[len(m.given)-1]
}

// TestRemediesSideBySideAreOnMachinesOfTheirOwn: each lane's boxes, those that
// install too, are made where nothing else of the race is.
func TestRemediesSideBySideAreOnMachinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t, drawing(reply{stdout: "drawn\n"}))
	b.Lanes = 2
	m := &machines{fakeRuntime: b.rt}
	b.Runtime, b.Installer.Runtime = m, m
	if out, err := b.Do(context.Background(), code("import matplotlib.pyplot\n")); err != nil || !out.OK {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if len(m.given) != 2 || len(m.given[0].ran) == 0 || len(m.given[1].ran) == 0 {
		t.Fatalf("%d machines were given", len(m.given))
	}
	for _, s := range b.rt.ran {
		if s.Argv[0] == "apt-get" || s.Argv[0] == "/bin/sh" {
			t.Errorf("%q ran on the machine of the session", s.Argv)
		}
	}
	if len(b.rt.ran) < 2 {
		t.Errorf("%d boxes on the machine of the session, want the failed and the mended attempt", len(b.rt.ran))
	}
}
