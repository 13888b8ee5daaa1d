package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxThought bounds the thought of an action, in characters: enough for a few
// sentences, too little to ramble.
const maxThought = 600

// The bounds of each text of an action that is asked for again because it found
// no end the first time, in characters. Servers refuse grammars with more than
// 2000 repetitions.
const (
	minText = 40
	maxText = 1500
)

// textBound is short enough that an action ends within the tokens that it may
// take: three texts and a thought, at a character a token.
func textBound(req Request) int {
	return min(max((or(req.MaxTokens, DefaultMaxTokens)-100)/4, minText), maxText)
}

// ActionSchema is the grammar for a model that cannot call tools: one object
// with a short thought, the name of one tool and its arguments, written in
// that order so that the thought can guide the choice. bound, when not 0, is
// the most characters of each text.
func ActionSchema(tools []Tool, bound int) json.RawMessage {
	thought := maxThought
	if bound > 0 {
		thought = min(thought, bound)
	}
	var options []string
	for _, t := range tools {
		options = append(options, fmt.Sprintf(
			`{"type":"object","properties":{"thought":{"type":"string","maxLength":%d},"tool":{"const":%s},"args":%s},"required":["thought","tool","args"],"additionalProperties":false}`,
			thought, quote(t.Name), bounded(t.Params, bound)))
	}
	if len(options) == 1 {
		return json.RawMessage(options[0])
	}
	return json.RawMessage(`{"anyOf":[` + strings.Join(options, ",") + `]}`)
}

// bounded gives every text of a schema that has no bound of its own one. The
// order of the members stays, since it is the order in which a model writes.
func bounded(schema json.RawMessage, bound int) json.RawMessage {
	var tight bytes.Buffer
	if bound == 0 || json.Compact(&tight, schema) != nil {
		return schema
	}
	const text = `"type":"string"`
	return bytes.ReplaceAll(tight.Bytes(), []byte(text), fmt.Appendf(nil, `%s,"maxLength":%d`, text, bound))
}

// endless says that an action found no end: it is asked for again with a
// grammar that bounds each text in it, and then it does end.
func endless(req Request, caps Caps, r Reply) bool {
	return r.Cut && r.Stop == Length && len(req.Tools) > 0 && !caps.Tools && len(req.Schema) == 0
}

// silently passes on everything but what was said before.
func silently(on func(Chunk)) func(Chunk) {
	return func(c Chunk) {
		if c.Kind != Text {
			on(c)
		}
	}
}

// clip marks calls with a text that is as long as it may be, which means that
// its end is missing.
func clip(req Request, r Reply) Reply {
	if len(req.Schema) == 0 {
		return r
	}
	for i, c := range r.Calls {
		for _, v := range c.Args {
			if s, ok := v.(string); ok && utf8.RuneCountInString(s) >= textBound(req) {
				r.Calls[i].Clipped = true
			}
		}
	}
	return r
}

// ActionPrompt tells a model in words what ActionSchema demands, since a
// grammar alone does not say what the tools are for.
func ActionPrompt(tools []Tool) string {
	var b strings.Builder
	b.WriteString("Answer with one JSON object and nothing else:\n")
	b.WriteString(`{"thought": "one or two short sentences", "tool": "NAME", "args": {...}}` + "\nTools:\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "- %s %s: %s\n", t.Name, argList(t.Params), t.Description)
	}
	return b.String()
}

// argList is the shape of a tool's arguments in a few characters.
func argList(params json.RawMessage) string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(params, &s) != nil || len(s.Required) == 0 {
		return "{}"
	}
	var parts []string
	for _, name := range s.Required {
		parts = append(parts, quote(name)+": …")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// thoughtOf gives the thought of an action as far as its text has come.
func thoughtOf(text string) string {
	_, rest, ok := strings.Cut(text, `"thought"`)
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, ": \t\r\n")
	if !strings.HasPrefix(rest, `"`) {
		return ""
	}
	r := reader{s: rest}
	if thought, whole := r.text(); whole {
		return thought
	}
	// An escape may be cut in two: its beginning waits.
	if i := strings.LastIndexByte(rest, '\\'); i >= 0 && len(rest)-i < 6 {
		rest = rest[:i]
	}
	r = reader{s: rest + `"`}
	thought, _ := r.text()
	return thought
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
