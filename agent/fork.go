package agent

import (
	"maps"
	"slices"

	"kintsugi/agent/event"
	"kintsugi/sandbox"
)

// Fork is what an engine that works beside another has of its own.
type Fork struct {
	Log       event.Appender
	SideDir   string
	Workspace Workspace
}

// Fork makes an engine that begins with this one's environment and works beside
// it: on a machine of its own, where the runtime has several. From then on
// neither sees what the other does. It asks nobody: who works side by side
// cannot put questions to one user.
func (e *Engine) Fork(f Fork) *Engine {
	config := e.Config
	config.Log, config.SideDir, config.Workspace, config.Ask = f.Log, f.SideDir, f.Workspace, nil
	if rt := sandbox.Beside(e.Runtime); rt != e.Runtime {
		config.Runtime = rt
		if e.Installer != nil {
			config.Installer = e.Installer.On(rt)
		}
	}
	config.Allowed = slices.Clone(e.Allowed)
	out := NewEngine(config)
	out.beside, out.shows = true, e.shows && f.SideDir == e.SideDir
	env := *e.env
	env.packages, env.verify, env.layers = maps.Clone(env.packages), maps.Clone(env.verify), maps.Clone(env.layers)
	env.vars, env.prelude = slices.Clone(env.vars), slices.Clone(env.prelude)
	out.env = &env
	return out
}
