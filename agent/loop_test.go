package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/agent/model"
	"kintsugi/agent/tool"
)

// player is a Doer that answers from a function and keeps what it was asked.
type player struct {
	answer func(Call) (Outcome, error)
	calls  []Call
}

func (p *player) Do(_ context.Context, c Call) (Outcome, error) {
	p.calls = append(p.calls, c)
	return p.answer(c)
}

// prints is a player whose programs all work and print text.
func prints(text string) *player {
	return &player{answer: func(Call) (Outcome, error) { return Outcome{OK: true, Stdout: text, Attempts: 1}, nil }}
}

// rootFiles is tool.Files over a real directory.
type rootFiles struct{ root *os.Root }

func (f rootFiles) Read(p string) ([]byte, error) { return f.root.ReadFile(p) }
func (f rootFiles) Write(p string, data []byte) error {
	if err := f.root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	return f.root.WriteFile(p, data, 0o644)
}
func (f rootFiles) List(p string) ([]tool.Entry, error) {
	entries, err := fs.ReadDir(f.root.FS(), p)
	var out []tool.Entry
	for _, e := range entries {
		out = append(out, tool.Entry{Name: e.Name(), Dir: e.IsDir()})
	}
	return out, err
}

// loopBench is a loop with a scripted model, a real log and real files.
type loopBench struct {
	*Loop
	script *model.Script
	log    *event.Log
}

func newLoop(t *testing.T, doer Doer, replies ...model.Scripted) *loopBench {
	t.Helper()
	log, err := event.Create(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close(); root.Close() })
	script := &model.Script{Replies: replies, Can: model.Caps{Tools: true, Context: 8192}}
	return &loopBench{script: script, log: log, Loop: &Loop{
		Engine: doer, Model: script, Name: "tiny", Log: log, Desk: tool.Desk{Files: rootFiles{root}, Root: "/p"},
		Budget: Budget{Memory: 16 << 30},
		Sleep:  func(context.Context, time.Duration) {}, Facts: "Python 3.11, Node 20",
	}}
}

func (b *loopBench) state(t *testing.T) *event.State {
	t.Helper()
	events, err := event.ReadFile(b.log.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return event.Fold(events)
}

func (b *loopBench) work(t *testing.T, text string) Result {
	t.Helper()
	r, err := b.Task(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// told is the last message that the model was sent in request n.
func (b *loopBench) told(n int) string {
	m := b.script.Seen()[n].Messages
	return m[len(m)-1].Text
}

func runCode(lang, text string) model.Scripted {
	return model.Scripted{Calls: []model.Call{{Name: tool.RunCode, Args: map[string]any{"language": lang, "code": text}}}}
}

func use(name string, args map[string]any) model.Scripted {
	return model.Scripted{Calls: []model.Call{{Name: name, Args: args}}}
}

func finishes(answer string) model.Scripted {
	return use(tool.Finish, map[string]any{"answer": answer})
}

func TestTaskRunsAndFinishes(t *testing.T) {
	t.Parallel()
	doer := prints("4\n")
	first := runCode("python", "print(2+2)")
	first.Thinking, first.Text = "easy", "I compute it."
	b := newLoop(t, doer, first, finishes("It is 4."))
	r := b.work(t, "2+2?")
	if !r.OK() || r.Answer != "It is 4." || r.Turns != 2 || r.Calls != 1 || r.Worked != 1 {
		t.Errorf("%+v", r)
	}
	if c := doer.calls[0]; c.Code != "print(2+2)" || c.Ext != ".py" || c.Step != 1 || c.Origin != "model" || c.Tool != "python" {
		t.Errorf("%+v", c)
	}
	if got := b.told(1); got != "4" {
		t.Errorf("told %q", got)
	}
	s := b.state(t)
	if len(s.Steps) != 2 || s.Steps[0].Task != "2+2?" || !s.Steps[0].OK || s.Steps[1].Answer != "It is 4." {
		t.Errorf("%+v", s.Steps)
	}
	if s.Steps[0].Thinking[0] != "easy" || s.Steps[0].Text[0] != "I compute it." || s.Model.State != "idle" || s.Model.Window == 0 {
		t.Errorf("%+v %+v", s.Steps[0], s.Model)
	}
}

func TestFailureComesBackShort(t *testing.T) {
	t.Parallel()
	noise := strings.Repeat("a long line of noise\n", 5000)
	n := 0
	doer := &player{answer: func(Call) (Outcome, error) {
		if n++; n > 1 {
			return Outcome{OK: true, Stdout: "done"}, nil
		}
		return Outcome{
			Exit: 1, Stderr: noise + "ModuleNotFoundError: No module named 'sklern'\n", Tried: []string{"install sklern with pip"},
			Diagnosis: &heal.Diagnosis{Kind: "missing_module", Subject: "sklern", Explanation: "No package of that name is known.", Evidence: []string{"No module named 'sklern'"}},
		}, nil
	}}
	b := newLoop(t, doer, runCode("python", "import sklern"), runCode("python", "import sklearn"), finishes("ok"))
	if r := b.work(t, "go"); !r.OK() || r.Worked != 1 || r.Calls != 2 {
		t.Errorf("%+v", r)
	}
	told := b.told(1)
	for _, want := range []string{"missing module sklern", "exit code 1", "No package of that name", "No module named 'sklern'", "install sklern with pip", "Python 3.11"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told: %s", want, told)
		}
	}
	if n := model.Estimate([]model.Message{{Text: told}}); n > 400 {
		t.Errorf("a correction of %d tokens", n)
	}
	if s := b.state(t); s.Steps[0].OK || !strings.Contains(s.Steps[0].Notes[0].Text, "told the model") {
		t.Errorf("%+v", s.Steps[0])
	}
}

func TestFileTools(t *testing.T) {
	t.Parallel()
	b := newLoop(t, prints(""),
		use(tool.WriteFile, map[string]any{"path": "a/x.txt", "content": "gold"}),
		use(tool.ReadFile, map[string]any{"path": "/p/a/x.txt"}),
		use(tool.ReadFile, map[string]any{"path": "../secret"}),
		finishes("ok"))
	if r := b.work(t, "go"); !r.OK() || r.Worked != 2 || r.Calls != 3 {
		t.Errorf("%+v", r)
	}
	if b.told(1) != "wrote a/x.txt (1 lines)" || b.told(2) != "gold\n" || !strings.Contains(b.told(3), "leaves the project") {
		t.Errorf("%q %q %q", b.told(1), b.told(2), b.told(3))
	}
	s := b.state(t)
	if c := s.Steps[0].Calls[0]; c.Tool != "write" || c.Text != "a/x.txt\ngold\n" || c.Origin != "model" {
		t.Errorf("%+v", c)
	}
}

func TestSameCallIsNotRunTwice(t *testing.T) {
	t.Parallel()
	doer := &player{answer: func(Call) (Outcome, error) { return Outcome{Exit: 1, Stderr: "boom"}, nil }}
	same := runCode("python", "1/0")
	b := newLoop(t, doer, same, same, same, same, same)
	r := b.work(t, "go")
	if r.Reason != Stuck || len(doer.calls) != 1 || r.Turns != 1+maxRepeats {
		t.Errorf("%+v, ran %d times", r, len(doer.calls))
	}
	if !strings.Contains(b.told(2), "exactly this call before and it failed") {
		t.Errorf("told %q", b.told(2))
	}
	s := b.state(t)
	last := s.Steps[len(s.Steps)-1]
	if !last.Done || last.OK || !strings.Contains(last.Answer, "over and over") || !strings.Contains(last.Answer, "exit code 1") {
		t.Errorf("%+v", last)
	}
}

func TestTaskThatWantsConsentSaysSo(t *testing.T) {
	t.Parallel()
	for _, consent := range []bool{true, false} {
		doer := &player{answer: func(Call) (Outcome, error) { return Outcome{Exit: 1, NeedsConsent: consent}, nil }}
		same := runCode("python", "import nobodyknows")
		b := newLoop(t, doer, same, same, same, same, same)
		if r := b.work(t, "go"); r.OK() || r.NeedsConsent != consent {
			t.Errorf("%+v", r)
		}
	}
}

func TestSameFailureOfDifferentCalls(t *testing.T) {
	t.Parallel()
	doer := &player{answer: func(Call) (Outcome, error) {
		return Outcome{Exit: 1, Diagnosis: &heal.Diagnosis{Kind: "type_error", Subject: "x"}}, nil
	}}
	var replies []model.Scripted
	for i := range 9 {
		replies = append(replies, runCode("python", strings.Repeat("#", i+1)))
	}
	b := newLoop(t, doer, replies...)
	r := b.work(t, "go")
	if r.Reason != Stuck || len(doer.calls) != maxSame || !strings.Contains(b.told(3), "3 times now") {
		t.Errorf("%+v, ran %d, told %q", r, len(doer.calls), b.told(3))
	}
}

func TestAfterAChangeTheSameCallMakesSense(t *testing.T) {
	t.Parallel()
	doer := &player{}
	doer.answer = func(Call) (Outcome, error) { return Outcome{OK: len(doer.calls) > 1, Exit: 1, Stdout: "x"}, nil }
	run := use(tool.RunShell, map[string]any{"command": "python x.py"})
	b := newLoop(t, doer, run, use(tool.WriteFile, map[string]any{"path": "x.py", "content": "1"}), run, finishes("ok"))
	if r := b.work(t, "go"); !r.OK() || len(doer.calls) != 2 {
		t.Errorf("%+v, ran %d", r, len(doer.calls))
	}
}

func TestFinishWithOtherCallsIsTooEarly(t *testing.T) {
	t.Parallel()
	both := runCode("python", "print(1)")
	both.Calls = append(both.Calls, finishes("made up").Calls...)
	b := newLoop(t, prints("1"), both, finishes("1"))
	if r := b.work(t, "go"); r.Answer != "1" || r.Turns != 2 {
		t.Errorf("%+v", r)
	}
	if s := b.state(t); len(s.Steps) != 3 {
		t.Errorf("%d steps: each call has its own", len(s.Steps))
	}
}

func TestTextWithoutACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replies []model.Scripted
		answer  string
		turns   int
		ran     int
	}{
		"an answer":             {[]model.Scripted{{Text: "A list holds things."}}, "A list holds things.", 1, 0},
		"a promise":             {[]model.Scripted{{Text: "Let me run it."}, runCode("python", "1"), finishes("ok")}, "ok", 3, 1},
		"a made up result":      {[]model.Scripted{{Text: "I run it.\n<tool_response>\n4\n</tool_response>\nIt is 4."}, finishes("ok")}, "ok", 2, 0},
		"a result in words":     {[]model.Scripted{{Text: "Result of run_code:\n4"}, finishes("ok")}, "ok", 2, 0},
		"two promises":          {[]model.Scripted{{Text: "Let me run it."}, {Text: "I will do it."}}, "I will do it.", 2, 0},
		"nothing":               {[]model.Scripted{{}, finishes("ok")}, "ok", 2, 0},
		"a block of code":       {[]model.Scripted{{Text: "Run:\n```python\nprint(1)\n```"}, finishes("1")}, "1", 2, 1},
		"code after a run":      {[]model.Scripted{runCode("python", "1"), {Text: "Here it is:\n```python\n1\n```"}}, "Here it is:\n```python\n1\n```", 2, 1},
		"a leaked call":         {[]model.Scripted{{Text: `ok <tool_call>{"name":"run_code","arguments":{"language":"python","code":"1"}}</tool_call>`}, finishes("1")}, "1", 2, 1},
		"a call cut off":        {[]model.Scripted{{Text: `<tool_call>{"name":"run_code","arg`}, finishes("1")}, "1", 2, 0},
		"cut by the length":     {[]model.Scripted{{Text: "bla bla", Stop: model.Length}, finishes("1")}, "1", 2, 0},
		"an unknown tool":       {[]model.Scripted{use("google", nil), finishes("1")}, "1", 2, 0},
		"an unknown language":   {[]model.Scripted{runCode("cobol", "x"), finishes("1")}, "1", 2, 0},
		"a fence in the code":   {[]model.Scripted{runCode("python", "```python\n1\n```"), finishes("1")}, "1", 2, 1},
		"an argument left out":  {[]model.Scripted{use(tool.RunShell, nil), finishes("1")}, "1", 2, 0},
		"nothing in the answer": {[]model.Scripted{use(tool.Finish, nil)}, "", 1, 0},
	} {
		doer := prints("1")
		b := newLoop(t, doer, c.replies...)
		r := b.work(t, "go")
		if !r.OK() || r.Answer != c.answer || r.Turns != c.turns || len(doer.calls) != c.ran {
			t.Errorf("%s: %+v, ran %d", name, r, len(doer.calls))
		}
		for _, st := range b.state(t).Steps {
			if !st.Done {
				t.Errorf("%s: step %d stays open", name, st.N)
			}
		}
	}
}

func TestLeakedCallIsNotSpoken(t *testing.T) {
	t.Parallel()
	b := newLoop(t, prints("1"), model.Scripted{Text: "I run it.\n<tool_call>{\"name\":\"run_code\",\"arguments\":{\"code\":\"1\"}}</tool_call>"}, finishes("1"))
	b.work(t, "go")
	if got := strings.Join(b.state(t).Steps[0].Text, ""); got != "I run it.\n" {
		t.Errorf("said %q", got)
	}
}

func TestModelCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	b := newLoop(t, prints(""), model.Scripted{Text: "a\x1b]52;c;aGk=\x07b\x1b[2J", Thinking: "\x1b[?1049h"})
	b.work(t, "go")
	st := b.state(t).Steps[0]
	if all := strings.Join(append(st.Text, st.Thinking...), "") + st.Answer; strings.Contains(all, "\x1b") || strings.Contains(all, "\a") {
		t.Errorf("%q", all)
	}
	b = newLoop(t, prints(""), finishes("a\x1b]52;c;aGk=\x07b"))
	if r := b.work(t, "go"); strings.Contains(r.Answer, "\x1b") || !strings.Contains(r.Answer, "b") {
		t.Errorf("%q", r.Answer)
	}
}

func TestTimeEndsAModelThatNeverAnswers(t *testing.T) {
	t.Parallel()
	b := newLoop(t, prints(""))
	b.Model = silent{b.script}
	b.Budget.Time = 50 * time.Millisecond
	r, err := b.Task(t.Context(), "go")
	if err != nil || r.Reason != SpentOut || !strings.Contains(r.Answer, "time of 50ms") {
		t.Errorf("%+v, %v", r, err)
	}
	if st := b.state(t).Steps; len(st) != 1 || !st[0].Done || st[0].OK {
		t.Errorf("%+v", st)
	}
}

// silent is a model that says nothing until it is stopped.
type silent struct{ *model.Script }

func (silent) Chat(ctx context.Context, _ model.Request, _ func(model.Chunk)) (model.Reply, error) {
	<-ctx.Done()
	return model.Reply{}, ctx.Err()
}

func TestDiscoveredFactsReachTheModelOnce(t *testing.T) {
	t.Parallel()
	b := newLoop(t, prints(""), finishes("1"), finishes("2"))
	asked := 0
	b.Facts, b.Discover = "", func(context.Context) (string, error) { asked++; return "Languages: Python 9", nil }
	b.work(t, "go")
	b.work(t, "again")
	if s := b.script.Seen(); asked != 1 || !strings.Contains(s[0].Messages[0].Text, "Python 9") || !strings.Contains(s[1].Messages[0].Text, "Python 9") {
		t.Errorf("asked %d times, told %q", asked, s[0].Messages[0].Text)
	}
}

func TestWrittenFilesAreCheckpoints(t *testing.T) {
	t.Parallel()
	b := newLoop(t, prints(""), use(tool.WriteFile, map[string]any{"path": "a", "content": "x"}), use(tool.ReadFile, map[string]any{"path": "a"}), finishes("ok"))
	b.Saved = func() (string, string) { return "c2", "c1" }
	b.work(t, "go")
	s := b.state(t)
	if c := s.Steps[0].Checkpoint; c == nil || c.ID != "c2" || c.Parent != "c1" || c.Changed[0] != "a" {
		t.Errorf("%+v", c)
	}
	if c := s.Steps[1].Checkpoint; c != nil {
		t.Errorf("reading made a checkpoint: %+v", c)
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	many := func() []model.Scripted {
		var out []model.Scripted
		for i := range 30 {
			r := runCode("python", strings.Repeat("#", i+1))
			r.Usage = model.Usage{Prompt: 900, Output: 100}
			out = append(out, r)
		}
		return out
	}
	now := time.Unix(0, 0)
	for name, c := range map[string]struct {
		budget Budget
		turns  int
		why    string
	}{
		"steps":  {Budget{Steps: 5}, 5, "5 steps"},
		"tokens": {Budget{Tokens: 3500}, 4, "3500 tokens"},
		"time":   {Budget{Time: 10 * time.Second}, 3, "time of 10s"},
	} {
		doer := prints("x")
		b := newLoop(t, doer, many()...)
		b.Budget = c.budget
		b.Now = func() time.Time { return now }
		if name == "time" {
			doer.answer = func(Call) (Outcome, error) { now = now.Add(4 * time.Second); return Outcome{OK: true}, nil }
		}
		r := b.work(t, "go")
		if r.Reason != SpentOut || r.Turns != c.turns || !strings.Contains(r.Answer, c.why) || !strings.Contains(r.Answer, "calls worked") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestNoModel(t *testing.T) {
	t.Parallel()
	gone := newLoop(t, prints(""), model.Scripted{Err: &model.Error{Kind: model.Absent, Text: "no Ollama server answers", Command: "ollama serve"}})
	none := newLoop(t, prints(""))
	none.Model = nil
	for name, b := range map[string]*loopBench{"gone": gone, "none": none} {
		r, err := b.Task(t.Context(), "go")
		var e *model.Error
		if r.Reason != NoModel || !errors.As(err, &e) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		s := b.state(t)
		if s.Model.State != "absent" || len(s.Notes) != 1 || s.Notes[0].Command != "ollama serve" {
			t.Errorf("%s: %+v %+v", name, s.Model, s.Notes)
		}
		for _, st := range s.Steps {
			if !st.Done {
				t.Errorf("%s: step %d stays open", name, st.N)
			}
		}
	}
}

func TestServerTroubleIsSurvived(t *testing.T) {
	t.Parallel()
	busy := model.Scripted{Err: &model.Error{Kind: model.Busy, Text: "busy"}}
	died := model.Scripted{Text: "half", Err: &model.Error{Kind: model.Died, Text: "died"}}
	full := model.Scripted{Err: &model.Error{Kind: model.Overflow, Text: "too long"}}
	b := newLoop(t, prints(""), busy, busy, finishes("ok"))
	if r := b.work(t, "go"); !r.OK() || r.Turns != 1 {
		t.Errorf("busy: %+v", r)
	}
	b = newLoop(t, prints(""), died, finishes("ok"))
	if r := b.work(t, "go"); !r.OK() {
		t.Errorf("died: %+v", r)
	}
	b = newLoop(t, prints(""), full, finishes("ok"))
	if r := b.work(t, "go"); !r.OK() {
		t.Errorf("overflow: %+v", r)
	}
	gone := model.Scripted{Err: &model.Error{Kind: model.Absent, Text: "gone"}}
	b = newLoop(t, prints(""), died, gone, gone, finishes("ok"))
	if r := b.work(t, "go"); !r.OK() || r.Turns != 1 {
		t.Errorf("restarted: %+v", r)
	}
	b = newLoop(t, prints(""), died, died, died)
	if r, err := b.Task(t.Context(), "go"); r.Reason != ModelFail || err == nil || b.state(t).Model.State != "error" {
		t.Errorf("died for good: %+v, %v", r, err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	doer := &player{answer: func(Call) (Outcome, error) { cancel(); return Outcome{}, ctx.Err() }}
	b := newLoop(t, doer, runCode("python", "1"), finishes("never"))
	r, err := b.Task(ctx, "go")
	if r.Reason != Cancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
	if s := b.state(t); !s.Steps[0].Done || s.Steps[0].OK {
		t.Errorf("%+v", s.Steps[0])
	}
}

func TestBrokenSandboxEndsTheTask(t *testing.T) {
	t.Parallel()
	broken := errors.New("no box can be made")
	doer := &player{answer: func(Call) (Outcome, error) { return Outcome{}, broken }}
	b := newLoop(t, doer, runCode("python", "1"), runCode("python", "2"), runCode("python", "3"), finishes("x"))
	if r, err := b.Task(t.Context(), "go"); r.Reason != Broken || !errors.Is(err, broken) || len(doer.calls) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestLogFailureEndsTheTask(t *testing.T) {
	t.Parallel()
	b := newLoop(t, prints(""), finishes("x"))
	b.log.Close()
	if r, err := b.Task(t.Context(), "go"); r.Reason != Broken || !errors.Is(err, event.ErrClosed) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSecondTaskKnowsTheFirst(t *testing.T) {
	t.Parallel()
	b := newLoop(t, prints(""), finishes("blue"), finishes("blue again"))
	b.work(t, "what colour?")
	b.work(t, "and now?")
	seen := b.script.Seen()[1].Messages
	if len(seen) != 4 || seen[1].Text != "what colour?" || seen[3].Text != "and now?" || seen[0].Role != model.System {
		t.Errorf("%+v", seen)
	}
	if w := b.script.Seen(); w[0].Window != w[1].Window || w[0].Window != 8192 {
		t.Error("the window must stay the same")
	}
}

func TestRestoreGivesTheConversationBack(t *testing.T) {
	t.Parallel()
	doer := prints("")
	b := newLoop(t, doer, runCode("python", "print(4)"), use(tool.WriteFile, map[string]any{"path": "a", "content": "x"}), finishes("four"))
	doer.answer = func(c Call) (Outcome, error) {
		for _, body := range []event.Body{
			event.Call{Step: c.Step, Tool: c.Tool, Text: c.Code, Origin: c.Origin},
			event.Output{Step: c.Step, Attempt: 1, Text: "4\n"},
		} {
			if _, err := b.log.Append(body); err != nil {
				t.Error(err)
			}
		}
		return Outcome{OK: true, Stdout: "4\n"}, nil
	}
	b.work(t, "2+2?")
	again := newLoop(t, prints(""), finishes("still four"))
	again.Restore(b.state(t))
	again.work(t, "sure?")
	var got []string
	for _, m := range again.script.Seen()[0].Messages[1:] {
		line := string(m.Role) + ": " + m.Text
		for _, c := range m.Calls {
			line += c.Name
		}
		got = append(got, line)
	}
	want := "user: 2+2?|assistant: run_code|tool: 4|assistant: write_file|tool: done|assistant: four|user: sure?"
	if strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
	if s := again.state(t); s.Steps[0].N != 4 {
		t.Errorf("step %d after three", s.Steps[0].N)
	}
}
