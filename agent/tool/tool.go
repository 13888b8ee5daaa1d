// Package tool is what a model may call: the descriptions it reads, the check
// of what it asks for, and the tools that read and write files.
//
// Descriptions are data, written for small models. File tools see the
// session's copy of the project through Files and nothing else. The package
// never runs a program and never leaves the project.
package tool

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"kintsugi/agent/model"
)

// The names of the tools.
const (
	RunCode   = "run_code"
	RunShell  = "run_shell"
	ReadFile  = "read_file"
	WriteFile = "write_file"
	EditFile  = "edit_file"
	ListFiles = "list_files"
	Search    = "search"
	Install   = "install_package"
	Finish    = "finish"
)

//go:embed tools.json
var toolsJSON []byte

//go:embed languages.toml
var languagesTOML string

// All describes the tools, in the order in which a model should read them.
func All() []model.Tool {
	var list []struct {
		Name        string
		Description string
		Params      json.RawMessage
	}
	if err := json.Unmarshal(toolsJSON, &list); err != nil {
		panic("tools.json: " + err.Error()) // embedded, and checked by a test
	}
	var out []model.Tool
	for _, t := range list {
		out = append(out, model.Tool{Name: t.Name, Description: t.Description, Params: t.Params})
	}
	return out
}

// Ext gives the file extension of a language by any of its names.
func Ext(language string) (string, bool) {
	name := strings.ToLower(strings.TrimSpace(language))
	for ext, names := range languages() {
		if slices.Contains(names, name) || name == ext {
			return ext, true
		}
	}
	return "", false
}

func languages() map[string][]string {
	var table map[string][]string
	if _, err := toml.Decode(languagesTOML, &table); err != nil {
		panic("languages.toml: " + err.Error()) // embedded, and checked by a test
	}
	return table
}

// LanguageNames lists the usual name of each language.
func LanguageNames() []string {
	var out []string
	for _, names := range languages() {
		out = append(out, names[0])
	}
	slices.Sort(out)
	return out
}

// Bad is what is wrong with a call, in words for the model.
type Bad struct{ Text string }

// Error implements error.
func (b *Bad) Error() string { return b.Text }

func bad(format string, args ...any) error { return &Bad{fmt.Sprintf(format, args...)} }

// Args are the checked arguments of a call.
type Args map[string]string

// aliases are other words that models use for an argument.
var aliases = map[string][]string{
	"command":   {"cmd", "commands", "script", "shell", "input"},
	"code":      {"script", "source", "program", "content", "input", "text"},
	"language":  {"lang", "interpreter", "runtime", "kernel"},
	"path":      {"file", "filename", "file_path", "filepath", "file_name", "dir", "directory", "folder", "name"},
	"content":   {"text", "contents", "data", "code", "body"},
	"old":       {"old_text", "old_string", "search", "find", "original"},
	"new":       {"new_text", "new_string", "replace", "replacement"},
	"text":      {"query", "pattern", "q", "term", "keyword"},
	"answer":    {"result", "text", "response", "final_answer", "message", "summary", "output"},
	"packages":  {"package", "name", "names", "what", "command"},
	"from_line": {"start", "start_line", "line", "offset"},
}

// Check finds the tool of a call and makes its arguments strings. What it
// refuses it explains to the model: the error is a *Bad.
func Check(call model.Call, tools []model.Tool) (Args, error) {
	i := slices.IndexFunc(tools, func(t model.Tool) bool { return t.Name == call.Name })
	if i < 0 {
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		return nil, bad("there is no tool %q; the tools are: %s", clip(call.Name, 40), strings.Join(names, ", "))
	}
	var schema struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	if err := json.Unmarshal(tools[i].Params, &schema); err != nil {
		return nil, fmt.Errorf("tool %s: %w", call.Name, err)
	}
	args := Args{}
	for name := range schema.Properties {
		if v, ok := find(call.Args, name, schema.Properties); ok {
			args[name] = v
		}
	}
	defaults(call.Name, args)
	for _, name := range schema.Required {
		if _, ok := args[name]; !ok {
			return nil, bad("%s needs the argument %q (all of: %s)", call.Name, name, strings.Join(schema.Required, ", "))
		}
	}
	return args, nil
}

// defaults fills in what models leave out and what can mean one thing only.
func defaults(name string, args Args) {
	if _, ok := args["path"]; name == ListFiles && !ok {
		args["path"] = "."
	}
	if _, ok := args["answer"]; name == Finish && !ok {
		args["answer"] = ""
	}
	if _, ok := args["language"]; name == RunCode && !ok {
		args["language"] = "python"
	}
}

// find takes an argument by its name or an alias that names no other argument.
func find[T any](given map[string]any, name string, properties map[string]T) (string, bool) {
	if v, ok := given[name]; ok && v != nil {
		return text(v), true
	}
	for _, alias := range aliases[name] {
		if _, taken := properties[alias]; taken {
			continue
		}
		if v, ok := given[alias]; ok && v != nil {
			return text(v), true
		}
	}
	return "", false
}

// text makes a string of what a model gave for one.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		return joined(v)
	case float64, bool:
		return fmt.Sprint(v)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// joined makes one text of a list: words of a command, or lines.
func joined(list []any) string {
	var parts []string
	sep := " "
	for _, v := range list {
		part := text(v)
		if strings.ContainsAny(part, " \t") && len(list) > 1 {
			sep = "\n"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, sep)
}

// clip shortens text to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
