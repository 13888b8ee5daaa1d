package agent

import "kintsugi/sandbox"

// getReady has the box of the next attempt made while nobody waits for it: on a
// draft of its own, with everything but its command. What fails here is told
// when the next attempt fails.
func (e *Engine) getReady() {
	p, ok := e.Runtime.(sandbox.Preparer)
	if !ok || !e.Ahead {
		return
	}
	if e.beside || e.SideDir == "" || e.dropSpare() != nil || e.showCode() != nil {
		p.Prepare(nil)
		return
	}
	draft, err := e.Workspace.Begin()
	if err != nil {
		p.Prepare(nil)
		return
	}
	e.spare = draft
	next := e.spec(nil, draft)
	p.Prepare(&next)
}

// begin opens a draft for an attempt: the one that was begun for it, unless the
// workspace went on since.
func (e *Engine) begin() (Draft, error) {
	if d := e.spare; d != nil {
		e.spare = nil
		if same, err := d.Renew(); same && err == nil {
			return d, nil
		}
		if err := d.Discard(); err != nil {
			return nil, err
		}
	}
	return e.Workspace.Begin()
}

// dropSpare discards a draft that was begun for nothing.
func (e *Engine) dropSpare() error {
	d := e.spare
	if e.spare = nil; d == nil {
		return nil
	}
	return d.Discard()
}

// Close gives up what was made ready. The runtime stays open, and what comes
// next is not known.
func (e *Engine) Close() error {
	if p, ok := e.Runtime.(sandbox.Preparer); ok && e.spare != nil {
		p.Prepare(nil)
	}
	return e.dropSpare()
}
