package agent

import (
	"fmt"
	"strings"
	"testing"

	"kintsugi/agent/model"
	"kintsugi/agent/tool"
)

// longTalk is a conversation of n calls with long results.
func longTalk(n, size int) *talk {
	k := &talk{}
	k.task("SYSTEM", "an old task")
	k.task("SYSTEM", "THE TASK")
	for i := range n {
		k.add(model.Message{Role: model.Assistant, Thinking: strings.Repeat("t", size), Calls: []model.Call{{Name: "run_code", Args: map[string]any{"code": strings.Repeat("c", size)}}}})
		k.add(model.Message{Role: model.ToolResult, Tool: "run_code", Text: fmt.Sprintf("result %d %s end", i, strings.Repeat("r", size))})
	}
	return k
}

func TestWhatIsSentFits(t *testing.T) {
	t.Parallel()
	tools := tool.All()
	for _, n := range []int{0, 1, 5, 50, 500} {
		for _, size := range []int{10, 1000, 20_000} {
			k := longTalk(n, size)
			for _, room := range []int{4096, 8192, 32768} {
				checkFit(t, k, room, tools, fmt.Sprintf("%d calls of %d bytes in %d tokens", n, size, room))
			}
		}
	}
}

func checkFit(t *testing.T, k *talk, room int, tools []model.Tool, name string) {
	t.Helper()
	sent := k.fit(room, tools)
	if got := cost(sent, tools); got > room {
		t.Errorf("%s: %d", name, got)
	}
	if sent[0].Text != "SYSTEM" {
		t.Errorf("%s: the system prompt is lost", name)
	}
	task, last := false, sent[len(sent)-1]
	for i, m := range sent {
		task = task || strings.HasPrefix(m.Text, "THE TASK")
		if m.Role == model.ToolResult && len(sent[i-1].Calls) == 0 {
			t.Errorf("%s: a result without its call", name)
		}
	}
	if !task {
		t.Errorf("%s: the task is lost", name)
	}
	if want := k.messages[len(k.messages)-1]; last.Role != want.Role || want.Role == model.ToolResult && !strings.HasSuffix(last.Text, "end") {
		t.Errorf("%s: the last result is lost", name)
	}
}

func TestShortTalkIsSentWhole(t *testing.T) {
	t.Parallel()
	k := longTalk(2, 10)
	if sent := k.fit(8192, nil); len(sent) != len(k.messages) || sent[3].Thinking == "" {
		t.Errorf("%d of %d messages", len(sent), len(k.messages))
	}
}

func TestLeftOutIsSaid(t *testing.T) {
	t.Parallel()
	k := longTalk(200, 400)
	sent := k.fit(4096, nil)
	if !strings.Contains(sent[1].Text, "were left out") {
		t.Errorf("%q", sent[1].Text)
	}
	if k.messages[k.taskAt].Text != "THE TASK" {
		t.Error("the conversation itself was changed")
	}
}

func TestServerCountsDecide(t *testing.T) {
	t.Parallel()
	k := longTalk(8, 1500)
	before := cost(k.fit(6000, nil), nil)
	k.learn(3*before, k.fit(6000, nil), nil)
	if after := cost(k.fit(6000, nil), nil); after >= before {
		t.Errorf("%d, then %d although the server counts three times as many", before, after)
	}
	k = longTalk(8, 1500)
	k.squeeze = 1
	if after := cost(k.fit(6000, nil), nil); after > 3000 {
		t.Errorf("%d after the server said that it is too much", after)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 1000)
	for _, c := range [][2]int{{0, 10}, {10, 11}, {11, 0}, {3, 3}} {
		got := ends(long, c[0], c[1])
		if len(got) > c[0]+c[1]+40 || strings.ContainsRune(got, '\ufffd') || !strings.Contains(got, "left out") {
			t.Errorf("%v: %q", c, got)
		}
	}
	if got := ends("short\n", 3, 3); got != "short" {
		t.Errorf("%q", got)
	}
}

func TestEveryPromptIsFilledIn(t *testing.T) {
	t.Parallel()
	l := &Loop{}
	entries, err := prompts.ReadDir("prompts")
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []any{failure{Tool: "x"}, map[string]any{}, success{Output: "o"}} {
		for _, e := range entries {
			got := l.prompt(e.Name(), data)
			if fits := !strings.Contains(got, "{{"); !fits && fmt.Sprintf("%T", data) == "map[string]interface {}" {
				t.Errorf("%s: %s", e.Name(), got)
			}
		}
	}
}

func TestAFailureTellsWhatWasPrintedToo(t *testing.T) {
	t.Parallel()
	doer := &player{answer: func(Call) (Outcome, error) {
		return Outcome{Exit: 1, Stdout: strings.Repeat("x", 2000) + "moved to /v2\n", Stderr: "KeyError: 'temp'\n"}, nil
	}}
	b := newLoop(t, doer, runCode("python", "x"), finishes("no"))
	b.work(t, "go")
	told := b.told(1)
	if !strings.Contains(told, "KeyError: 'temp'") || !strings.Contains(told, "It had printed:") || !strings.Contains(told, "moved to /v2") || len(told) > 1500 {
		t.Errorf("told %d bytes: %q", len(told), told)
	}
}

func TestWhatIsLeftOutIsSummarised(t *testing.T) {
	t.Parallel()
	var k talk
	k.task("system", "the task")
	for i := range 30 {
		k.add(model.Message{Role: model.Assistant, Calls: []model.Call{{Name: "run_shell", Args: map[string]any{"command": "step " + strings.Repeat("x", i)}}}})
		k.add(model.Message{Role: model.ToolResult, Tool: "run_shell", Text: "went well " + strings.Repeat("y", 800)})
	}
	sent := k.fit(900, nil)
	if cost(sent, nil) > 900 || len(sent) >= len(k.messages) {
		t.Fatalf("%d messages of %d tokens", len(sent), cost(sent, nil))
	}
	text := sent[1].Text
	if !strings.HasPrefix(text, "the task\n\n(Earlier steps were left out") || strings.Count(text, "- run_shell step") != digestLines || !strings.Contains(text, ": went well") {
		t.Errorf("told %q", text)
	}
}
