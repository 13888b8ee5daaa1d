package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

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
	if err == nil && reply.Cut && reply.Stop == Length && len(req.Tools) > 0 && !caps.Tools {
		return o.chatBriefly(ctx, req, caps, reply, on)
	}
	return reply, err
}

// chatBriefly asks again after an action that found no end, with a grammar
// that bounds each text in it: this one does end.
func (o *Ollama) chatBriefly(ctx context.Context, req Request, caps Caps, before Reply, on func(Chunk)) (Reply, error) {
	req.Schema = ActionSchema(req.Tools, maxText)
	reply, err := o.chat(ctx, req, caps, func(c Chunk) {
		if c.Kind != Text {
			on(c)
		}
	})
	reply.Usage.Output += before.Usage.Output
	reply.Usage.Write += before.Usage.Write
	for i, c := range reply.Calls {
		reply.Calls[i].Clipped = clipped(c.Args)
	}
	return reply, err
}

// clipped says whether a text in the arguments is as long as it may be, which
// means that its end is missing.
func clipped(args map[string]any) bool {
	for _, v := range args {
		if s, ok := v.(string); ok && utf8.RuneCountInString(s) >= maxText {
			return true
		}
	}
	return false
}

// lessCaps takes away what the server said that the model cannot do.
func lessCaps(caps Caps, err error) (Caps, bool) {
	var status api.StatusError
	if !errors.As(err, &status) || status.StatusCode != 400 {
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

// asActions tells the story of a chat to a model that knows no tools: its calls
// are its own JSON answers, their results are what the user says.
func asActions(messages []Message, tools []Tool) []Message {
	var out []Message
	told := false
	for _, m := range messages {
		switch {
		case m.Role == System && !told:
			m.Text, told = m.Text+"\n\n"+ActionPrompt(tools), true
		case m.Role == ToolResult:
			m = Message{Role: User, Text: "Result of " + m.Tool + ":\n" + m.Text}
		case len(m.Calls) > 0:
			m = Message{Role: Assistant, Text: actionText(m)}
		}
		out = append(out, m)
	}
	if !told {
		out = append([]Message{{Role: System, Text: ActionPrompt(tools)}}, out...)
	}
	return out
}

func actionText(m Message) string {
	var lines []string
	for _, c := range m.Calls {
		args, err := json.Marshal(c.Args)
		if err != nil || len(c.Args) == 0 {
			args = []byte("{}")
		}
		lines = append(lines, fmt.Sprintf(`{"thought":%s,"tool":%s,"args":%s}`, quote(m.Text), quote(c.Name), args))
	}
	return strings.Join(lines, "\n")
}

// gather puts a stream together.
type gather struct {
	on     func(Chunk)
	action bool // the text is an action: only its thought is shown
	text   strings.Builder
	shown  int
	reply  Reply
	think  strings.Builder
	tags   thoughts
	done   bool
}

func (g *gather) take(r api.ChatResponse) error {
	g.thought(r.Message.Thinking)
	if r.Message.Content != "" {
		thinking, text := g.tags.take(r.Message.Content)
		g.thought(thinking)
		g.said(text)
	}
	for _, c := range r.Message.ToolCalls {
		call := Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments.ToMap()}
		g.reply.Calls = append(g.reply.Calls, call)
		g.on(Chunk{Kind: Calling, Call: call})
	}
	if r.Done {
		g.end(r)
	}
	return nil
}

func (g *gather) thought(piece string) {
	if piece != "" {
		g.think.WriteString(piece)
		g.on(Chunk{Kind: Thinking, Text: piece})
	}
}

func (g *gather) said(piece string) {
	if piece == "" {
		return
	}
	g.text.WriteString(piece)
	if !g.action {
		g.on(Chunk{Kind: Text, Text: piece})
		return
	}
	if thought := thoughtOf(g.text.String()); len(thought) > g.shown {
		g.on(Chunk{Kind: Text, Text: thought[g.shown:]})
		g.shown = len(thought)
	}
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

// finish looks for calls in the text when there are none where they belong.
func (g *gather) finish(tools []Tool) Reply {
	thinking, rest := g.tags.rest()
	g.thought(thinking)
	g.said(rest)
	late, text := lateThought(g.text.String())
	g.reply.Text, g.reply.Thinking = text, g.think.String()+late
	if len(g.reply.Calls) > 0 || len(tools) == 0 {
		return g.reply
	}
	found := FindCalls(g.reply.Text, tools)
	g.reply.Cut = found.Cut || g.reply.Stop == Length && len(found.Calls) == 0 && g.action
	if len(found.Calls) == 0 {
		return g.reply
	}
	text = found.Text
	if g.action {
		text = thoughtOf(g.reply.Text)
	}
	g.reply.Calls, g.reply.Text, g.reply.Leaked = found.Calls, text, !g.action
	for _, c := range found.Calls {
		g.on(Chunk{Kind: Calling, Call: c})
	}
	return g.reply
}
