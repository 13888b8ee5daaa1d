package tool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kintsugi/agent/model"
)

func TestDataIsWhole(t *testing.T) {
	t.Parallel()
	var names []string
	for _, tool := range All() {
		names = append(names, tool.Name)
		if len(tool.Description) < 10 || len(tool.Description) > 250 {
			t.Errorf("%s: a description of %d bytes does not suit a small model", tool.Name, len(tool.Description))
		}
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		if err := json.Unmarshal(tool.Params, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: %v", tool.Name, err)
		}
		for name, p := range schema.Properties {
			if p.Description == "" || p.Type == "" {
				t.Errorf("%s: %s is not described", tool.Name, name)
			}
		}
		for _, name := range schema.Required {
			if _, ok := schema.Properties[name]; !ok {
				t.Errorf("%s requires %s, which it does not have", tool.Name, name)
			}
		}
	}
	want := []string{RunCode, RunShell, ReadFile, WriteFile, EditFile, ListFiles, Search, Install, Finish}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
}

func TestExt(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"python": ".py", " Python3 ": ".py", "node": ".js", "C++": ".cpp", "r": ".R", ".py": ".py", "cobol": "", "": ""} {
		if got, ok := Ext(name); got != want || ok != (want != "") {
			t.Errorf("%q: %q", name, got)
		}
	}
	if names := strings.Join(LanguageNames(), " "); !strings.Contains(names, "python") || strings.Contains(names, "python3") {
		t.Error(names)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args map[string]any
		want Args
	}{
		{RunCode, map[string]any{"language": "python", "code": "1"}, Args{"language": "python", "code": "1"}},
		{RunCode, map[string]any{"lang": "js", "source": "1"}, Args{"language": "js", "code": "1"}},
		{RunCode, map[string]any{"code": "1"}, Args{"language": "python", "code": "1"}},
		{RunShell, map[string]any{"cmd": []any{"ls", "-l"}}, Args{"command": "ls -l"}},
		{RunShell, map[string]any{"commands": []any{"cd x", "make all"}}, Args{"command": "cd x\nmake all"}},
		{ReadFile, map[string]any{"filename": "a", "from_line": 12.0}, Args{"path": "a", "from_line": "12"}},
		{WriteFile, map[string]any{"path": "a.json", "content": map[string]any{"x": 1.0}}, Args{"path": "a.json", "content": "{\n  \"x\": 1\n}"}},
		{ListFiles, nil, Args{"path": "."}},
		{EditFile, map[string]any{"file": "a", "old_string": "x", "new_string": ""}, Args{"path": "a", "old": "x", "new": ""}},
		{Finish, map[string]any{"result": 4.0}, Args{"answer": "4"}},
		{Finish, nil, Args{"answer": ""}},
	} {
		got, err := Check(model.Call{Name: c.name, Args: c.args}, All())
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s %v: %v %s", c.name, c.args, err, d)
		}
	}
}

func TestCheckExplains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call model.Call
		want string
	}{
		{model.Call{Name: "google"}, "run_code, run_shell"},
		{model.Call{Name: RunShell}, `"command"`},
		{model.Call{Name: WriteFile, Args: map[string]any{"path": "x", "content": nil}}, `"content"`},
	} {
		_, err := Check(c.call, All())
		var b *Bad
		if !errors.As(err, &b) || !strings.Contains(b.Text, c.want) {
			t.Errorf("%+v: %v", c.call, err)
		}
	}
}
