package model

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestStreamIsPutTogether(t *testing.T) {
	t.Parallel()
	f := &fake{caps: `["completion","tools","thinking"]`, chat: says(
		thought("let me "), thought("see"), content("I will "), content("run it."),
		toolCalls(`{"id":"c1","function":{"index":0,"name":"run_shell","arguments":{"command":"ls"}}}`),
		toolCalls(`{"id":"c2","function":{"index":1,"name":"run_shell","arguments":{"command":"pwd"}}}`),
		end("stop"))}
	var kinds []ChunkKind
	req := ask(bench()...)
	req.Think = ThinkOn
	r, err := f.start(t).Chat(t.Context(), req, func(c Chunk) { kinds = append(kinds, c.Kind) })
	if err != nil {
		t.Fatal(err)
	}
	if r.Thinking != "let me see" || r.Text != "I will run it." || r.Stop != Stopped || r.Leaked {
		t.Errorf("got %+v", r)
	}
	if got := showCalls(r.Calls); got != `run_shell{"command":"ls"} run_shell{"command":"pwd"}` || r.Calls[1].ID != "c2" {
		t.Errorf("calls: %s", got)
	}
	if r.Usage.Speed() != 20 || r.Usage.Prompt != 11 || r.Usage.Load != 2*time.Millisecond {
		t.Errorf("usage: %+v", r.Usage)
	}
	want := []ChunkKind{Loading, Thinking, Thinking, Text, Text, Calling, Calling, Used}
	if len(kinds) != len(want) {
		t.Fatalf("chunks %v", kinds)
	}
	for i := range want {
		if kinds[i] != want[i] {
			t.Errorf("chunk %d is %v", i, kinds[i])
		}
	}
}

func TestContextIsNeverLostSilently(t *testing.T) {
	t.Parallel()
	f := &fake{chat: says(content("hi"), end("stop"))}
	o := f.start(t)
	for range 2 {
		if _, err := o.Chat(t.Context(), ask(bench()...), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, asked := range f.asked {
		options := asked["options"].(map[string]any)
		if asked["truncate"] != false || asked["shift"] != false || options["num_ctx"] != float64(DefaultWindow) || options["num_predict"] != float64(DefaultMaxTokens) {
			t.Errorf("asked with %v", asked)
		}
		if asked["keep_alive"] != "30m0s" || asked["think"] != nil {
			t.Errorf("keep_alive %v, think %v", asked["keep_alive"], asked["think"])
		}
	}
}

func TestThinkingIsAlwaysSetForThoseWhoThink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		caps, arch string
		think      Think
		tools      bool
		want       any
	}{
		{`["completion","tools"]`, "llama", ThinkOn, true, nil},
		{`["completion","tools","thinking"]`, "qwen3", ThinkOff, true, false},
		{`["completion","tools","thinking"]`, "qwen3", ThinkOn, true, true},
		{`["completion","tools","thinking"]`, "gptoss", ThinkOff, true, "low"},
		{`["completion","tools","thinking"]`, "gptoss", ThinkHigh, true, "high"},
		{`["completion","thinking"]`, "deepseek2", ThinkOn, true, false}, // by grammar
		{`["completion","thinking"]`, "deepseek2", ThinkOn, false, true},
	} {
		f := &fake{caps: c.caps, arch: c.arch, chat: says(content("hi"), end("stop"))}
		req := ask()
		if c.tools {
			req = ask(bench()...)
		}
		req.Think = c.think
		if _, err := f.start(t).Chat(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if got := f.asked[0]["think"]; got != c.want {
			t.Errorf("%s %s %q: think is %v, want %v", c.caps, c.arch, c.think, got, c.want)
		}
	}
}

func TestStructuredAnswersGoWithoutThinking(t *testing.T) {
	t.Parallel()
	f := &fake{caps: `["completion","tools","thinking"]`, chat: says(content("{}"), end("stop"))}
	req := ask()
	req.Schema, req.Think = []byte(`{"type":"object"}`), ThinkOn
	if _, err := f.start(t).Chat(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if f.asked[0]["think"] != false || f.asked[0]["format"] == nil {
		t.Errorf("asked with %v", f.asked[0])
	}
}

func TestModelWithoutToolsGetsAGrammar(t *testing.T) {
	t.Parallel()
	f := &fake{caps: `["completion"]`, chat: says(
		content(`{"thought": "I look`), content(` at the \"fi`), content(`les\"", "tool": "run_shell",`), content(` "args": {"command": "ls"}}`), end("stop"))}
	var shown strings.Builder
	req := ask(bench()...)
	req.Messages = append(req.Messages,
		Message{Role: Assistant, Text: "first", Calls: []Call{{Name: "run_shell", Args: map[string]any{"command": "id"}}}},
		Message{Role: ToolResult, Tool: "run_shell", Text: "root"})
	r, err := f.start(t).Chat(t.Context(), req, func(c Chunk) {
		if c.Kind == Text {
			shown.WriteString(c.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := showCalls(r.Calls); got != `run_shell{"command":"ls"}` || r.Leaked {
		t.Errorf("calls: %s", got)
	}
	if want := `I look at the "files"`; shown.String() != want || r.Text != want {
		t.Errorf("shown %q, text %q", shown.String(), r.Text)
	}
	asked := f.asked[0]
	if asked["tools"] != nil || asked["format"] == nil {
		t.Errorf("asked with %v", asked)
	}
	var roles []string
	for _, m := range asked["messages"].([]any) {
		roles = append(roles, m.(map[string]any)["role"].(string))
	}
	if strings.Join(roles, " ") != "system user assistant user" {
		t.Errorf("roles: %v", roles)
	}
}

func TestServerKnowsBetterThanItsList(t *testing.T) {
	t.Parallel()
	n := 0
	f := &fake{caps: `["completion","tools","thinking"]`, chat: func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			fails(400, "registry/m does not support tools")(w, r)
			return
		}
		lines(w, content(`{"thought":"t","tool":"finish","args":{"answer":"4"}}`), end("stop"))
	}}
	o := f.start(t)
	r, err := o.Chat(t.Context(), ask(bench()...), nil)
	if err != nil || showCalls(r.Calls) != `finish{"answer":"4"}` {
		t.Errorf("got %+v, %v", r, err)
	}
	if caps, _ := o.Capabilities(t.Context(), "m"); caps.Tools {
		t.Error("the answer was not remembered")
	}
}

func TestLeakedCallIsFound(t *testing.T) {
	t.Parallel()
	f := &fake{chat: says(content("Sure.\n<function=run_code>\n<parameter=language>\npython\n</parameter>\n"),
		content("<parameter=code>\nprint(1)\n</parameter>\n</function>\n</tool_call>"), end("stop"))}
	r, err := f.start(t).Chat(t.Context(), ask(bench()...), nil)
	if err != nil || !r.Leaked || r.Text != "Sure." || showCalls(r.Calls) != `run_code{"code":"print(1)","language":"python"}` {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestToolResultsGoBackByName(t *testing.T) {
	t.Parallel()
	f := &fake{chat: says(content("ok"), end("stop"))}
	req := ask(bench()...)
	req.Messages = append(req.Messages,
		Message{Role: Assistant, Thinking: "hm", Calls: []Call{{ID: "c1", Name: "run_shell", Args: map[string]any{"command": "id"}}}},
		Message{Role: ToolResult, Tool: "run_shell", CallID: "c1", Text: "root"})
	if _, err := f.start(t).Chat(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	sent := f.asked[0]["messages"].([]any)
	call, result := sent[2].(map[string]any), sent[3].(map[string]any)
	if call["thinking"] != "hm" || result["tool_name"] != "run_shell" || result["tool_call_id"] != "c1" || result["role"] != "tool" {
		t.Errorf("sent %v and %v", call, result)
	}
	args := call["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)["arguments"]
	if m, ok := args.(map[string]any); !ok || m["command"] != "id" {
		t.Errorf("arguments are %v, want an object", args)
	}
}

// Each way of failing has its kind, one line, and the next command.
func TestErrors(t *testing.T) {
	t.Parallel()
	cut := func(w http.ResponseWriter, _ *http.Request) {
		lines(w, content("half an"))
		panic(http.ErrAbortHandler)
	}
	for _, c := range []struct {
		name    string
		chat    func(http.ResponseWriter, *http.Request)
		kind    Kind
		command string
		retry   bool
	}{
		{"no such model", fails(404, `model "m" not found, try pulling it first`), NoModel, "ollama pull m", false},
		{"queue is full", fails(503, "server busy, please try again.  maximum pending requests exceeded"), Busy, "ollama ps", true},
		{"too long", fails(400, "the input length exceeds the context length"), Overflow, "", false},
		{"too long, in the stream", says(content("a"), `{"error":"the input length exceeds the context length"}`), Overflow, "", false},
		{"no user query", fails(500, "no user query found in messages"), Overflow, "", false},
		{"too large", fails(500, "model requires more system memory (9.1 GiB) than is available (3.2 GiB)"), NoMemory, "ollama ps", false},
		{"runner died", fails(500, "llama runner process has terminated: exit status 2"), Died, "ollama ps", true},
		{"error in the stream", says(content("a"), `{"error":"something odd"}`), Failed, "", false},
		{"bad request", fails(400, "invalid options: num_ctx"), Refused, "", false},
		{"end without done", says(content("half an")), Died, "ollama ps", true},
		{"connection cut", cut, Died, "ollama ps", true},
		{"cut inside a line", says(content("a"), `{"model":"m","message":{"role":"assi`), Died, "ollama ps", true},
		{"nothing at all", says(), Died, "ollama ps", true},
		{"empty lines", says("", ""), Died, "ollama ps", true},
		{"only loaded", says(end("load")), Died, "ollama ps", true},
		{"ended for no reason", says(end("")), Died, "ollama ps", true},
		{"unloaded", says(end("unload")), Died, "ollama ps", true},
		{"a web page", says("<html><body>hello</body></html>"), Refused, "", false},
		{"another shape", says(`{"message":5}`), Refused, "", false},
		{"sign in", fails(401, "unauthorized"), Refused, "ollama signin", false},
	} {
		_, err := (&fake{chat: c.chat}).start(t).Chat(t.Context(), ask(), nil)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if e.Kind != c.kind || e.Command != c.command || e.Retry() != c.retry || strings.Contains(e.Error(), "\n") {
			t.Errorf("%s: %s, %q, retry %v: %s", c.name, e.Kind, e.Command, e.Retry(), e)
		}
	}
}

func TestWhatCameBeforeAnErrorIsKept(t *testing.T) {
	t.Parallel()
	r, err := (&fake{chat: says(thought("so"), content("half an"))}).start(t).Chat(t.Context(), ask(), nil)
	if err == nil || r.Text != "half an" || r.Thinking != "so" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	stranger := NewOllama(srv.URL, nil)
	_, err := stranger.Models(t.Context())
	wantKind(t, err, Refused, "")
	_, err = stranger.Chat(t.Context(), ask(), nil)
	wantKind(t, err, Refused, "")
	srv.Close()
	gone := NewOllama(srv.URL, nil)
	_, err = gone.Models(t.Context())
	wantKind(t, err, Absent, "ollama serve")
	_, err = gone.Chat(t.Context(), ask(), nil)
	wantKind(t, err, Absent, "ollama serve")
	wantKind(t, gone.Pull(t.Context(), "m", nil), Absent, "ollama serve")
}

func wantKind(t *testing.T, err error, kind Kind, command string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind || e.Command != command {
		t.Errorf("got %v, want %s and %q", err, kind, command)
	}
}

func TestCancelClosesTheConnection(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	f := &fake{chat: func(w http.ResponseWriter, r *http.Request) {
		lines(w, content("one"))
		<-r.Context().Done()
		close(gone)
	}}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := f.start(t).Chat(ctx, ask(), func(c Chunk) {
		if c.Kind == Text {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || r.Text != "one" {
		t.Errorf("got %+v, %v", r, err)
	}
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the server still works on it")
	}
}

func TestSlowFirstTokenIsWaitedFor(t *testing.T) {
	t.Parallel()
	loading := make(chan struct{})
	f := &fake{chat: func(w http.ResponseWriter, _ *http.Request) {
		<-loading
		lines(w, content("awake"), end("stop"))
	}}
	r, err := f.start(t).Chat(t.Context(), ask(), func(c Chunk) {
		if c.Kind == Loading {
			close(loading)
		}
	})
	if err != nil || r.Text != "awake" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestLengthIsNotAnEnd(t *testing.T) {
	t.Parallel()
	f := &fake{chat: says(content(`<tool_call>{"name":"run_shell","arguments":{"command":"rm -rf build`), end("length"))}
	r, err := f.start(t).Chat(t.Context(), ask(bench()...), nil)
	if err != nil || r.Stop != Length || !r.Cut || len(r.Calls) != 0 {
		t.Errorf("half a call must not be a call: %+v, %v", r, err)
	}
	full := ask()
	full.Window = 32
	_, err = f.start(t).Chat(t.Context(), full, nil)
	wantKind(t, err, Overflow, "")
}

func TestCapabilitiesComeFromTheServer(t *testing.T) {
	t.Parallel()
	f := &fake{arch: "qwen3", info: `,"qwen3.context_length":40960,"qwen3.block_count":36,"qwen3.attention.head_count":32,
		"qwen3.attention.head_count_kv":8,"qwen3.attention.key_length":128,"qwen3.attention.value_length":128`}
	caps, err := f.start(t).Capabilities(t.Context(), "m")
	want := Caps{Tools: true, Context: 40960, TokenBytes: 2 * 36 * 8 * 256, Size: 1000}
	if err != nil || caps != want {
		t.Errorf("got %+v, %v", caps, err)
	}
}

func TestWindowFollowsTheMachine(t *testing.T) {
	t.Parallel()
	caps := Caps{Context: 40960, TokenBytes: 147456, Size: 2500 << 20}
	for gib, want := range map[int64]int{4: 4096, 6: 8192, 8: 16384, 16: 32768, 64: 32768} {
		if got := caps.Window(gib << 30); got != want {
			t.Errorf("%d GiB: %d, want %d", gib, got, want)
		}
	}
	if got := (Caps{Context: 2048, TokenBytes: 1}).Window(64 << 30); got != 2048 {
		t.Errorf("a model made for 2048 got %d", got)
	}
	if got := (Caps{}).Window(64 << 30); got != DefaultWindow {
		t.Errorf("an unknown model got %d", got)
	}
}

func TestPull(t *testing.T) {
	t.Parallel()
	f := &fake{pull: []string{
		`{"status":"pulling manifest"}`,
		`{"status":"pulling a","digest":"sha256:a","total":100,"completed":10}`,
		`{"status":"pulling b","digest":"sha256:b","total":50,"completed":50}`,
		`{"status":"pulling a","digest":"sha256:a","total":100,"completed":100}`,
		`{"status":"success"}`}}
	var last Progress
	if err := f.start(t).Pull(t.Context(), "m", func(p Progress) { last = p }); err != nil {
		t.Fatal(err)
	}
	if last != (Progress{"success", 150, 150}) {
		t.Errorf("got %+v", last)
	}
	wantKind(t, (&fake{pull: f.pull[:3]}).start(t).Pull(t.Context(), "m", nil), Died, "ollama pull m")
	broken := &fake{pull: []string{f.pull[0], `{"error":"pull model manifest: file does not exist"}`}}
	wantKind(t, broken.start(t).Pull(t.Context(), "nope", nil), NoModel, "ollama list")
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	got, err := (&fake{}).start(t).Models(t.Context())
	if err != nil || len(got) != 1 || got[0] != (Info{"m:latest", 1000, "1B", "Q4_0"}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestHostURL(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                          "http://127.0.0.1:11434",
		"0.0.0.0":                   "http://127.0.0.1:11434",
		"0.0.0.0:8080":              "http://127.0.0.1:8080",
		"[::]:8080":                 "http://127.0.0.1:8080",
		":1234":                     "http://127.0.0.1:1234",
		"example.test":              "http://example.test:11434",
		"http://example.test":       "http://example.test:80",
		"https://example.test":      "https://example.test:443",
		"https://example.test/a/b/": "https://example.test:443/a/b",
		" 'example.test:9' ":        "http://example.test:9",
		"[::1]":                     "http://[::1]:11434",
	} {
		if got := HostURL(value).String(); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}
