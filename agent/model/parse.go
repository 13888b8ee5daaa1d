package model

import (
	"slices"
	"strings"
)

// Found is what FindCalls found in a text.
type Found struct {
	Calls []Call
	// Text is what is left without the calls.
	Text string
	// Cut: a call begins and does not end.
	Cut bool
}

// maxCalls bounds how many calls one text may hold, and maxWork how many bytes
// are looked at, again and again, for one text.
const (
	maxCalls = 16
	maxWork  = 8 << 20
)

// FindCalls looks for tool calls that a model wrote into its text: JSON by
// itself, in a fence or between tags, <function=name> with parameters, and
// name(arg=value). Inside tags any name is a call, so that the model can be
// told that there is no such tool; elsewhere only the names of tools are.
func FindCalls(text string, tools []Tool) Found {
	f := finder{text: text, tools: tools}
	f.run()
	if len(f.calls) == 0 {
		return Found{Text: text, Cut: f.cut}
	}
	return Found{Calls: f.calls, Text: tidy(f.rest.String()), Cut: f.cut}
}

type finder struct {
	text  string
	tools []Tool
	calls []Call
	rest  strings.Builder
	cut   bool
	work  int
}

// run goes through the text once. Where a call may begin it is tried; what is
// no call is text.
func (f *finder) run() {
	i := 0
	for i < len(f.text) && len(f.calls) < maxCalls && f.work < maxWork {
		n := f.at(i)
		if n == 0 {
			f.rest.WriteByte(f.text[i])
			n = 1
		}
		i += n
	}
	f.rest.WriteString(f.text[i:])
}

// at tries to read calls at i and gives how many bytes they take.
func (f *finder) at(i int) int {
	s := f.text[i:]
	switch s[0] {
	case '<':
		return f.tag(s)
	case '`':
		return f.fence(s)
	case '{', '[':
		return f.bare(s)
	}
	if i == 0 || !nameByte(f.text[i-1]) {
		return f.function(s)
	}
	return 0
}

// openers begin a call in the formats of several model families.
var openers = [...]string{"<tool_call>", "<|tool_call|>", "<|tool_call>", "<tool_calls>", "<function_call>", "<|python_tag|>", "<tools>", "<tool>", "<action>"}

// closers end one, and are dropped wherever they are left over.
var closers = [...]string{"</tool_call>", "<|/tool_call|>", "<tool_call|>", "</tool_calls>", "</function_call>", "<|eom_id|>", "</tools>", "</tool>", "</action>", "<|tool_call_end|>"}

// tag reads a call between tags; the closing one may be missing.
func (f *finder) tag(s string) int {
	if strings.HasPrefix(s, "<function=") || strings.HasPrefix(s, "<function name=") {
		return f.xml(s)
	}
	for _, open := range openers {
		if !strings.HasPrefix(s, open) {
			continue
		}
		n := len(open)
		n += len(s[n:]) - len(strings.TrimLeft(s[n:], " \t\r\n"))
		took := f.inside(s[n:])
		if took == 0 {
			f.cut = f.cut || !f.ends(s[n:])
			return 0
		}
		return n + took + closing(s[n+took:])
	}
	if len(f.calls) > 0 {
		return closing(s)
	}
	return 0
}

// ends says whether a closer comes at all: if not, the model was cut off.
func (f *finder) ends(s string) bool {
	f.work += len(s)
	return slices.ContainsFunc(closers[:], func(c string) bool { return strings.Contains(s, c) })
}

// inside reads what stands between tags.
func (f *finder) inside(s string) int {
	switch {
	case strings.HasPrefix(s, "<function"):
		return f.xml(s)
	case strings.HasPrefix(s, "`"):
		return f.fence(s)
	}
	r := reader{s: s}
	v, ok := r.value(0)
	f.work += r.i
	if ok {
		if calls := f.fromValue(v, true); len(calls) > 0 {
			f.calls = append(f.calls, calls...)
			return r.i
		}
		return 0
	}
	return f.function(s)
}

// closing gives the length of white space and closers at the start of s.
func closing(s string) int {
	n := 0
	for {
		rest := strings.TrimLeft(s[n:], " \t\r\n")
		at := len(s) - len(rest)
		i := slices.IndexFunc(closers[:], func(c string) bool { return strings.HasPrefix(rest, c) })
		if i < 0 {
			return n
		}
		n = at + len(closers[i])
	}
}

// fence reads a fenced block that holds nothing but calls.
func (f *finder) fence(s string) int {
	if !strings.HasPrefix(s, "```") {
		return 0
	}
	line, body, ok := strings.Cut(s[3:], "\n")
	f.work += len(line)
	if !ok {
		return 0
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "", "json", "tool_call", "tool_calls", "tool", "tool_code", "action", "javascript", "python":
	default:
		return 0
	}
	start := 3 + len(line) + 1
	r := reader{s: body}
	r.space()
	n := r.i
	if n >= len(body) {
		return 0
	}
	var took int
	if body[n] == '{' || body[n] == '[' {
		took = f.bare(body[n:])
	} else {
		took = f.function(body[n:])
	}
	if took == 0 {
		return 0
	}
	end := strings.TrimLeft(body[n+took:], " \t\r\n")
	used := start + n + took + len(body[n+took:]) - len(end)
	if strings.HasPrefix(end, "```") {
		used += 3
	}
	return used
}

// bare reads JSON in the middle of text, or [name(arg=value), …].
func (f *finder) bare(s string) int {
	if s[0] == '[' {
		if n := f.calllist(s); n > 0 {
			return n
		}
	}
	r := reader{s: s}
	v, ok := r.value(0)
	f.work += r.i
	if !ok {
		f.cut = f.cut || r.i >= len(s) && f.looksLikeCall(s)
		return 0
	}
	calls := f.fromValue(v, false)
	f.calls = append(f.calls, calls...)
	if len(calls) == 0 {
		return 0
	}
	return r.i
}

// looksLikeCall says whether an unfinished object names a tool.
func (f *finder) looksLikeCall(s string) bool {
	f.work += len(s) * len(f.tools)
	return slices.ContainsFunc(f.tools, func(t Tool) bool { return strings.Contains(s, `"`+t.Name+`"`) })
}

// calllist reads [name(arg=value), name(…)].
func (f *finder) calllist(s string) int {
	before := len(f.calls)
	r := reader{s: s, i: 1}
	for {
		r.space()
		n := f.function(r.s[r.i:])
		if n == 0 {
			f.calls = f.calls[:before]
			return 0
		}
		r.i += n
		if r.eat(',') {
			continue
		}
		if r.eat(']') {
			return r.i
		}
		f.calls = f.calls[:before]
		return 0
	}
}

// function reads name(arg=value, …) for the name of a tool.
func (f *finder) function(s string) int {
	r := reader{s: s}
	name, known := f.known(r.name())
	if !known || r.i >= len(s) || s[r.i] != '(' {
		return 0
	}
	r.i++
	args := map[string]any{}
	defer func() { f.work += r.i }()
	for !r.eat(')') {
		key, ok := r.key()
		if !ok || !r.eat('=') && !r.eat(':') {
			f.cut = f.cut || r.i >= len(s)
			return 0
		}
		v, ok := r.value(1)
		if !ok {
			f.cut = f.cut || r.i >= len(s)
			return 0
		}
		args[key] = v
		r.eat(',')
	}
	f.calls = append(f.calls, Call{Name: name, Args: args})
	return r.i
}

// known finds a tool by the name that a model gave it.
func (f *finder) known(name string) (string, bool) {
	name = strings.ToLower(name)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	name = strings.ReplaceAll(name, "-", "_")
	for _, t := range f.tools {
		if t.Name == name {
			return t.Name, true
		}
	}
	return name, false
}

// tidy drops what the calls left behind: empty lines, lone list brackets.
func tidy(s string) string { return strings.TrimSpace(s) }
