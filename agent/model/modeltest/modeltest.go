// Package modeltest plays models for tests: replies written in TOML, given by a
// script provider or by a server that speaks Ollama's shapes.
//
// It is for tests only; nothing that ships imports it.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"kintsugi/agent/model"
)

// Reply is one scripted reply as a file has it.
type Reply struct {
	Thinking string
	Text     string
	Tool     string
	Args     map[string]any
	// When, a regular expression, must match what the model was told last;
	// else a Player passes the reply over.
	When string
	// Read and Wrote are the tokens that the server counts; 0 means a guess.
	Read, Wrote int
}

// Replies reads the tables [[reply]] of a TOML text.
func Replies(text string) ([]Reply, error) {
	var file struct{ Reply []Reply }
	meta, err := toml.Decode(text, &file)
	if err != nil {
		return nil, err
	}
	if rest := meta.Undecoded(); len(rest) > 0 {
		return nil, fmt.Errorf("unknown key %s", rest[0])
	}
	return file.Reply, nil
}

// Scripted makes the reply one of a script provider.
func (r Reply) Scripted() model.Scripted {
	s := model.Scripted{Thinking: r.Thinking, Text: r.Text, Usage: model.Usage{Prompt: r.Read, Output: r.Wrote}}
	if r.Tool != "" {
		s.Calls = []model.Call{{Name: r.Tool, Args: r.Args}}
	}
	return s
}

// Server is a server of one model called Name that gives its Replies in turn,
// then says that it has none left. It is an http.Handler.
type Server struct {
	Name    string
	Replies []Reply
	// Caps are what it claims; nil means completion and tools.
	Caps []string

	mu    sync.Mutex
	next  int
	asked []json.RawMessage
}

// Asked are the bodies of the chats so far.
func (s *Server) Asked() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]json.RawMessage{}, s.asked...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/tags":
		s.write(w, map[string]any{"models": []any{map[string]any{"name": s.Name, "size": 1 << 28, "details": map[string]any{"parameter_size": "1B"}}}})
	case "/api/show":
		s.show(w, r)
	case "/api/chat":
		s.chat(w, r)
	case "/api/pull":
		s.pull(w, r)
	case "/api/version":
		s.write(w, map[string]any{"version": "0.0.0-test"})
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) write(w io.Writer, v any) {
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Model string }
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || ask.Model != s.Name {
		w.WriteHeader(http.StatusNotFound)
		s.write(w, map[string]any{"error": fmt.Sprintf("model '%s' not found", ask.Model)})
		return
	}
	caps := s.Caps
	if caps == nil {
		caps = []string{"completion", "tools"}
	}
	s.write(w, map[string]any{"capabilities": caps, "model_info": map[string]any{"general.architecture": "test", "test.context_length": 8192}})
}

// pull plays the download of any model but one called no-such-model.
func (s *Server) pull(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Model string }
	_ = json.NewDecoder(r.Body).Decode(&ask)
	s.write(w, map[string]any{"status": "pulling manifest"})
	if ask.Model == "no-such-model" {
		s.write(w, map[string]any{"error": "pull model manifest: file does not exist"})
		return
	}
	for _, done := range []int64{0, 40e6, 100e6} {
		s.write(w, map[string]any{"status": "pulling a1", "digest": "a1", "completed": done, "total": int64(100e6)})
	}
	s.write(w, map[string]any{"status": "verifying", "digest": "a1", "completed": int64(100e6), "total": int64(100e6)})
	s.write(w, map[string]any{"status": "success"})
}

func (s *Server) take(body []byte) (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, body)
	if s.next >= len(s.Replies) {
		return Reply{}, false
	}
	s.next++
	return s.Replies[s.next-1], true
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	reply, ok := s.take(body)
	if !ok {
		w.WriteHeader(http.StatusInternalServerError)
		s.write(w, map[string]any{"error": "the script has no reply left"})
		return
	}
	for _, word := range strings.SplitAfter(reply.Thinking, " ") {
		s.piece(w, map[string]any{"thinking": word}, word != "")
	}
	for _, word := range strings.SplitAfter(reply.Text, " ") {
		s.piece(w, map[string]any{"content": word}, word != "")
	}
	if reply.Tool != "" {
		call := map[string]any{"function": map[string]any{"name": reply.Tool, "arguments": reply.Args}}
		s.piece(w, map[string]any{"tool_calls": []any{call}}, true)
	}
	s.write(w, map[string]any{
		"model": s.Name, "message": map[string]any{"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
		"prompt_eval_count": max(reply.Read, len(body)/4), "eval_count": max(reply.Wrote, 20), "eval_duration": 1_000_000_000,
	})
}

func (s *Server) piece(w http.ResponseWriter, message map[string]any, say bool) {
	if !say {
		return
	}
	message["role"] = "assistant"
	if message["content"] == nil {
		message["content"] = ""
	}
	s.write(w, map[string]any{"model": s.Name, "message": message, "done": false})
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
