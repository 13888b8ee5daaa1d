package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// optional are the parts of a request that some servers refuse, by the words
// that their refusals hold.
var optional = [...]string{"tools", "response_format", "chat_template_kwargs", "max_tokens", "stream_options", "temperature"}

// Chat implements Provider.
func (o *OpenAI) Chat(ctx context.Context, req Request, on func(Chunk)) (Reply, error) {
	if on == nil {
		on = func(Chunk) {}
	}
	if _, err := o.Capabilities(ctx, req.Model); err != nil {
		return Reply{}, err
	}
	for {
		reply, err := o.chat(ctx, req, on)
		switch caps, _ := o.known(req.Model); {
		case o.refused(req.Model, err):
		case err == nil && endless(req, caps, reply):
			req.Schema = ActionSchema(req.Tools, textBound(req))
			on = silently(on)
		default:
			return clip(req, reply), err
		}
	}
}

// refused notes which optional part of the request the server does not take;
// true means that the request can be made without it.
func (o *OpenAI) refused(model string, err error) bool {
	var status *openai.Error
	if !errors.As(err, &status) || status.StatusCode/100 != 4 && status.StatusCode != http.StatusInternalServerError {
		return false
	}
	text := strings.ToLower(status.Param + " " + status.Message)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, part := range optional {
		if o.lacks[part] || !strings.Contains(text, part) && (part != "tools" || !strings.Contains(text, "tool use")) {
			continue
		}
		o.lacks[part] = true
		if part == "tools" {
			caps := o.caps[model]
			caps.Tools = false
			o.caps[model] = caps
		}
		return true
	}
	return false
}

func (o *OpenAI) has(part string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.lacks[part]
}

// chat makes one request.
func (o *OpenAI) chat(ctx context.Context, req Request, on func(Chunk)) (Reply, error) {
	caps, _ := o.known(req.Model)
	action := len(req.Tools) > 0 && !caps.Tools
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	on(Chunk{Kind: Loading})
	s := o.client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{Model: req.Model}, o.parts(req, action)...)
	defer s.Close()
	g := sse{gather: gather{on: on, action: action}, began: time.Now(), calls: map[int64]*partCall{}}
	for s.Next() {
		g.take(s.Current())
	}
	reply := g.finish(req.Tools)
	switch err := s.Err(); {
	case ctx.Err() != nil:
		return reply, ctx.Err()
	case err != nil:
		return reply, o.explain(ctx, req.Model, err)
	case !g.done:
		return reply, o.died(req.Model, nil)
	}
	on(Chunk{Kind: Used, Usage: reply.Usage})
	return reply, nil
}

// parts writes the request. They are set as JSON because the order of a
// schema's members matters to a grammar.
func (o *OpenAI) parts(req Request, action bool) []option.RequestOption {
	messages, limit := req.Messages, "max_tokens"
	if action {
		messages = asActions(messages, req.Tools)
	}
	if !o.has("max_tokens") {
		limit = "max_completion_tokens"
	}
	out := []option.RequestOption{
		option.WithJSONSet("messages", wireMessages(messages)),
		option.WithJSONSet(limit, or(req.MaxTokens, DefaultMaxTokens)),
	}
	add := func(part string, wanted bool, value any) {
		if wanted && o.has(part) {
			out = append(out, option.WithJSONSet(part, value))
		}
	}
	add("stream_options", true, map[string]any{"include_usage": true})
	add("temperature", req.Temperature != nil, req.Temperature)
	add("chat_template_kwargs", true, map[string]any{"enable_thinking": req.Think != ThinkOff && !action && len(req.Schema) == 0})
	add("tools", len(req.Tools) > 0 && !action, wireTools(req.Tools))
	schema := req.Schema
	if action && len(schema) == 0 {
		schema = ActionSchema(req.Tools, 0)
	}
	add("response_format", len(schema) > 0, map[string]any{
		"type": "json_schema", "json_schema": map[string]any{"name": "action", "schema": schema},
	})
	return out
}

func wireTools(tools []Tool) []any {
	var out []any
	for _, t := range tools {
		out = append(out, map[string]any{"type": "function", "function": map[string]any{
			"name": t.Name, "description": t.Description, "parameters": t.Params,
		}})
	}
	return out
}

// wireMessage is a message as it goes over the wire.
type wireMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
	CallID    string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// wireMessages gives each call an id, since results name them, and each result
// the id of its call.
func wireMessages(messages []Message) []wireMessage {
	var out []wireMessage
	var open []string
	for i, m := range messages {
		w := wireMessage{Role: string(m.Role), Content: m.Text}
		for j, c := range m.Calls {
			call := wireCall{ID: cmp.Or(c.ID, fmt.Sprintf("call_%d_%d", i, j)), Type: "function"}
			args, err := json.Marshal(c.Args)
			if err != nil || len(c.Args) == 0 {
				args = []byte("{}")
			}
			call.Function.Name, call.Function.Arguments = c.Name, string(args)
			w.ToolCalls = append(w.ToolCalls, call)
			open = append(open, call.ID)
		}
		if m.Role == ToolResult {
			w.CallID = m.CallID
			if w.CallID == "" && len(open) > 0 {
				w.CallID = open[0]
			}
			open = slices.DeleteFunc(open, func(id string) bool { return id == w.CallID })
		}
		out = append(out, w)
	}
	return out
}

// sse puts a stream of chunks together.
type sse struct {
	gather
	began, first time.Time
	calls        map[int64]*partCall
}

// partCall is a call whose arguments come in pieces.
type partCall struct {
	id, name string
	args     strings.Builder
}

func (g *sse) take(c openai.ChatCompletionChunk) {
	if c.Usage.TotalTokens > 0 {
		g.reply.Usage.Prompt, g.reply.Usage.Output = int(c.Usage.PromptTokens), int(c.Usage.CompletionTokens)
	}
	if len(c.Choices) == 0 {
		return
	}
	if g.first.IsZero() {
		g.first = time.Now()
	}
	choice := c.Choices[0]
	g.thought(reasoningIn(choice.Delta.RawJSON()))
	g.content(choice.Delta.Content + choice.Delta.Refusal)
	for _, d := range choice.Delta.ToolCalls {
		g.piece(d)
	}
	if choice.FinishReason != "" {
		g.done, g.reply.Stop = true, Stopped
		if choice.FinishReason == "length" {
			g.reply.Stop = Length
		}
	}
}

// reasoningIn finds thought in a delta; servers have two names for it.
func reasoningIn(raw string) string {
	var d struct {
		Content   string `json:"reasoning_content"`
		Reasoning string `json:"reasoning"`
	}
	if json.Unmarshal([]byte(raw), &d) != nil {
		return ""
	}
	return cmp.Or(d.Content, d.Reasoning)
}

func (g *sse) piece(d openai.ChatCompletionChunkChoiceDeltaToolCall) {
	p := g.calls[d.Index]
	if p == nil {
		p = &partCall{}
		g.calls[d.Index] = p
	}
	p.id = cmp.Or(p.id, d.ID)
	p.name = cmp.Or(p.name, d.Function.Name)
	p.args.WriteString(d.Function.Arguments)
}

// finish closes the calls; one whose arguments are not whole is no call.
func (g *sse) finish(tools []Tool) Reply {
	broken := false
	for _, i := range slices.Sorted(maps.Keys(g.calls)) {
		p := g.calls[i]
		text := cmp.Or(strings.TrimSpace(p.args.String()), "{}")
		r := reader{s: text}
		v, whole := r.value(0)
		args, isObject := v.(map[string]any)
		if !whole || !isObject || p.name == "" {
			broken = true
			continue
		}
		g.call(Call{ID: p.id, Name: p.name, Args: args})
	}
	end := time.Now()
	if !g.first.IsZero() {
		g.reply.Usage.Read, g.reply.Usage.Write = g.first.Sub(g.began), end.Sub(g.first)
	}
	reply := g.gather.finish(tools)
	reply.Cut = reply.Cut || broken && len(reply.Calls) == 0
	return reply
}
