package agent

import (
	"maps"
	"slices"

	"kintsugi/agent/heal/install"
	"kintsugi/sandbox"
)

// environment is what boxes have beyond the host's view: the layers that
// remedies made, variables, raised limits, commands that go before.
type environment struct {
	packages map[string][]string // manager -> everything asked for
	verify   map[string][]string
	layers   map[string]install.Layer
	vars     []string
	prelude  [][]string
	limits   sandbox.Limits
}

func newEnvironment(limits sandbox.Limits) *environment {
	return &environment{
		packages: map[string][]string{}, verify: map[string][]string{},
		layers: map[string]install.Layer{}, limits: limits,
	}
}

// trees are the layers' directories, in an order that does not change, but
// for the managers left out.
func (e *environment) trees(without ...string) []string {
	var out []string
	for _, manager := range slices.Sorted(maps.Keys(e.layers)) {
		if !slices.Contains(without, manager) {
			out = append(out, e.layers[manager].Tree)
		}
	}
	return out
}

// keys name the layers for the log.
func (e *environment) keys() []string {
	var out []string
	for _, manager := range slices.Sorted(maps.Keys(e.layers)) {
		out = append(out, e.layers[manager].Key)
	}
	return out
}

// env is base with what the layers and remedies set.
func (e *environment) env(base []string) []string {
	for _, manager := range slices.Sorted(maps.Keys(e.layers)) {
		base = install.Apply(base, e.layers[manager])
	}
	return sandbox.MergeEnv(base, e.vars...)
}

// before are the commands that go before the program.
func (e *environment) before() [][]string {
	var out [][]string
	for _, manager := range slices.Sorted(maps.Keys(e.layers)) {
		if argv := e.layers[manager].Before; len(argv) > 0 {
			out = append(out, argv)
		}
	}
	return append(out, e.prelude...)
}

// want adds packages to a manager's set and returns the whole set.
func (e *environment) want(manager string, packages, verify []string) (all, check []string) {
	return union(e.packages[manager], packages), union(e.verify[manager], verify)
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// have records an installed set.
func (e *environment) have(manager string, packages, verify []string, l install.Layer) {
	e.packages[manager], e.verify[manager], e.layers[manager] = packages, verify, l
}
