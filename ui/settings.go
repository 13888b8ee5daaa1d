package ui

import (
	"fmt"
	"maps"
	"slices"

	tea "charm.land/bubbletea/v2"

	"kintsugi/ui/internal/pane"
)

// Settings is what the workbench remembers from one session to the next. The
// zero value is the default.
type Settings struct {
	// Theme was chosen in the picker; empty: the terminal decides.
	Theme string `json:"theme,omitempty"`
	// Left and Right are how much wider the outer panes are than usual, in
	// cells.
	Left  int `json:"left,omitempty"`
	Right int `json:"right,omitempty"`
	// Thinking is "", "all" or "hidden".
	Thinking string `json:"thinking,omitempty"`
}

// restore takes over what was remembered. Options given for this session come
// first.
func (m *model) restore(s Settings) {
	if m.o.Theme == "" && s.Theme != "" && m.setTheme(s.Theme) == nil {
		m.auto, m.ready = false, true
	}
	m.chosen = s.Theme
	m.split[0], m.split[2] = s.Left, s.Right
	switch s.Thinking {
	case "all":
		m.reason.SetThinking(pane.All)
	case "hidden":
		m.reason.SetThinking(pane.Hidden)
	}
}

// settings is what is to be remembered.
func (m *model) settings() Settings {
	s := Settings{Theme: m.chosen, Left: m.split[0], Right: m.split[2]}
	switch m.reason.Thinking() {
	case pane.All:
		s.Thinking = "all"
	case pane.Hidden:
		s.Thinking = "hidden"
	}
	return s
}

// keep hands over what is to be remembered.
func (m *model) keep() tea.Cmd {
	if m.o.Save == nil {
		return nil
	}
	save, s := m.o.Save, m.settings()
	return func() tea.Msg {
		save(s)
		return nil
	}
}

// limitSplit keeps the panes on the screen.
func (m *model) limitSplit() {
	for i := range m.split {
		m.split[i] = clamp(m.split[i], -m.w/2, m.w/2)
	}
}

// rebind sets the user's own keys, by the names of KeyTable. Two commands of
// the same place cannot share a key.
func rebind(bs []binding, keys map[string][]string) ([]binding, error) {
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		i := slices.IndexFunc(bs, func(b binding) bool { return b.id == id })
		if i < 0 {
			return nil, fmt.Errorf("keys: nothing is called %q; kintsugi keys lists the names", id)
		}
		if len(keys[id]) == 0 {
			return nil, fmt.Errorf("keys: %q has no key", id)
		}
		bs[i].keys = keys[id]
	}
	for id := range keys {
		i := slices.IndexFunc(bs, func(b binding) bool { return b.id == id })
		for _, k := range bs[i].keys {
			if j := rival(bs, i, k); j >= 0 {
				return nil, fmt.Errorf("keys: %q is %q already; give one of them another key", k, bs[j].id)
			}
		}
	}
	return bs, nil
}

// rival is another command of binding i's place that has key k, or -1.
func rival(bs []binding, i int, k string) int {
	for j, b := range bs {
		if j != i && b.scope == bs[i].scope && slices.Contains(b.keys, k) {
			return j
		}
	}
	return -1
}

// KeyHelp is one thing that keys can do.
type KeyHelp struct {
	ID    string   // the name in the user's own keys
	Keys  []string // as people write them
	Help  string
	Where string // "everywhere", "in a pane", "reasoning", "sandbox", "timeline", "changes"
}

// KeyTable is everything that keys can do, in the order of the help, with the
// user's own keys.
func KeyTable(own map[string][]string) ([]KeyHelp, error) {
	all, err := rebind(bindings(), own)
	if err != nil {
		return nil, err
	}
	where := map[scope]string{everywhere: "everywhere", onPanes: "in a pane", onReason: "reasoning", onSandbox: "sandbox", onTimeline: "timeline", onReview: "changes"}
	var out []KeyHelp
	for _, b := range all {
		h := KeyHelp{ID: b.id, Help: b.help, Where: where[b.scope]}
		for _, k := range b.keys {
			h.Keys = append(h.Keys, keyName(k))
		}
		out = append(out, h)
	}
	return out, nil
}
