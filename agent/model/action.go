package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxThought bounds the thought of an action, in characters: enough for a few
// sentences, too little to ramble.
const maxThought = 600

// maxText bounds each text of an action that is asked for again because it
// found no end the first time, in characters. Servers refuse grammars with
// more than 2000 repetitions.
const maxText = 1500

// ActionSchema is the grammar for a model that cannot call tools: one object
// with a short thought, the name of one tool and its arguments, written in
// that order so that the thought can guide the choice. bound, when not 0, is
// the most characters of each text.
func ActionSchema(tools []Tool, bound int) json.RawMessage {
	var options []string
	for _, t := range tools {
		options = append(options, fmt.Sprintf(
			`{"type":"object","properties":{"thought":{"type":"string","maxLength":%d},"tool":{"const":%s},"args":%s},"required":["thought","tool","args"],"additionalProperties":false}`,
			maxThought, quote(t.Name), bounded(t.Params, bound)))
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
