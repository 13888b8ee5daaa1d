package model

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestFindCalls(t *testing.T) {
	t.Parallel()
	ls := `run_shell{"command":"ls"}`
	for _, c := range []struct{ name, text, calls, rest string }{
		{"only JSON", `{"name": "run_shell", "arguments": {"command": "ls"}}`, ls, ""},
		{"JSON in text", `I look. {"name":"run_shell","arguments":{"command":"ls"}} Then I wait.`, ls, "I look.  Then I wait."},
		{"fenced", "Here:\n```json\n{\"name\": \"run_shell\", \"arguments\": {\"command\": \"ls\"}}\n```\n", ls, "Here:"},
		{"tags", `<tool_call>{"name":"run_shell","arguments":{"command":"ls"}}</tool_call>`, ls, ""},
		{"tags with line breaks", "<tool_call>\n{\"name\":\"run_shell\",\"arguments\":{\"command\":\"ls\"}}\n</tool_call>\n", ls, ""},
		{"no closing tag", `<tool_call>{"name":"run_shell","arguments":{"command":"ls"}}`, ls, ""},
		{"no opening tag", `{"name":"run_shell","arguments":{"command":"ls"}}</tool_call>`, ls, ""},
		{"two tags", `<tool_call>{"name":"run_shell","arguments":{"command":"ls"}}</tool_call>
<tool_call>{"name":"run_shell","arguments":{"command":"ls"}}</tool_call>`, ls + " " + ls, ""},
		{"fence in tags", "<tool_call>\n```json\n{\"name\":\"run_shell\",\"arguments\":{\"command\":\"ls\"}}\n```\n</tool_call>", ls, ""},
		{"python tag", `<|python_tag|>{"name":"run_shell","parameters":{"command":"ls"}}<|eom_id|>`, ls, ""},
		{"mistral", `[TOOL_CALLS] [{"name":"run_shell","arguments":{"command":"ls"}}]`, ls, "[TOOL_CALLS]"},
		{"list", `[{"name":"run_shell","arguments":{"command":"ls"}},{"name":"finish","arguments":{"answer":"x"}}]`, ls + ` finish{"answer":"x"}`, ""},
		{"arguments as a string", `{"name":"run_shell","arguments":"{\"command\":\"ls\"}"}`, ls, ""},
		{"nested function", `{"type":"function","function":{"name":"run_shell","arguments":{"command":"ls"}}}`, ls, ""},
		{"tool_calls", `{"tool_calls":[{"function":{"name":"run_shell","arguments":{"command":"ls"}}}]}`, ls, ""},
		{"action", `{"thought":"look","action":"run_shell","action_input":{"command":"ls"}}`, ls, ""},
		{"flat", `{"tool":"run_shell","command":"ls","thought":"x"}`, ls, ""},
		{"by key", `{"run_shell":{"command":"ls"}}`, ls, ""},
		{"prefix and case", `{"name":"functions.Run_Shell","arguments":{"command":"ls"}}`, ls, ""},
		{"dashes", `{"name":"run-shell","arguments":{"command":"ls"}}`, ls, ""},
		{"xml", "<tool_call>\n<function=run_shell>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", ls, ""},
		{"xml without opening", "<function=run_shell>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", ls, ""},
		{"xml without end of function", "<function=run_shell>\n<parameter=command>ls</parameter>\n</tool_call>", ls, ""},
		{"xml with JSON", `<function=run_shell>{"command":"ls"}</function>`, ls, ""},
		{"xml with quotes", `<function name="run_shell"><parameter name="command">ls</parameter></function>`, ls, ""},
		{"xml code keeps its spaces", "<function=run_code><parameter=code>\nif x:\n    y < 3\n</parameter><parameter=language>python</parameter></function>",
			`run_code{"code":"if x:\n    y \u003c 3","language":"python"}`, ""},
		{"python call", `run_shell(command="ls")`, ls, ""},
		{"python list", `[run_shell(command='ls'), finish(answer="x")]`, ls + ` finish{"answer":"x"}`, ""},
		{"tool_code fence", "```tool_code\nrun_shell(command=\"ls\")\n```", ls, ""},
		{"triple quotes", "run_code(language=\"python\", code=\"\"\"print(\"a\")\nprint(2)\"\"\")", `run_code{"code":"print(\"a\")\nprint(2)","language":"python"}`, ""},
		{"Python dict", `{'name': 'run_shell', 'arguments': {'command': 'ls', 'x': None, 'y': True}}`, `run_shell{"command":"ls","x":null,"y":true}`, ""},
		{"raw line break in a string", "{\"name\":\"run_code\",\"arguments\":{\"language\":\"python\",\"code\":\"a\nb\"}}", `run_code{"code":"a\nb","language":"python"}`, ""},
		{"trailing commas", `{"name":"run_shell","arguments":{"command":"ls",},}`, ls, ""},
		{"bare keys", `{name:"run_shell",arguments:{command:"ls"}}`, ls, ""},
		{"regular expression", `{"name":"run_shell","arguments":{"command":"grep '\d+' x"}}`, `run_shell{"command":"grep '\\d+' x"}`, ""},
		{"unicode", `{"name":"run_shell","arguments":{"command":"\u00fc\ud83c\udffa"}}`, `run_shell{"command":"ü🏺"}`, ""},
		{"no arguments", `<tool_call>{"name":"run_shell"}</tool_call>`, `run_shell{}`, ""},
		{"unknown in tags", `<tool_call>{"name":"google_it","arguments":{"q":1}}</tool_call>`, `google_it{"q":1}`, ""},
	} {
		f := FindCalls(c.text, bench())
		if got := showCalls(f.Calls); got != c.calls || f.Text != c.rest || f.Cut {
			t.Errorf("%s: calls %s, rest %q, cut %v", c.name, got, f.Text, f.Cut)
		}
	}
}

func TestWhatIsNoCall(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "Hello.", `{"name":"Ada","age":36}`, `{"name":"google_it","arguments":{}}`, "x < y and <b>bold</b>",
		"```python\nprint({'name': 'x'})\n```", "Use run_shell to list files.", "prerun_shell(command='ls')",
		"run_shell", "[1, 2, 3]", "{", "[", "<", "`", "```", `{"tool": 7}`, "<tools>", "a\xff{\xfe",
	} {
		f := FindCalls(text, bench())
		if len(f.Calls) != 0 || f.Text != text {
			t.Errorf("%q: %s, text %q", text, showCalls(f.Calls), f.Text)
		}
	}
}

func TestHalfACallIsNeverACall(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{
		`<tool_call>{"name":"run_shell","arguments":{"command":"rm -rf build/tmp"}}</tool_call>`,
		`{"name": "run_shell", "arguments": {"command": "rm -rf build/tmp"}}`,
		"<function=run_shell>\n<parameter=command>\nrm -rf build/tmp\n</parameter>\n</function>",
		`run_shell(command="rm -rf build/tmp")`,
	} {
		for n := range len(whole) {
			for _, call := range FindCalls(whole[:n], bench()).Calls {
				if call.Args["command"] != "rm -rf build/tmp" {
					t.Fatalf("%q gave %s", whole[:n], showCalls([]Call{call}))
				}
			}
		}
	}
	for _, text := range []string{
		"<tool_call>", "<tool_call>run_sh", `<tool_call>{"name":"run_shell","arguments":{"command":"ls`, `{"name":"run_shell","arguments":{"comm`,
		"<function=run_shell>\n<parameter=command>\nls", `run_shell(command="ls`,
	} {
		if f := FindCalls(text, bench()); !f.Cut || len(f.Calls) != 0 {
			t.Errorf("%q: cut %v, %s", text, f.Cut, showCalls(f.Calls))
		}
	}
}

// Text made to be slow must not be.
func TestParserIsNotSlow(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{
		"braces": "{", "brackets": "[", "open strings": `{"a":"`, "tags": "<tool_call>", "functions": "<function=x>", "fences": "```json\n{",
		"tools": `{"run_shell" `, "calls": `run_shell(a="`, "ticks": "```", "parameters": "<function=a><parameter=b>",
	} {
		text := strings.Repeat(unit, 1_000_000/len(unit))
		start := time.Now()
		FindCalls(text, bench())
		// Linear work takes a second here, some under the race detector on a
		// busy machine; quadratic work takes minutes there.
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

func TestCodeBlock(t *testing.T) {
	t.Parallel()
	lang, code, ok := CodeBlock("First:\n```bash\nls\n```\nthen\n```Python\nprint(1)\n\nprint(2)\n```\nDone.")
	if !ok || lang != "python" || code != "print(1)\n\nprint(2)\n" {
		t.Errorf("%q %q %v", lang, code, ok)
	}
	for _, text := range []string{"", "no code", "```\nplain\n```", "```python\nunfinished", "```python"} {
		if _, _, ok := CodeBlock(text); ok {
			t.Errorf("%q has a block", text)
		}
	}
}

func TestThoughtGrowsMonotonically(t *testing.T) {
	t.Parallel()
	const whole = `{"thought": "a \"quoted\" \u00fc word\nand more", "tool": "finish", "args": {"answer": "\"thought\""}}`
	last := ""
	for n := range len(whole) + 1 {
		got := thoughtOf(whole[:n])
		if !strings.HasPrefix(got, last) {
			t.Fatalf("at %d %q is taken back to %q", n, last, got)
		}
		last = got
	}
	if last != "a \"quoted\" ü word\nand more" {
		t.Errorf("ends as %q", last)
	}
}

func TestActionSchemaIsOrderedJSON(t *testing.T) {
	t.Parallel()
	schema := ActionSchema(bench(), 0)
	if tight := string(ActionSchema(bench(), 7)); strings.Count(tight, `"maxLength":7}`) != 7 || !json.Valid([]byte(tight)) {
		t.Errorf("not every text is bounded: %s", tight)
	}
	if !json.Valid(schema) {
		t.Fatalf("not JSON: %s", schema)
	}
	s := string(schema)
	if a, b, c := strings.Index(s, `"thought"`), strings.Index(s, `"tool"`), strings.Index(s, `"args"`); a < 0 || a > b || b > c {
		t.Errorf("the thought must come first: %s", s)
	}
}

func FuzzFindCalls(f *testing.F) {
	for _, s := range []string{
		`<tool_call>{"name":"run_shell","arguments":{"command":"ls"}}</tool_call>`, "```json\n[{\"tool\":\"finish\"}]\n```",
		"<function=run_code><parameter=code>x</parameter></function>", `[run_shell(command='''a'''), finish(answer=1e9)]`,
		`{'name': 'run_shell', "arguments": "{\"command\": \"\ud83c\udffa\"}"}`, `{"tool_calls":[{"function":{"name":"finish"}}]}`,
	} {
		f.Add(s)
	}
	tools := bench()
	f.Fuzz(func(t *testing.T, text string) {
		found := FindCalls(text, tools)
		if len(found.Calls) > 2*maxCalls {
			t.Fatalf("%d calls", len(found.Calls))
		}
		for _, c := range found.Calls {
			if c.Name == "" {
				t.Fatal("a call of nothing")
			}
			if _, err := json.Marshal(c); err != nil {
				t.Fatalf("%#v: %v", c, err)
			}
		}
		if len(found.Calls) == 0 && found.Text != text {
			t.Fatal("text was lost")
		}
		CodeBlock(text)
		thoughtOf(text)
	})
}

func TestSpoken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		"I look.":                         "I look.",
		"I look.\n<tool_call>{":           "I look.\n",
		"I look <tool":                    "I look ",
		"a < b and c":                     "a < b and c",
		"a <":                             "a ",
		"Here:\n```json\n{":               "Here:\n",
		"Here:\n```":                      "Here:\n",
		"Here:\n```python\nprint({})\n":   "Here:\n```python\nprint({})\n",
		`{"name"`:                         "",
		"x = {1: 2}":                      "x = {1: 2}",
		"ok [TOOL_CALLS] [{":              "ok ",
		"see [1] and <b>this</b>, please": "see [1] and <b>this</b>, please",
	} {
		if got := text[:Spoken(text)]; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
