package agent

import (
	"slices"
	"strings"

	"kintsugi/agent/event"
)

// Restore gives an engine the environment that its session had, as the log
// tells it: the layers of remedies that worked, as far as they are still there,
// and the variables they set. A layer that is gone is made again when a program
// misses it.
func (e *Engine) Restore(s *event.State) {
	for _, st := range s.Steps {
		for _, a := range st.Attempts {
			for _, m := range a.Remedies {
				if m.End != nil && m.End.OK {
					e.restore(m)
				}
			}
		}
	}
}

func (e *Engine) restore(m *event.RemedyState) {
	switch m.Action {
	case "env":
		vars, _ := strings.CutPrefix(m.Title, "set ")
		e.env.vars = append(e.env.vars, strings.Fields(vars)...)
	case "install":
		if l, ok := e.Installer.Find(m.End.Layer); ok {
			e.env.have(l.Manager, union(e.env.packages[l.Manager], m.Packages), e.env.verify[l.Manager], l)
		}
	}
}

// Unfinished is the task that a session was working on when it ended, with
// nothing to show for it; empty when there is none.
func Unfinished(s *event.State) string {
	task := ""
	for _, st := range s.Steps {
		if st.Task != "" {
			task = st.Task
		}
		if st.OK && st.Answer != "" {
			task = ""
		}
	}
	if n := len(s.Tasks); n > 0 && (task != "" || !begun(s, s.Tasks[n-1].Text)) {
		return s.Tasks[n-1].Text
	}
	return task
}

// begun says whether any step began with the task.
func begun(s *event.State, task string) bool {
	for _, st := range s.Steps {
		if st.Task == task {
			return true
		}
	}
	return false
}

// Acknowledged says whether the log tells of a checkpoint.
func Acknowledged(s *event.State, id string) bool {
	return slices.ContainsFunc(s.Steps, func(st *event.Step) bool { return st.Checkpoint != nil && st.Checkpoint.ID == id })
}
