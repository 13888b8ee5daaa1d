package modeltest

import (
	"context"
	"fmt"
	"regexp"

	"kintsugi/agent/model"
)

// Player is a model that reacts: it gives its replies in turn, and passes over
// those whose When does not match what it was told last.
type Player struct {
	model.Script // for what a player does not do itself
	Replies      []Reply
	// Turns counts the requests.
	Turns int
	next  int
}

// Chat implements model.Provider.
func (p *Player) Chat(ctx context.Context, req model.Request, on func(model.Chunk)) (model.Reply, error) {
	p.Turns++
	told := req.Messages[len(req.Messages)-1].Text
	for p.next < len(p.Replies) {
		r := p.Replies[p.next]
		p.next++
		if r.When != "" {
			re, err := regexp.Compile(r.When)
			if err != nil {
				return model.Reply{}, err
			}
			if !re.MatchString(told) {
				continue
			}
		}
		once := model.Script{Replies: []model.Scripted{r.Scripted()}}
		return once.Chat(ctx, req, on)
	}
	return model.Reply{}, &model.Error{Kind: model.Failed, Text: fmt.Sprintf("the player has no reply left to %q", told)}
}
