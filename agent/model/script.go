package model

import (
	"context"
	"sync"
)

// Script is a model that says what was written for it: tests and lessons.
type Script struct {
	// Replies are given in order, one for each Chat. After the last one Chat
	// fails.
	Replies []Scripted
	// Can is what the model claims to be able to do.
	Can Caps

	mu   sync.Mutex
	next int
	seen []Request
}

// Scripted is one reply.
type Scripted struct {
	Thinking string
	Text     string
	Calls    []Call
	Err      error
	Stop     Stop
	Usage    Usage
	// Reply, when set, makes the reply from the request.
	Reply func(Request) Scripted
}

// Name implements Provider.
func (s *Script) Name() string { return "script" }

// Models implements Provider.
func (s *Script) Models(context.Context) ([]Info, error) { return []Info{{Name: "script"}}, nil }

// Capabilities implements Provider.
func (s *Script) Capabilities(context.Context, string) (Caps, error) { return s.Can, nil }

// Pull implements Provider: there is nothing to download.
func (s *Script) Pull(context.Context, string, func(Progress)) error { return nil }

// Seen are the requests so far.
func (s *Script) Seen() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{}, s.seen...)
}

// Chat implements Provider.
func (s *Script) Chat(ctx context.Context, req Request, on func(Chunk)) (Reply, error) {
	if on == nil {
		on = func(Chunk) {}
	}
	if ctx.Err() != nil {
		return Reply{}, ctx.Err()
	}
	line, ok := s.take(req)
	if !ok {
		return Reply{}, &Error{Kind: Failed, Text: "the script has no reply left"}
	}
	return line.speak(req, on)
}

func (s *Script) take(req Request) (Scripted, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, req)
	if s.next >= len(s.Replies) {
		return Scripted{}, false
	}
	line := s.Replies[s.next]
	s.next++
	if line.Reply != nil {
		line = line.Reply(req)
	}
	return line, true
}

// speak gives a line as a provider would, calls leaked into its text included.
func (l Scripted) speak(req Request, on func(Chunk)) (Reply, error) {
	r := Reply{Text: l.Text, Thinking: l.Thinking, Calls: l.Calls, Stop: Stop(first(string(l.Stop), string(Stopped))), Usage: l.Usage}
	if l.Thinking != "" {
		on(Chunk{Kind: Thinking, Text: l.Thinking})
	}
	if l.Text != "" {
		on(Chunk{Kind: Text, Text: l.Text})
	}
	if l.Err != nil {
		return r, l.Err
	}
	if found := FindCalls(l.Text, req.Tools); len(l.Calls) == 0 {
		r.Cut = found.Cut
		if len(found.Calls) > 0 {
			r.Calls, r.Text, r.Leaked = found.Calls, found.Text, true
		}
	}
	for _, c := range r.Calls {
		on(Chunk{Kind: Calling, Call: c})
	}
	on(Chunk{Kind: Used, Usage: r.Usage})
	return r, nil
}

var _ Provider = (*Script)(nil)
