package agent

import (
	"strings"

	"kintsugi/agent/event"
	"kintsugi/agent/model"
	"kintsugi/agent/tool"
)

// Restore gives a loop the conversation of a session that is resumed, as far
// as its log tells it: tasks, what was said, calls, and how they ended. Steps
// that a crash cut off are told as such.
func (l *Loop) Restore(s *event.State) {
	l.talk = talk{}
	for _, st := range s.Steps {
		if st.Task != "" {
			l.talk.task("", st.Task)
		}
		if len(l.talk.messages) > 0 {
			l.restoreStep(st)
		}
		l.steps = max(l.steps, st.N)
	}
}

func (l *Loop) restoreStep(st *event.Step) {
	said := strings.TrimSpace(strings.Join(st.Text, ""))
	if st.Answer != "" {
		said = st.Answer
	}
	i := len(st.Calls) - 1
	if i < 0 || st.Calls[i].Origin == "user" {
		if said != "" {
			l.talk.add(model.Message{Role: model.Assistant, Text: said})
		}
		return
	}
	call := recalled(st.Calls[i])
	l.talk.add(model.Message{Role: model.Assistant, Text: said, Calls: []model.Call{call}})
	l.talk.add(model.Message{Role: model.ToolResult, Tool: call.Name, Text: ended(st)})
}

// recalled makes the model's call of the one that the log has.
func recalled(c event.Call) model.Call {
	text := c.Text
	path, body, _ := strings.Cut(text, "\n")
	switch c.Tool {
	case "shell":
		return model.Call{Name: tool.RunShell, Args: map[string]any{"command": text}}
	case "read":
		return model.Call{Name: tool.ReadFile, Args: map[string]any{"path": path}}
	case "write":
		return model.Call{Name: tool.WriteFile, Args: map[string]any{"path": path, "content": body}}
	case "edit":
		return model.Call{Name: tool.EditFile, Args: map[string]any{"path": path, "change": body}}
	case "list":
		return model.Call{Name: tool.ListFiles, Args: map[string]any{"path": path}}
	case "install":
		return model.Call{Name: tool.Install, Args: map[string]any{"packages": text}}
	case "search":
		return model.Call{Name: tool.Search, Args: map[string]any{"text": text}}
	}
	return model.Call{Name: tool.RunCode, Args: map[string]any{"language": c.Tool, "code": text}}
}

// ended tells how a step ended.
func ended(st *event.Step) string {
	out := strings.TrimSpace(lastOutput(st))
	switch {
	case (st.Cut || !st.Done) && st.Checkpoint != nil:
		return "(stopped right after it; its changes are kept) " + out
	case st.Cut || !st.Done:
		return "(stopped in the middle; its changes were dropped) " + out
	case !st.OK:
		return "failed: " + ends(out, 0, evidenceTold)
	case out == "":
		return "done"
	}
	return ends(out, headTold, tailTold)
}

// lastOutput is what the last attempt of a step printed.
func lastOutput(st *event.Step) string {
	if len(st.Attempts) == 0 {
		return ""
	}
	var b strings.Builder
	for _, o := range st.Attempts[len(st.Attempts)-1].Output {
		b.WriteString(o.Text)
	}
	return b.String()
}
