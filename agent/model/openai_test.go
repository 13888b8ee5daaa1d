package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// fakeOpenAI answers each chat with the next of its answers, the last one over
// and over.
type fakeOpenAI struct {
	models  string
	answers []http.HandlerFunc

	mu    sync.Mutex
	asked []map[string]any
	raw   []string
	keys  []string
}

func (f *fakeOpenAI) start(t *testing.T) *OpenAI {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return NewOpenAI(srv.URL+"/v1", "", nil)
}

func (f *fakeOpenAI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/v1/models":
		io.WriteString(w, or2(f.models, `{"object":"list","data":[{"id":"m","object":"model"}]}`))
	case "/v1/chat/completions":
		body, _ := io.ReadAll(r.Body)
		var asked map[string]any
		json.Unmarshal(body, &asked)
		f.mu.Lock()
		n := min(len(f.asked), len(f.answers)-1)
		f.asked, f.raw, f.keys = append(f.asked, asked), append(f.raw, string(body)), append(f.keys, r.Header.Get("Authorization"))
		f.mu.Unlock()
		f.answers[n](w, r)
	default:
		http.NotFound(w, r)
	}
}

// streams answers with server-sent events.
func streams(chunks ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range chunks {
			fmt.Fprintf(w, "data: %s\n\n", c)
			w.(http.Flusher).Flush()
		}
	}
}

func delta(fields string) string {
	return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{` + fields + `},"finish_reason":null}]}`
}

func done(reason string) string {
	return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

const spent = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`

func refuses(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestOpenAIStreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		chunks []string
		want   Reply
		calls  string
	}{
		{"text", []string{delta(`"role":"assistant","content":""`), delta(`"content":"Hel"`), delta(`"content":"lo"`), done("stop"), spent, "[DONE]"}, Reply{Text: "Hello", Stop: Stopped}, ""},
		{"thinking of llama.cpp", []string{delta(`"reasoning_content":"Hm"`), delta(`"content":"4"`), done("stop"), "[DONE]"}, Reply{Thinking: "Hm", Text: "4", Stop: Stopped}, ""},
		{"thinking of others", []string{delta(`"reasoning":"Hm"`), delta(`"content":"4"`), done("stop"), "[DONE]"}, Reply{Thinking: "Hm", Text: "4", Stop: Stopped}, ""},
		{"thinking in tags", []string{delta(`"content":"<think>Hm</think>4"`), done("stop"), "[DONE]"}, Reply{Thinking: "Hm", Text: "4", Stop: Stopped}, ""},
		{"a call in pieces", []string{
			delta(`"tool_calls":[{"index":0,"id":"a1","type":"function","function":{"name":"run_shell","arguments":""}}]`),
			delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"comm"}}]`), delta(`"tool_calls":[{"index":0,"function":{"arguments":"and\":\"ls\"}"}}]`),
			done("tool_calls"), "[DONE]",
		}, Reply{Stop: Stopped}, `run_shell{"command":"ls"}`},
		{"two calls", []string{
			delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"run_shell","arguments":"{\"command\":\"ls\"}"}},{"index":1,"id":"b","type":"function","function":{"name":"finish","arguments":"{}"}}]`),
			done("tool_calls"), "[DONE]",
		}, Reply{Stop: Stopped}, `run_shell{"command":"ls"} finish{}`},
		{"a leaked call", []string{delta(`"content":"<tool_call>{\"name\":\"run_shell\",\"arguments\":{\"command\":\"ls\"}}</tool_call>"`), done("stop"), "[DONE]"}, Reply{Stop: Stopped, Leaked: true}, `run_shell{"command":"ls"}`},
		{"a call cut off", []string{delta(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"run_shell","arguments":"{\"comm"}}]`), done("length"), "[DONE]"}, Reply{Stop: Length, Cut: true}, ""},
		{"no last word", []string{delta(`"content":"Hi"`), done("stop")}, Reply{Text: "Hi", Stop: Stopped}, ""},
		{"a refusal", []string{delta(`"refusal":"No."`), done("stop"), "[DONE]"}, Reply{Text: "No.", Stop: Stopped}, ""},
	} {
		f := &fakeOpenAI{answers: []http.HandlerFunc{streams(c.chunks...)}}
		r, err := f.start(t).Chat(t.Context(), ask(bench()...), nil)
		if err != nil || r.Text != c.want.Text || r.Thinking != c.want.Thinking || r.Stop != c.want.Stop || r.Cut != c.want.Cut || r.Leaked != c.want.Leaked || showCalls(r.Calls) != c.calls {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
		if c.name == "text" && (r.Usage.Prompt != 11 || r.Usage.Output != 7) {
			t.Errorf("usage %+v", r.Usage)
		}
	}
}

func TestOpenAIErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   Kind
	}{
		"no key":         {refuses(401, `{"error":{"message":"Incorrect API key provided"}}`), Refused},
		"no model":       {refuses(404, `{"error":{"message":"The model m does not exist"}}`), NoModel},
		"no such path":   {refuses(404, `nothing here`), Refused},
		"too many":       {refuses(429, `{"error":{"message":"Rate limit reached"}}`), Busy},
		"still loading":  {refuses(503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`), Busy},
		"too long":       {refuses(400, `{"error":{"message":"This model's maximum context length is 4096 tokens"}}`), Overflow},
		"too long here":  {refuses(400, `{"error":{"message":"request (9000 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}`), Overflow},
		"a bad request":  {refuses(400, `{"error":{"message":"messages must not be empty"}}`), Refused},
		"broken":         {refuses(500, `{"error":{"message":"boom"}}`), Failed},
		"a string":       {refuses(500, `{"error":"boom"}`), Failed},
		"in the stream":  {streams(delta(`"content":"Ha"`), `{"error":{"message":"out of memory","code":500}}`), NoMemory},
		"no end":         {streams(delta(`"content":"Ha"`)), Died},
		"nothing at all": {streams(), Died},
		"cut off":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Died},
	} {
		f := &fakeOpenAI{answers: []http.HandlerFunc{c.answer}}
		_, err := f.start(t).Chat(t.Context(), ask(bench()...), nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != c.kind || strings.Contains(e.Error(), "\n") {
			t.Errorf("%s: %v, want kind %s", name, err, c.kind)
		}
	}
	gone := NewOpenAI("http://127.0.0.1:1/v1", "", nil)
	if _, err := gone.Chat(t.Context(), ask(), nil); !strings.Contains(fmt.Sprint(err), "no OpenAI-compatible server answers at http://127.0.0.1:1/v1") {
		t.Errorf("gone: %v", err)
	}
}

// A server that refuses part of a request gets it without that part, and is
// never bothered with it again.
func TestOpenAILearnsWhatAServerLacks(t *testing.T) {
	t.Parallel()
	action := streams(delta(`"content":"{\"thought\":\"I look.\",\"tool\":\"run_shell\",\"args\":{\"command\":\"ls\"}}"`), done("stop"), "[DONE]")
	f := &fakeOpenAI{answers: []http.HandlerFunc{
		refuses(400, `{"error":{"message":"Unrecognized request argument supplied: chat_template_kwargs"}}`),
		refuses(400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}`),
		refuses(500, `{"error":{"message":"tools param requires --jinja flag"}}`),
		refuses(400, `{"error":{"message":"response_format is not supported"}}`),
		action,
	}}
	o := f.start(t)
	for range 2 {
		r, err := o.Chat(t.Context(), ask(bench()...), nil)
		if err != nil || showCalls(r.Calls) != `run_shell{"command":"ls"}` || r.Text != "I look." {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if len(f.asked) != 6 {
		t.Fatalf("asked %d times, want 5 and 1", len(f.asked))
	}
	last := f.asked[5]
	for _, part := range []string{"chat_template_kwargs", "max_tokens", "tools", "response_format"} {
		if _, there := last[part]; there {
			t.Errorf("%s is still sent", part)
		}
	}
	if last["max_completion_tokens"] == nil || !strings.Contains(f.raw[5], "Answer with one JSON object") {
		t.Errorf("sent %s", f.raw[5])
	}
}

func TestOpenAIRequestsKeepTheOrderOfSchemas(t *testing.T) {
	t.Parallel()
	f := &fakeOpenAI{answers: []http.HandlerFunc{refuses(400, `{"error":{"message":"tools are not supported"}}`), streams(delta(`"content":"{}"`), done("stop"), "[DONE]")}}
	if _, err := f.start(t).Chat(t.Context(), ask(bench()...), nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(f.raw[0], `"properties":{"language":{"type":"string"},"code"`) {
		t.Errorf("tools: %s", f.raw[0])
	}
	i := strings.Index(f.raw[1], `"response_format"`)
	if s := f.raw[1][max(i, 0):]; i < 0 || strings.Index(s, `"thought"`) > strings.Index(s, `"args"`) {
		t.Errorf("action: %s", f.raw[1])
	}
	if f.keys[0] != "Bearer none" {
		t.Errorf("key %q", f.keys[0])
	}
}

// Results name their calls, even when the model gave no ids.
func TestOpenAIPairsCallsAndResults(t *testing.T) {
	t.Parallel()
	got := wireMessages([]Message{
		{Role: User, Text: "x"},
		{Role: Assistant, Calls: []Call{{Name: "a"}, {Name: "b", ID: "mine", Args: map[string]any{"k": "v"}}}},
		{Role: ToolResult, Tool: "a", Text: "1"}, {Role: ToolResult, Tool: "b", CallID: "mine", Text: "2"},
	})
	raw, _ := json.Marshal(got)
	want := `[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"id":"call_1_0","type":"function","function":{"name":"a","arguments":"{}"}},` +
		`{"id":"mine","type":"function","function":{"name":"b","arguments":"{\"k\":\"v\"}"}}]},{"role":"tool","content":"1","tool_call_id":"call_1_0"},{"role":"tool","content":"2","tool_call_id":"mine"}]`
	if string(raw) != want {
		t.Errorf("got %s", raw)
	}
}

func TestOpenAICapabilities(t *testing.T) {
	t.Parallel()
	f := &fakeOpenAI{models: `{"object":"list","data":[{"id":"vllm","max_model_len":8192},{"id":"cpp","meta":{"n_ctx_train":131072,"n_ctx":4096}},{"id":"router","context_length":200000,"supported_parameters":["temperature"]},{"id":"plain"}]}`}
	o := f.start(t)
	for name, want := range map[string]struct {
		window int
		tools  bool
	}{"vllm": {8192, true}, "cpp": {4096, true}, "router": {32768, false}, "plain": {8192, true}} {
		caps, err := o.Capabilities(t.Context(), name)
		if err != nil || caps.Window(8<<30) != want.window || caps.Tools != want.tools {
			t.Errorf("%s: %+v, window %d, %v", name, caps, caps.Window(8<<30), err)
		}
	}
	if _, err := o.Capabilities(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), "does not have other") {
		t.Errorf("unknown model: %v", err)
	}
	if err := o.Pull(t.Context(), "x", nil); err == nil {
		t.Error("a pull that does nothing must say so")
	}
}

func TestOpenAICancel(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	f := &fakeOpenAI{answers: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		streams(delta(`"content":"Ha"`))(w, r)
		<-r.Context().Done()
		close(gone)
	}}}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := f.start(t).Chat(ctx, ask(), func(c Chunk) {
		if c.Kind == Text {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || r.Text != "Ha" {
		t.Errorf("%+v, %v", r, err)
	}
	<-gone
}

func TestOpenAIEndlessActionIsBounded(t *testing.T) {
	t.Parallel()
	open := streams(delta(`"content":"{\"thought\":\"x\",\"tool\":\"run_shell\",\"args\":{\"command\":\"aaaa"`), done("length"), "[DONE]")
	full := `{\"thought\":\"x\",\"tool\":\"run_shell\",\"args\":{\"command\":\"` + strings.Repeat("a", textBound(Request{})) + `\"}}`
	f := &fakeOpenAI{answers: []http.HandlerFunc{
		refuses(400, `{"error":{"message":"tools are not supported"}}`), open, streams(delta(`"content":"`+full+`"`), done("stop"), "[DONE]"),
	}}
	r, err := f.start(t).Chat(t.Context(), ask(bench()...), nil)
	if err != nil || len(r.Calls) != 1 || !r.Calls[0].Clipped || !strings.Contains(f.raw[2], `"maxLength":999}`) {
		t.Errorf("%+v, %v", r, err)
	}
}
