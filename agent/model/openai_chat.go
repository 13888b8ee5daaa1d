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
	var said *refusal
	if !errors.As(err, &said) || said.status/100 != 4 && said.status != http.StatusInternalServerError {
		return false
	}
	text := strings.ToLower(said.param + " " + said.message)
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
	g := gathering{gather: gather{on: on, action: action}, began: time.Now(), calls: map[int]*partCall{}}
	var failed error
	for c, err := range o.stream(ctx, o.body(req, action)) {
		if err != nil {
			failed = err
			break
		}
		g.take(c)
	}
	reply := g.finish(req.Tools)
	switch {
	case ctx.Err() != nil:
		return reply, ctx.Err()
	case failed != nil:
		return reply, o.explain(ctx, req.Model, failed)
	case !g.done:
		return reply, o.died(req.Model, nil)
	}
	on(Chunk{Kind: Used, Usage: reply.Usage})
	return reply, nil
}

// body writes the request.
func (o *OpenAI) body(req Request, action bool) map[string]any {
	messages, limit := req.Messages, "max_tokens"
	if action {
		messages = asActions(messages, req.Tools)
	}
	if !o.has("max_tokens") {
		limit = "max_completion_tokens"
	}
	out := map[string]any{
		"model": req.Model, "stream": true, "messages": wireMessages(messages), limit: or(req.MaxTokens, DefaultMaxTokens),
	}
	add := func(part string, wanted bool, value any) {
		if wanted && o.has(part) {
			out[part] = value
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

// gathering puts a stream of chunks together.
type gathering struct {
	gather
	began, first time.Time
	calls        map[int]*partCall
}

// partCall is a call whose arguments come in pieces.
type partCall struct {
	id, name string
	args     strings.Builder
}

func (g *gathering) take(c chunk) {
	if c.Usage.Total > 0 {
		g.reply.Usage.Prompt, g.reply.Usage.Output = c.Usage.Prompt, c.Usage.Output
	}
	if len(c.Choices) == 0 {
		return
	}
	if g.first.IsZero() {
		g.first = time.Now()
	}
	choice := c.Choices[0]
	g.thought(string(cmp.Or(choice.Delta.Thought, choice.Delta.Reasoning)))
	g.content(string(choice.Delta.Content + choice.Delta.Refusal))
	for _, f := range choice.Delta.Calls {
		g.piece(f)
	}
	if choice.Finish != "" {
		g.done, g.reply.Stop = true, Stopped
		if choice.Finish == "length" {
			g.reply.Stop = Length
		}
	}
}

func (g *gathering) piece(f fragment) {
	p := g.calls[f.Index]
	if p == nil {
		p = &partCall{}
		g.calls[f.Index] = p
	}
	p.id = cmp.Or(p.id, f.ID)
	p.name = cmp.Or(p.name, f.Function.Name)
	p.args.WriteString(f.Function.Arguments)
}

// finish closes the calls; one whose arguments are not whole is no call.
func (g *gathering) finish(tools []Tool) Reply {
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
