package agent

import (
	"archive/zip"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/agent/heal/install"
	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace"
)

// shelf is a folder with a wheel of a well-known name, so that real boxes can
// be healed without a network.
func shelf(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "inflect-1.0-py3-none-any.whl"))
	if err != nil {
		t.Fatal(err)
	}
	const info = "inflect-1.0.dist-info/"
	z := zip.NewWriter(f)
	for name, text := range map[string]string{
		"inflect.py": "word = 'pots'\n", info + "METADATA": "Metadata-Version: 2.1\nName: inflect\nVersion: 1.0\n",
		info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n", info + "RECORD": "inflect.py,,\n",
	} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// realEngine heals in real boxes, from the shelf; every call of the function
// that it gives makes an engine that knows nothing of the others but the
// layers and, when it is asked to, the memory.
func realEngine(t testing.TB) func(memory bool) *Engine {
	t.Helper()
	rt := namespace.New(namespace.Options{})
	if a := rt.Probe(context.Background()); !a.OK {
		t.Skipf("no boxes here: %s", a.Reason)
	}
	rules := sync.OnceValues(func() (*heal.Rules, error) { return heal.Load() })
	wheels, layers, remembered, dir := shelf(t), t.TempDir(), t.TempDir(), t.TempDir()
	return func(memory bool) *Engine {
		c := Config{
			Runtime: rt, Rules: rules, Log: &memoryLog{}, Workspace: &plainWorkspace{}, Now: time.Now,
			Project: Project{Path: dir, Source: dir, Dir: "/tmp"}, Env: sandbox.BaseEnv(os.Environ(), "PATH=/usr/bin:/bin"),
			Installer: &install.Installer{Runtime: rt, Store: install.Store{Dir: layers}, FindLinks: wheels, Now: time.Now},
		}
		if memory {
			c.Memory = &Memory{Dir: remembered}
		}
		return NewEngine(c)
	}
}

func pythonCall(text string) Call {
	return Call{Step: 1, Tool: "run", Origin: "user", Argv: []string{"/usr/bin/python3", "-c", text}}
}

// must runs a call that has to work, and says how long it took.
func must(t testing.TB, e *Engine, c Call, attempts int) time.Duration {
	t.Helper()
	start := time.Now()
	out, err := e.Do(context.Background(), c)
	took := time.Since(start)
	if err != nil || !out.OK || out.Attempts != attempts {
		t.Fatalf("%+v, %v; want it to work on attempt %d", out, err, attempts)
	}
	return took
}

const wantsInflect = "import inflect; print(inflect.word)"

// A layer is found again by another engine, without an installer, and a program
// that was mended before has it at its first attempt.
func TestLayersAreFoundAgain(t *testing.T) {
	t.Parallel()
	engine := realEngine(t)
	must(t, engine(true), pythonCall(wantsInflect), 2)
	must(t, engine(true), pythonCall(wantsInflect), 1)
	other := engine(false)
	must(t, other, pythonCall(wantsInflect), 2)
	for _, e := range other.Log.(*memoryLog).events {
		if end, ok := e.Body.(event.RemedyEnd); ok && !end.Reused {
			t.Errorf("installed again: %+v", end)
		}
	}
}

// BenchmarkLayerThere says what a layer that is there already adds to a run: to
// one that has it from the start, and, between its two attempts, to one that
// fails for want of it first. It reports medians in milliseconds.
func BenchmarkLayerThere(b *testing.B) {
	engine := realEngine(b)
	must(b, engine(true), pythonCall(wantsInflect), 2)
	for b.Loop() {
		var plain, recalled, mending []time.Duration
		for range 15 {
			plain = append(plain, must(b, engine(false), pythonCall("word = 'pots'; print(word)"), 1))
			recalled = append(recalled, must(b, engine(true), pythonCall(wantsInflect), 1))
			e := engine(false)
			log := &timedLog{at: map[event.Kind]time.Time{}}
			e.Log = log
			must(b, e, pythonCall(wantsInflect), 2)
			mending = append(mending, log.at[event.KindRemedyEnd].Sub(log.failed))
		}
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		b.ReportMetric(ms(median(plain)), "plain-ms")
		b.ReportMetric(ms(median(recalled)-median(plain)), "recalled-adds-ms")
		b.ReportMetric(ms(median(mending)), "mending-ms")
	}
}

// timedLog notes when something of each kind happened last, and when an attempt
// ended first.
type timedLog struct {
	memoryLog
	at     map[event.Kind]time.Time
	failed time.Time
}

func (l *timedLog) Append(b event.Body) (event.Event, error) {
	l.at[b.Kind()] = time.Now()
	if b.Kind() == event.KindAttemptEnd && l.failed.IsZero() {
		l.failed = time.Now()
	}
	return l.memoryLog.Append(b)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
