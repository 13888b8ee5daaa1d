package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ollama/ollama/api"
)

// Chat implements Provider.
func (o *Ollama) Chat(ctx context.Context, req Request, on func(Chunk)) (Reply, error) {
	if on == nil {
		on = func(Chunk) {}
	}
	caps, err := o.Capabilities(ctx, req.Model)
	if err != nil {
		return Reply{}, err
	}
	reply, err := o.chat(ctx, req, caps, on)
	if fixed, ok := lessCaps(caps, err); ok {
		// The server knows better than its own list of capabilities.
		o.keep(req.Model, fixed)
		caps = fixed
		reply, err = o.chat(ctx, req, caps, on)
	}
	if err == nil && endless(req, caps, reply) {
		before := reply.Usage
		req.Schema = ActionSchema(req.Tools, textBound(req))
		reply, err = o.chat(ctx, req, caps, silently(on))
		reply.Usage.Output += before.Output
		reply.Usage.Write += before.Write
	}
	return clip(req, reply), err
}

// lessCaps takes away what the server said that the model cannot do.
func lessCaps(caps Caps, err error) (Caps, bool) {
	var status api.StatusError
	if !errors.As(err, &status) || status.StatusCode != http.StatusBadRequest {
		return caps, false
	}
	was := caps
	if strings.Contains(status.ErrorMessage, "does not support tools") {
		caps.Tools = false
	}
	if strings.Contains(status.ErrorMessage, "does not support thinking") {
		caps.Thinking, caps.Levels = false, false
	}
	if strings.Contains(status.ErrorMessage, "think value") {
		caps.Levels = !caps.Levels
	}
	return caps, caps != was
}

// chat makes one request.
func (o *Ollama) chat(ctx context.Context, req Request, caps Caps, on func(Chunk)) (Reply, error) {
	action := len(req.Tools) > 0 && !caps.Tools
	g := &gather{on: on, action: action}
	on(Chunk{Kind: Loading})
	request, err := requestOf(req, caps)
	if err != nil {
		return Reply{}, &Error{Kind: Refused, Text: err.Error(), Err: err}
	}
	err = o.client.Chat(ctx, request, g.take)
	reply := g.finish(req.Tools)
	switch {
	case ctx.Err() != nil:
		return reply, ctx.Err()
	case err != nil:
		return reply, o.explain(ctx, req.Model, err)
	case !g.done:
		return reply, o.died(req.Model, nil)
	case reply.Stop == Length && overflowed(req, reply):
		return reply, &Error{Kind: Overflow, Text: "the window of " + req.Model + " is full"}
	}
	on(Chunk{Kind: Used, Usage: reply.Usage})
	return reply, nil
}

// overflowed: the answer was cut because the window ended before MaxTokens.
func overflowed(req Request, reply Reply) bool {
	window := or(req.Window, DefaultWindow)
	return reply.Usage.Output < or(req.MaxTokens, DefaultMaxTokens) && reply.Usage.Prompt+reply.Usage.Output >= window-1
}

func or[T int | int64](a, b T) T {
	if a != 0 {
		return a
	}
	return b
}

// requestOf writes the request. The window is always given and the server may
// neither truncate nor shift it: what does not fit is an error, never a
// silent loss.
func requestOf(req Request, caps Caps) (*api.ChatRequest, error) {
	no, yes := false, true
	keep := req.KeepAlive
	if keep == 0 {
		keep = DefaultKeepAlive
	}
	out := &api.ChatRequest{
		Model: req.Model, Stream: &yes, Truncate: &no, Shift: &no, Format: req.Schema,
		KeepAlive: &api.Duration{Duration: keep},
		Options: map[string]any{
			"num_ctx": or(req.Window, DefaultWindow), "num_predict": or(req.MaxTokens, DefaultMaxTokens),
		},
		Think: thinkOf(req, caps),
	}
	if req.Temperature != nil {
		out.Options["temperature"] = *req.Temperature
	}
	messages := req.Messages
	if len(req.Tools) > 0 && !caps.Tools {
		if len(out.Format) == 0 {
			out.Format = ActionSchema(req.Tools, 0)
		}
		messages = asActions(messages, req.Tools)
	} else if err := addTools(out, req.Tools); err != nil {
		return nil, err
	}
	for _, m := range messages {
		msg, err := messageOf(m)
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, msg)
	}
	return out, nil
}

// thinkOf: unset means on for a model that can think, so it is always set for
// those, and never for others. A grammar only begins after the thinking, so
// structured answers go without it.
func thinkOf(req Request, caps Caps) *api.ThinkValue {
	switch {
	case !caps.Thinking:
		return nil
	case caps.Levels:
		level := map[Think]string{ThinkOff: "low", ThinkLow: "low", ThinkOn: "medium", ThinkHigh: "high"}[req.Think]
		return &api.ThinkValue{Value: level}
	case len(req.Schema) > 0 || len(req.Tools) > 0 && !caps.Tools:
		return &api.ThinkValue{Value: false}
	}
	return &api.ThinkValue{Value: req.Think != ThinkOff}
}

func addTools(out *api.ChatRequest, tools []Tool) error {
	for _, t := range tools {
		tool := api.Tool{Type: "function", Function: api.ToolFunction{Name: t.Name, Description: t.Description}}
		if err := json.Unmarshal(t.Params, &tool.Function.Parameters); err != nil {
			return fmt.Errorf("tool %s has a bad schema: %w", t.Name, err)
		}
		out.Tools = append(out.Tools, tool)
	}
	return nil
}

func messageOf(m Message) (api.Message, error) {
	out := api.Message{Role: string(m.Role), Content: m.Text, Thinking: m.Thinking, ToolName: m.Tool, ToolCallID: m.CallID}
	for i, c := range m.Calls {
		args := api.NewToolCallFunctionArguments()
		data, err := json.Marshal(c.Args)
		if err == nil && len(c.Args) > 0 {
			err = json.Unmarshal(data, &args)
		}
		if err != nil {
			return out, fmt.Errorf("call of %s: %w", c.Name, err)
		}
		out.ToolCalls = append(out.ToolCalls, api.ToolCall{ID: c.ID, Function: api.ToolCallFunction{Index: i, Name: c.Name, Arguments: args}})
	}
	return out, nil
}

// take takes a piece of Ollama's stream.
func (g *gather) take(r api.ChatResponse) error {
	g.thought(r.Message.Thinking)
	g.content(r.Message.Content)
	for _, c := range r.Message.ToolCalls {
		g.call(Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments.ToMap()})
	}
	if r.Done {
		g.end(r)
	}
	return nil
}

// end reads the last object. A reason that is neither a stop nor the length
// (load, unload, none) says that no answer was made.
func (g *gather) end(r api.ChatResponse) {
	switch r.DoneReason {
	case "stop", "length":
		g.done, g.reply.Stop = true, Stop(r.DoneReason)
	case "":
		g.done = g.text.Len() > 0 || len(g.reply.Calls) > 0
		g.reply.Stop = Stopped
	}
	g.reply.Usage = Usage{
		Prompt: r.PromptEvalCount, Output: r.EvalCount,
		Load: r.LoadDuration, Read: r.PromptEvalDuration, Write: r.EvalDuration,
	}
}
