package event

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// TestMain lets the test binary play another process that writes a log.
func TestMain(m *testing.M) {
	if dir := os.Getenv("EVENT_TEST_WRITER"); dir != "" {
		os.Exit(writer(dir))
	}
	os.Exit(m.Run())
}

// writer appends as many notes as the environment says, and waits for a line
// on standard input before it ends.
func writer(dir string) int {
	n, _ := strconv.Atoi(os.Getenv("EVENT_TEST_COUNT"))
	log, err := Create(dir, nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	for i := range n {
		if _, err := log.Append(Note{Level: "info", Text: strconv.Itoa(i)}); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	var b [1]byte
	os.Stdin.Read(b[:])
	return 0
}

// clock is a clock that moves one millisecond with each look.
func clock() func() time.Time {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Millisecond)
		return at
	}
}

func newLog(t *testing.T) *Log {
	t.Helper()
	log, err := Create(t.TempDir(), clock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

func appendAll(t *testing.T, log *Log, bodies ...Body) []Event {
	t.Helper()
	var out []Event
	for _, b := range bodies {
		e, err := log.Append(b)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// story is a session in which every kind of event happens once at least.
func story() []Body {
	return []Body{
		Session{Version: Version, ID: "s", Runtime: "namespace", Project: "/p", Title: "plot"},
		Task{Text: "draw < a > plot & save"},
		Model{Name: "m", Provider: "ollama", State: "loading", Window: 8192},
		StepStart{Step: 1},
		Reasoning{Step: 1, Text: "hm", Thinking: true},
		Reasoning{Step: 1, Text: "I will plot."},
		Call{Step: 1, Tool: "python", Text: "import pandas", Origin: "model"},
		Attempt{Step: 1, Attempt: 1, Box: "b1", Argv: []string{"python3", "x.py"}},
		Born{Step: 1, Attempt: 1, Took: time.Millisecond},
		Output{Step: 1, Attempt: 1, Text: "Traceback …\n", Stderr: true},
		Usage{Step: 1, Attempt: 1, Memory: 1 << 20, Processes: 1},
		AttemptEnd{Step: 1, Attempt: 1, Exit: 1, Took: time.Second},
		Failure{Step: 1, Attempt: 1, What: "missing_module", Subject: "pandas", Explanation: "It is not there.", Heal: "auto"},
		Remedy{Step: 1, Attempt: 1, ID: "r1", Action: "install", Manager: "pip", Packages: []string{"pandas"}, Origin: "map"},
		Progress{ID: "r1", Text: "downloading"},
		Output{Step: 1, Attempt: 1, Remedy: "r1", Text: "pip says\n"},
		RemedyEnd{Step: 1, ID: "r1", OK: true, Layer: "l1", Versions: []string{"pandas 2.3.3"}},
		Attempt{Step: 1, Attempt: 2, Box: "b2", Layers: []string{"l1"}},
		Output{Step: 1, Attempt: 2, Text: "done\n"},
		AttemptEnd{Step: 1, Attempt: 2},
		Seam{Step: 1, Attempt: 2, Text: "missing pandas: installed"},
		Checkpoint{Step: 1, ID: "c1", Changed: []string{"plot.png"}, Total: 1},
		Artefact{Step: 1, Attempt: 2, Path: "plot.png", Media: "image/png", Size: 14_321, Checkpoint: "c1", Changed: true},
		Lane{Step: 1, Lane: 1, Name: "tiny", State: LaneRunning},
		Lane{Step: 1, Lane: 1, Name: "tiny", State: LaneWorked, Text: "done", Steps: 2, Tokens: 40},
		Ask{ID: "a1", Step: 1, Question: "Keep it?", Choices: []string{"yes", "no"}},
		Answer{ID: "a1", Choice: "yes"},
		Note{Level: "info", Text: "a note"},
		StepEnd{Step: 1, OK: true, Answer: "drawn"},
		End{Exit: 0},
	}
}
