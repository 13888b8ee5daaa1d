package model

import "strings"

// thoughtTags are how models mark private thought that their server does not
// take out of the text.
var thoughtTags = [...][2]string{{"<think>", "</think>"}, {"<thinking>", "</thinking>"}}

// thoughts takes private thought out of a stream of text that begins with it.
type thoughts struct {
	held   string // what may be the beginning of a tag
	end    string // the closing tag that is waited for
	spoken bool   // the text has begun: what follows is all text
}

// take gives the thought and the text that are sure after another piece.
func (t *thoughts) take(piece string) (thinking, text string) {
	if t.spoken {
		return "", piece
	}
	t.held += piece
	if t.end == "" && !t.opens() {
		return "", t.release()
	}
	if t.end == "" {
		return "", ""
	}
	if before, after, ok := strings.Cut(t.held, t.end); ok {
		t.held, t.spoken = "", true
		return before, strings.TrimLeft(after, "\n")
	}
	keep := partial(t.held, t.end)
	thinking = t.held[:len(t.held)-keep]
	t.held = t.held[len(thinking):]
	return thinking, ""
}

// opens says whether a thought begins or may begin.
func (t *thoughts) opens() bool {
	head := strings.TrimLeft(t.held, " \t\r\n")
	for _, tag := range thoughtTags {
		if rest, ok := strings.CutPrefix(head, tag[0]); ok {
			t.held, t.end = rest, tag[1]
			return true
		}
		if strings.HasPrefix(tag[0], head) {
			return true
		}
	}
	return false
}

// release gives up waiting: what was held is text.
func (t *thoughts) release() string {
	text := t.held
	t.held, t.spoken = "", true
	return text
}

// rest is what is left when the stream ends.
func (t *thoughts) rest() (thinking, text string) {
	if t.end != "" && !t.spoken {
		return t.held, ""
	}
	return "", t.release()
}

// partial counts the bytes at the end of s that may begin tag.
func partial(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}

// lateThought parts a text whose thought was never opened: the template did
// that, so only the closing tag is in the stream.
func lateThought(text string) (thinking, rest string) {
	for _, tag := range thoughtTags {
		before, after, ok := strings.Cut(text, tag[1])
		if ok && !strings.Contains(before, tag[0]) {
			return before, strings.TrimLeft(after, "\n")
		}
	}
	return "", text
}
