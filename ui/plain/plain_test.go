package plain

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/demo"
)

func TestGoldenLines(t *testing.T) {
	t.Parallel()
	for name, beats := range map[string][]demo.Beat{"plot": demo.Plot(), "ask": demo.Ask(), "hard": demo.Hard()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			p := New(&b)
			p.Write(demo.Events(beats)...)
			p.Flush()
			golden.RequireEqual(t, b.Bytes())
		})
	}
}

// Nothing may move the cursor or paint, whatever a program prints.
func TestNothingIsRepainted(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := New(&b)
	p.Write(demo.Events(demo.Hard())...)
	p.Flush()
	if i := strings.IndexFunc(b.String(), func(r rune) bool { return r < 0x20 && r != '\n' || r == 0x7f || r >= 0x202a && r <= 0x202e }); i >= 0 {
		t.Errorf("a control character at %q", b.String()[i:min(i+20, b.Len())])
	}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if label, _, ok := strings.Cut(line, ": "); !ok || label == "" {
			t.Errorf("a line without a label: %q", line)
		}
	}
}

// wishes records intents.
type wishes struct{ got []string }

func (w *wishes) Submit(text string) { w.got = append(w.got, "submit "+text) }
func (w *wishes) Shell(cmd string)   { w.got = append(w.got, "shell "+cmd) }
func (w *wishes) RunFile(path string, a []string) {
	w.got = append(w.got, "run "+path+" "+strings.Join(a, "|"))
}
func (w *wishes) Cancel()                  { w.got = append(w.got, "cancel") }
func (w *wishes) Answer(id, choice string) { w.got = append(w.got, "answer "+id+" "+choice) }
func (w *wishes) Quit()                    { w.got = append(w.got, "quit") }

func TestTypedLinesBecomeIntents(t *testing.T) {
	t.Parallel()
	w := &wishes{}
	var b bytes.Buffer
	err := Run(context.Background(), Options{
		History: demo.Events(demo.Ask()), Intents: w, Output: &b,
		Input: strings.NewReader("9\n2\ndraw a cat\n!ls -l\n/run plot.py --fast\n/run\n/stop\n/nonsense\n\n/quit\nnever\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "answer q1 Install pandsa once;submit draw a cat;shell ls -l;run plot.py --fast;cancel;quit"
	if got := strings.Join(w.got, ";"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, line := range []string{"question: type a number from 1 to 3", "error: write /run and the name of a file", "error: no command is called /nonsense."} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("it does not say %q", line)
		}
	}
}

func TestItEndsWithItsEventsOrContext(t *testing.T) {
	t.Parallel()
	events := make(chan []event.Event, 1)
	events <- []event.Event{{Body: event.Output{Text: "no line end"}}}
	close(events)
	var b bytes.Buffer
	if err := Run(context.Background(), Options{Events: events, Output: &b}); err != nil || b.String() != "output: no line end\n" {
		t.Errorf("got %v, %q", err, b.String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Run(ctx, Options{Output: io.Discard}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestABrokenOutputEndsIt(t *testing.T) {
	t.Parallel()
	if err := Run(context.Background(), Options{History: demo.Events(demo.Plot()), Output: broken{}, Input: strings.NewReader("\n")}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}
