package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// fake is a server that speaks Ollama's shapes. A test says how it answers a
// chat; it keeps what it was asked.
type fake struct {
	caps string // JSON list
	arch string
	info string // further members of model_info
	chat func(w http.ResponseWriter, r *http.Request)
	pull []string

	mu    sync.Mutex
	asked []map[string]any
}

func (f *fake) start(t *testing.T) *Ollama {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return NewOllama(srv.URL, nil)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/show":
		fmt.Fprintf(w, `{"capabilities":%s,"model_info":{"general.architecture":%q%s}}`, or2(f.caps, `["completion","tools"]`), or2(f.arch, "llama"), f.info)
	case "/api/tags":
		io.WriteString(w, `{"models":[{"name":"m:latest","size":1000,"details":{"parameter_size":"1B","quantization_level":"Q4_0"}}]}`)
	case "/api/pull":
		lines(w, f.pull...)
	case "/api/chat":
		body, _ := io.ReadAll(r.Body)
		var asked map[string]any
		json.Unmarshal(body, &asked)
		f.mu.Lock()
		f.asked = append(f.asked, asked)
		f.mu.Unlock()
		f.chat(w, r)
	default:
		http.NotFound(w, r)
	}
}

func or2(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// lines writes a stream, one object a line, as it goes.
func lines(w http.ResponseWriter, lines ...string) {
	for _, line := range lines {
		io.WriteString(w, line+"\n")
		w.(http.Flusher).Flush()
	}
}

// says answers each chat with the same lines.
func says(list ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { lines(w, list...) }
}

// fails answers with a status and an error.
func fails(status int, text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":%q}`, text)
	}
}

// Pieces of streams.
func content(text string) string { return message(`"content":` + quote(text)) }
func thought(text string) string {
	return message(`"content":"","thinking":` + quote(text))
}
func toolCalls(list string) string { return message(`"content":"","tool_calls":[` + list + `]`) }
func message(fields string) string {
	return `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant",` + fields + `},"done":false}`
}
func end(reason string) string {
	return `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"` + reason +
		`","total_duration":5,"load_duration":2000000,"prompt_eval_count":11,"prompt_eval_duration":3,"eval_count":20,"eval_duration":1000000000}`
}

// bench are tools like the real ones.
func bench() []Tool {
	return []Tool{
		{Name: "run_code", Description: "Run code.", Params: json.RawMessage(`{"type":"object","properties":{"language":{"type":"string"},"code":{"type":"string"}},"required":["language","code"]}`)},
		{Name: "run_shell", Description: "Run a command.", Params: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
		{Name: "finish", Description: "Give the answer.", Params: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`)},
	}
}

func ask(tools ...Tool) Request {
	return Request{Model: "m", Tools: tools, Messages: []Message{{Role: System, Text: "Be brief."}, {Role: User, Text: "hello"}}}
}

// show writes calls in a comparable way.
func showCalls(calls []Call) string {
	var out []string
	for _, c := range calls {
		args, _ := json.Marshal(c.Args)
		out = append(out, c.Name+string(args))
	}
	return strings.Join(out, " ")
}
