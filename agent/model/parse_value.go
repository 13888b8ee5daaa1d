package model

import (
	"slices"
	"strings"
)

// The keys under which models put the name and the arguments of a call.
var (
	nameKeys = [...]string{"name", "tool", "tool_name", "function", "function_name", "action"}
	argKeys  = [...]string{"arguments", "args", "parameters", "params", "input", "tool_input", "action_input"}
	// talkKeys are spoken beside a call and are no arguments.
	talkKeys = [...]string{"thought", "thoughts", "reasoning", "id", "type", "index", "call_id"}
)

// fromValue makes calls of a value that is one, a list of them, or wraps them.
// loose accepts names that are no tool's.
func (f *finder) fromValue(v any, loose bool) []Call {
	switch v := v.(type) {
	case []any:
		var calls []Call
		for _, item := range v {
			one := f.fromValue(item, loose)
			if len(one) == 0 || len(calls) >= maxCalls {
				return nil
			}
			calls = append(calls, one...)
		}
		return calls
	case map[string]any:
		return f.fromObject(v, loose)
	}
	return nil
}

func (f *finder) fromObject(o map[string]any, loose bool) []Call {
	if list, ok := o["tool_calls"].([]any); ok {
		return f.fromValue(list, loose)
	}
	for _, key := range nameKeys {
		switch v := o[key].(type) {
		case string:
			name, known := f.known(v)
			if known || loose && name != "" {
				return []Call{{Name: name, Args: arguments(o, key)}}
			}
		case map[string]any:
			if calls := f.fromObject(v, loose); len(calls) > 0 {
				return calls
			}
		}
	}
	return f.fromKey(o)
}

// fromKey reads {"run_shell": {"command": "ls"}}.
func (f *finder) fromKey(o map[string]any) []Call {
	if len(o) != 1 {
		return nil
	}
	for key, v := range o {
		args, isObject := v.(map[string]any)
		if name, known := f.known(key); known && isObject {
			return []Call{{Name: name, Args: args}}
		}
	}
	return nil
}

// arguments are under one of the usual keys, as an object or as a string that
// holds one; or they stand beside the name.
func arguments(o map[string]any, nameKey string) map[string]any {
	for _, key := range argKeys {
		v, ok := o[key]
		if !ok {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			return v
		case string:
			r := reader{s: v}
			if args, ok := r.value(0); ok {
				if m, ok := args.(map[string]any); ok {
					return m
				}
			}
		case nil:
			return map[string]any{}
		}
	}
	args := map[string]any{}
	for key, v := range o {
		if key != nameKey && !slices.Contains(talkKeys[:], key) {
			args[key] = v
		}
	}
	return args
}

// xml reads <function=name> <parameter=key> value </parameter> </function>.
func (f *finder) xml(s string) int {
	head, _, ok := strings.Cut(s, ">")
	f.work += len(head)
	if !ok {
		f.cut = true
		return 0
	}
	name, _ := f.known(attribute(head))
	args := map[string]any{}
	var rest string
	at := len(head) + 1
	defer func() { f.work += at }()
	for {
		rest = s[at:]
		body := strings.TrimLeft(rest, " \t\r\n")
		skip := len(rest) - len(body)
		switch {
		case strings.HasPrefix(body, "<parameter"):
			n := parameter(body, args)
			if n == 0 {
				f.work += len(body)
				f.cut = true
				return 0
			}
			at += skip + n
		case strings.HasPrefix(body, "</function>"):
			f.calls = append(f.calls, Call{Name: name, Args: args})
			at += skip + len("</function>")
			return at + closing(s[at:])
		case strings.HasPrefix(body, "{") && len(args) == 0:
			r := reader{s: body}
			v, ok := r.value(0)
			m, isObject := v.(map[string]any)
			if !ok || !isObject {
				f.cut = true
				return 0
			}
			args = m
			at += skip + r.i
		default:
			// Without a closing tag only what is surely whole counts.
			if len(args) == 0 || closing(rest) == 0 {
				f.cut = f.cut || body == ""
				return 0
			}
			f.calls = append(f.calls, Call{Name: name, Args: args})
			return at + closing(rest)
		}
	}
}

// attribute is the name in <function=name or <function name="name".
func attribute(head string) string {
	_, name, _ := strings.Cut(head, "=")
	return strings.Trim(strings.TrimSpace(name), `"'`)
}

// parameter reads one parameter into args and gives its length.
func parameter(s string, args map[string]any) int {
	head, rest, ok := strings.Cut(s, ">")
	if !ok {
		return 0
	}
	value, _, ok := strings.Cut(rest, "</parameter>")
	if !ok {
		return 0
	}
	text := strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
	args[attribute(head)] = text
	return len(head) + 1 + len(value) + len("</parameter>")
}

// CodeBlock gives the last fenced block of code in a text and its language,
// for models that show code where they should run it.
func CodeBlock(text string) (language, code string, ok bool) {
	for {
		_, rest, found := strings.Cut(text, "```")
		if !found {
			return language, code, ok
		}
		line, body, found := strings.Cut(rest, "\n")
		if !found {
			return language, code, ok
		}
		block, after, closed := strings.Cut(body, "\n```")
		if !closed {
			return language, code, ok
		}
		if lang := strings.ToLower(strings.TrimSpace(line)); lang != "" && strings.TrimSpace(block) != "" {
			language, code, ok = lang, block+"\n", true
		}
		text = after
	}
}
