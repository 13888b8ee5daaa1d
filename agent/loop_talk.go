package agent

import (
	"slices"
	"strings"

	"kintsugi/agent/model"
)

// talk is the conversation so far. What is sent of it always fits the window:
// old steps are shortened, then left out, but never the system prompt, the
// task, or the latest messages.
type talk struct {
	messages []model.Message // the first is the system prompt
	taskAt   int             // index of the current task
	// ratio is how many tokens the server counts for one of ours; 0: unknown.
	ratio float64
	// squeeze halves the room each time the server says that it was too much.
	squeeze int
}

// Old messages are shortened to so many bytes, and the latest are left alone.
const (
	shortText = 300
	latest    = 4
)

// task begins a task: the system prompt may have changed.
func (k *talk) task(system, text string) {
	if len(k.messages) == 0 {
		k.messages = []model.Message{{}}
	}
	k.messages[0] = model.Message{Role: model.System, Text: system}
	k.taskAt = len(k.messages)
	k.squeeze = 0
	k.add(model.Message{Role: model.User, Text: text})
}

// again goes on with a task that the conversation has already; it begins the
// task when the conversation has not come that far.
func (k *talk) again(system, text string) {
	if len(k.messages) == 0 || k.messages[k.taskAt].Role != model.User {
		k.task(system, text)
		return
	}
	k.messages[0] = model.Message{Role: model.System, Text: system}
	k.squeeze = 0
}

func (k *talk) add(m model.Message) { k.messages = append(k.messages, m) }

// learn compares the server's count with ours.
func (k *talk) learn(prompt int, sent []model.Message, tools []model.Tool) {
	if ours := cost(sent, tools); prompt > 0 && ours > 0 {
		k.ratio = min(max(float64(prompt)/float64(ours), 0.7), 2.5)
	}
}

// cost counts messages and tool descriptions.
func cost(messages []model.Message, tools []model.Tool) int {
	n := model.Estimate(messages)
	for _, t := range tools {
		n += (len(t.Description) + len(t.Params)) / 4
	}
	return n
}

// fit gives what to send in at most room tokens.
func (k *talk) fit(room int, tools []model.Tool) []model.Message {
	ratio := orElse(k.ratio, 1.3)
	limit := int(float64(room>>k.squeeze) / ratio)
	fits := func(m []model.Message) bool { return cost(m, tools) <= limit }
	if fits(k.messages) {
		return k.messages
	}
	out := k.shortened(shortText)
	if fits(out) {
		return out
	}
	for drop := 1; drop < len(k.messages); drop++ {
		if less := k.without(out, drop); fits(less) {
			return less
		}
	}
	return k.without(k.clipped(limit), len(k.messages))
}

// shortened cuts all but the latest messages to n bytes each.
func (k *talk) shortened(n int) []model.Message {
	out := append([]model.Message{}, k.messages...)
	for i := range out {
		if i != 0 && i != k.taskAt && i < len(out)-latest {
			out[i] = short(out[i], n)
		}
	}
	return out
}

func short(m model.Message, n int) model.Message {
	m.Thinking = ""
	m.Text = ends(m.Text, n/3, n-n/3)
	calls := append([]model.Call{}, m.Calls...)
	for i, c := range calls {
		args := map[string]any{}
		for key, v := range c.Args {
			if s, ok := v.(string); ok {
				v = ends(s, n/2, n/2)
			}
			args[key] = v
		}
		calls[i].Args = args
	}
	m.Calls = calls
	return m
}

// without leaves out the oldest drop messages that may be left out, and says
// so. A result never stays without its call.
func (k *talk) without(messages []model.Message, drop int) []model.Message {
	var out, left []model.Message
	keepFrom := len(messages) - latest
	for i, m := range messages {
		if i == 0 || i == k.taskAt {
			out = append(out, m)
			continue
		}
		if drop > 0 && i < keepFrom {
			drop--
			left = append(left, m)
			continue
		}
		if m.Role == model.ToolResult && answers(out) != m.Tool {
			left = append(left, m)
			continue
		}
		out = append(out, m)
	}
	return k.marked(out, left)
}

// answers names the tool whose result may come next.
func answers(out []model.Message) string {
	for i := len(out) - 1; i >= 0; i-- {
		switch out[i].Role {
		case model.ToolResult:
			continue
		case model.Assistant:
			if n := len(out) - 1 - i; n < len(out[i].Calls) {
				return out[i].Calls[n].Name
			}
		}
		return ""
	}
	return ""
}

// marked tells the model, in the task's own message, what is missing.
func (k *talk) marked(out, left []model.Message) []model.Message {
	if len(left) == 0 {
		return out
	}
	text := k.messages[k.taskAt].Text
	for i, m := range out {
		if m.Role == model.User && m.Text == text {
			out[i].Text += "\n\n" + (&Loop{}).prompt("lost.md", map[string]any{"Count": len(left), "Digest": digest(left)})
			return out
		}
	}
	return out
}

// Bounds of the digest of messages that are left out: lines, and characters of
// each.
const (
	digestLines = 8
	digestLine  = 90
)

// digest tells what was done in the steps that are left out, a line for each
// call, the latest ones when there are many.
func digest(left []model.Message) string {
	var lines []string
	for i := len(left) - 1; i >= 0 && len(lines) < digestLines; i-- {
		for j, c := range left[i].Calls {
			result := ""
			if at := i + 1 + j; at < len(left) && left[at].Role == model.ToolResult {
				result = ": " + line(opening(left[at].Text), digestLine/2)
			}
			lines = append(lines, "- "+line(c.Name+" "+opening(gist(c)), digestLine)+result)
		}
	}
	lines = lines[:min(len(lines), digestLines)]
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// opening is the beginning of a text: all that a line of the digest can show.
func opening(text string) string { return strings.ToValidUTF8(text[:min(len(text), 4*digestLine)], "") }

// gist is what a call was about: the argument that says most.
func gist(c model.Call) string {
	for _, key := range []string{"path", "command", "text", "packages", "code"} {
		if s, ok := c.Args[key].(string); ok {
			return s
		}
	}
	return ""
}

// clipped is the last resort: every message but the system prompt is cut so
// that all that must stay has its share of the room.
func (k *talk) clipped(limit int) []model.Message {
	share := max(200, limit*4/(latest+4))
	out := append([]model.Message{}, k.messages...)
	for i := 1; i < len(out); i++ {
		out[i] = short(out[i], share)
	}
	return out
}
