package agent

import (
	"context"
	"fmt"
	"strings"

	"kintsugi/agent/discover"
	"kintsugi/agent/event"
)

// Discover finds out what the session's boxes have, by running one short box,
// and tells the log. The answer is kept: later calls cost nothing.
func (e *Engine) Discover(ctx context.Context) (discover.Facts, error) {
	if e.facts != nil {
		return *e.facts, nil
	}
	draft, err := e.Workspace.Begin()
	if err != nil {
		return discover.Facts{}, fmt.Errorf("cannot prepare the workspace: %w", err)
	}
	defer func() { _ = draft.Discard() }()
	facts, err := discover.Probe(ctx, e.Runtime, e.spec(nil, draft))
	if err != nil {
		return facts, err
	}
	e.facts = &facts
	if text := facts.String(); text != "" {
		return facts, e.log(event.Note{Level: "info", Text: "boxes have: " + line(strings.ReplaceAll(text, "\n", "; "), 600)})
	}
	return facts, nil
}
