package model

import "strings"

// starts are how calls in text begin. Those in a line of their own only count
// at its start.
var (
	anywhere   = [...]string{"<tool_call", "<|tool_call", "<tool_res", "<|tool_res", "<function", "<|python_tag", "<tools>", "<action>", "[TOOL_CALLS]"}
	lineStarts = [...]string{"{", "[{", "```json", "```tool", "<tool>"}
)

// Spoken gives how many bytes of an unfinished text can be shown as speech
// now: what follows may turn out to be a call.
func Spoken(text string) int {
	for i := range len(text) {
		switch text[i] {
		case '<', '[', '{', '`':
			if mayBegin(text[i:], anywhere[:]) || lineStart(text, i) && mayBegin(text[i:], lineStarts[:]) {
				return i
			}
		}
	}
	return len(text)
}

func lineStart(text string, i int) bool {
	line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
	return strings.TrimSpace(line) == ""
}

// mayBegin says whether text begins with one of list, or is the beginning of
// one.
func mayBegin(text string, list []string) bool {
	for _, s := range list {
		if strings.HasPrefix(text, s) || strings.HasPrefix(s, text) {
			return true
		}
	}
	return false
}
