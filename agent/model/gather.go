package model

import "strings"

// gather puts a stream together.
type gather struct {
	on     func(Chunk)
	action bool // the text is an action: only its thought is shown
	text   strings.Builder
	shown  int
	reply  Reply
	think  strings.Builder
	tags   thoughts
	done   bool
}

// content takes a piece of text, which may hold thought between tags.
func (g *gather) content(piece string) {
	if piece == "" {
		return
	}
	thinking, text := g.tags.take(piece)
	g.thought(thinking)
	g.said(text)
}

func (g *gather) call(c Call) {
	g.reply.Calls = append(g.reply.Calls, c)
	g.on(Chunk{Kind: Calling, Call: c})
}

func (g *gather) thought(piece string) {
	if piece != "" {
		g.think.WriteString(piece)
		g.on(Chunk{Kind: Thinking, Text: piece})
	}
}

func (g *gather) said(piece string) {
	if piece == "" {
		return
	}
	g.text.WriteString(piece)
	if !g.action {
		g.on(Chunk{Kind: Text, Text: piece})
		return
	}
	if thought := thoughtOf(g.text.String()); len(thought) > g.shown {
		g.on(Chunk{Kind: Text, Text: thought[g.shown:]})
		g.shown = len(thought)
	}
}

// finish looks for calls in the text when there are none where they belong.
func (g *gather) finish(tools []Tool) Reply {
	thinking, rest := g.tags.rest()
	g.thought(thinking)
	g.said(rest)
	late, text := lateThought(g.text.String())
	g.reply.Text, g.reply.Thinking = text, g.think.String()+late
	if len(g.reply.Calls) > 0 || len(tools) == 0 {
		return g.reply
	}
	found := FindCalls(g.reply.Text, tools)
	g.reply.Cut = found.Cut || g.reply.Stop == Length && len(found.Calls) == 0 && g.action
	if len(found.Calls) == 0 {
		return g.reply
	}
	text = found.Text
	if g.action {
		text = thoughtOf(g.reply.Text)
	}
	g.reply.Calls, g.reply.Text, g.reply.Leaked = found.Calls, text, !g.action
	for _, c := range found.Calls {
		g.on(Chunk{Kind: Calling, Call: c})
	}
	return g.reply
}
