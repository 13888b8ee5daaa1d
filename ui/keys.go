package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// scope says where a binding holds.
type scope int

const (
	everywhere scope = iota // in the composer too
	onPanes                 // when any pane has the focus
	onReason
	onSandbox
	onTimeline
	onReview // among the changes that wait for the project
)

// binding is one thing that keys can do. Help, the palette and the status line
// are all made from these.
type binding struct {
	id     string
	keys   []string
	help   string // what it does, in a few words
	short  string // for the status line; empty: never there
	scope  scope
	do     func(*model) tea.Cmd
	unless func(*model) string // why it cannot be done now, empty when it can
}

// bindings is the table. What stands first in it comes first everywhere.
func bindings() []binding {
	return slices.Concat(globalBindings(), paneBindings(), travelBindings(), viewBindings(), resultBindings(), actBindings(), reviewBindings())
}

func globalBindings() []binding {
	return []binding{
		{id: "palette", keys: []string{"ctrl+p"}, help: "find any command", scope: everywhere, do: (*model).openPalette},
		{id: "help", keys: []string{"f1"}, help: "show the keys", scope: everywhere, do: (*model).openHelp},
		{id: "next", keys: []string{"tab"}, help: "go to the next pane", short: "panes", scope: everywhere, do: act(func(m *model) { m.cycle(1) })},
		{id: "previous", keys: []string{"shift+tab"}, help: "go to the previous pane", scope: everywhere, do: act(func(m *model) { m.cycle(-1) })},
		{id: "reasoning", keys: []string{"alt+1"}, help: "go to the reasoning", scope: everywhere, do: act(func(m *model) { m.setFocus(inReason) })},
		{id: "sandbox", keys: []string{"alt+2"}, help: "go to the sandbox", scope: everywhere, do: act(func(m *model) { m.setFocus(inSandbox) })},
		{id: "timeline", keys: []string{"alt+3"}, help: "go to the timeline", scope: everywhere, do: act(func(m *model) { m.setFocus(inTimeline) })},
		{id: "zoom", keys: []string{"alt+z"}, help: "zoom the pane, or back", scope: everywhere, do: act((*model).toggleZoom)},
		{id: "page-up", keys: []string{"pgup"}, help: "scroll one page up", scope: everywhere, do: act(func(m *model) { m.current().Page(-1) })},
		{id: "page-down", keys: []string{"pgdown"}, help: "scroll one page down", scope: everywhere, do: act(func(m *model) { m.current().Page(1) })},
		{id: "find", keys: []string{"ctrl+f"}, help: "find text in the pane", scope: everywhere, do: (*model).openFind},
		{id: "theme", keys: []string{"alt+t"}, help: "choose a theme", scope: everywhere, do: (*model).openThemes},
		{id: "thinking", keys: []string{"alt+r"}, help: "show thinking: while it runs, always, never", scope: everywhere, do: (*model).toggleThinking},
		{id: "cancel", keys: []string{"ctrl+x"}, help: "stop what runs", short: "stop", scope: everywhere, do: (*model).cancel, unless: (*model).idle},
		{id: "presenter", keys: []string{"alt+p"}, help: "presenter mode: captions, a spotlight, the keys", scope: everywhere, do: (*model).togglePresenter},
		{id: "answer", keys: []string{"alt+a"}, help: "answer the open question", short: "answer", scope: everywhere, do: act((*model).reask), unless: (*model).noQuestion},
		{id: "suspend", keys: []string{"ctrl+z"}, help: "go to the shell; fg comes back", scope: everywhere, do: func(*model) tea.Cmd { return tea.Suspend }},
		{id: "quit", keys: []string{"ctrl+c"}, help: "stop what runs; twice: quit", scope: everywhere, do: (*model).interrupt},
	}
}

func paneBindings() []binding {
	return []binding{
		{id: "write", keys: []string{"esc", "i"}, help: "back to writing", short: "write", scope: onPanes, do: act((*model).escape)},
		{id: "help-pane", keys: []string{"?"}, help: "show the keys", short: "help", scope: onPanes, do: (*model).openHelp},
		{id: "up", keys: []string{"up", "k"}, help: "up", scope: onPanes, do: act(func(m *model) { m.step(-1) })},
		{id: "down", keys: []string{"down", "j"}, help: "down", scope: onPanes, do: act(func(m *model) { m.step(1) })},
		{id: "page-up-pane", keys: []string{"b", "ctrl+b"}, help: "one page up", scope: onPanes, do: act(func(m *model) { m.current().Page(-1) })},
		{id: "page-down-pane", keys: []string{"space"}, help: "one page down", scope: onPanes, do: act(func(m *model) { m.current().Page(1) })},
		{id: "home", keys: []string{"home", "g"}, help: "to the beginning", scope: onPanes, do: act(func(m *model) { m.current().Home() })},
		{id: "end", keys: []string{"end", "G"}, help: "to the end, and follow it", scope: onPanes, do: act(func(m *model) { m.current().End() })},
		{id: "zoom-pane", keys: []string{"z"}, help: "zoom the pane, or back", short: "zoom", scope: onPanes, do: act((*model).toggleZoom)},
		{id: "wider", keys: []string{">", "+"}, help: "make the pane wider", scope: onPanes, do: func(m *model) tea.Cmd { m.widen(2); return m.keep() }, unless: (*model).notSplit},
		{id: "narrower", keys: []string{"<", "-"}, help: "make the pane narrower", scope: onPanes, do: func(m *model) tea.Cmd { m.widen(-2); return m.keep() }, unless: (*model).notSplit},
		{id: "pane-1", keys: []string{"1"}, help: "go to the reasoning", scope: onPanes, do: act(func(m *model) { m.setFocus(inReason) })},
		{id: "pane-2", keys: []string{"2"}, help: "go to the sandbox", scope: onPanes, do: act(func(m *model) { m.setFocus(inSandbox) })},
		{id: "pane-3", keys: []string{"3"}, help: "go to the timeline", scope: onPanes, do: act(func(m *model) { m.setFocus(inTimeline) })},
		{id: "copy", keys: []string{"y"}, help: "copy what the pane shows", scope: onPanes, do: (*model).copyPane},
	}
}

func travelBindings() []binding {
	return []binding{
		{id: "back", keys: []string{"alt+left"}, help: "show the moment before", scope: everywhere, do: act((*model).back), unless: (*model).atStart},
		{id: "forward", keys: []string{"alt+right"}, help: "show the moment after", scope: everywhere, do: act((*model).forward), unless: (*model).isPresent},
		{id: "now", keys: []string{"alt+end"}, help: "back to now", scope: everywhere, do: act((*model).present), unless: (*model).isPresent},
		{id: "back-pane", keys: []string{"["}, help: "show the moment before", scope: onPanes, do: act((*model).back), unless: (*model).atStart},
		{id: "forward-pane", keys: []string{"]"}, help: "show the moment after", scope: onPanes, do: act((*model).forward), unless: (*model).isPresent},
		{id: "play", keys: []string{"p"}, help: "play from here on, or from the beginning; stop", scope: onPanes, do: act((*model).togglePlay)},
		{id: "faster", keys: []string{"}"}, help: "play faster, up to 16x", scope: onPanes, do: act(func(m *model) { m.faster(true) }), unless: (*model).isPresent},
		{id: "slower", keys: []string{"{"}, help: "play slower", scope: onPanes, do: act(func(m *model) { m.faster(false) }), unless: (*model).isPresent},
		{id: "moment", keys: []string{"t"}, help: "show all panes as they were when the entry was over", short: "that moment", scope: onTimeline, do: act((*model).travelToSelected), unless: (*model).nothingSelected},
	}
}

func (m *model) atStart() string {
	if m.here() == 0 {
		return "this is the beginning"
	}
	return ""
}

func (m *model) isPresent() string {
	if m.past == nil {
		return "this is now"
	}
	return ""
}

func viewBindings() []binding {
	return []binding{
		{id: "density", keys: []string{"t"}, help: "show thinking: while it runs, always, never", short: "thinking", scope: onReason, do: (*model).toggleThinking},
		{id: "whole", keys: []string{"o"}, help: "show whole programs, or their first lines", short: "whole code", scope: onReason, do: act(func(m *model) { m.reason.ToggleWhole() })},
		{id: "follow", keys: []string{"f"}, help: "pause, or follow the output", short: "pause", scope: onSandbox, do: act(func(m *model) { m.sandbox.Pause() })},
		{id: "verbose", keys: []string{"v"}, help: "show what installers print", short: "installers", scope: onSandbox, do: act((*model).toggleVerbose)},
		{id: "detail", keys: []string{"enter"}, help: "explain the entry, and show its place in the other panes", short: "explain", scope: onTimeline, do: (*model).openDetail, unless: (*model).nothingSelected},
		{id: "fold", keys: []string{"space", "left", "right"}, help: "fold or unfold the step", short: "fold", scope: onTimeline, do: act(func(m *model) { m.timeline.Fold() }), unless: (*model).nothingSelected},
		{id: "fold-all", keys: []string{"F"}, help: "fold or unfold all steps", scope: onTimeline, do: act(func(m *model) { m.timeline.FoldAll() })},
	}
}

// act makes an action of something that needs no command.
func act(f func(*model)) func(*model) tea.Cmd {
	return func(m *model) tea.Cmd {
		f(m)
		return nil
	}
}

// holds says whether a binding holds at a place.
func (b binding) holds(at place) bool {
	switch b.scope {
	case everywhere:
		return true
	case onPanes:
		return at != inComposer && at != placeReview
	case onReason:
		return at == inReason
	case onSandbox:
		return at == inSandbox
	case onReview:
		return at == placeReview
	}
	return at == inTimeline
}

// reason is why a binding cannot be used now.
func (b binding) reason(m *model) string {
	if b.unless == nil {
		return ""
	}
	return b.unless(m)
}

// find is the binding of a key at a place, the most particular one.
func (m *model) find(key string, at place) *binding {
	for i := len(m.bindings) - 1; i >= 0; i-- {
		b := &m.bindings[i]
		if !b.holds(at) {
			continue
		}
		for _, k := range b.keys {
			if k == key {
				return b
			}
		}
	}
	return nil
}

// keyName is a key as people write it.
func keyName(k string) string {
	switch k {
	case "pgup":
		return "PgUp"
	case "pgdown":
		return "PgDn"
	case "up", "down", "left", "right", "home", "end", "enter", "space", "tab", "esc":
		return strings.ToUpper(k[:1]) + k[1:]
	}
	parts := strings.Split(k, "+")
	if len(parts) < 2 || k == "+" {
		if len(k) > 1 {
			return strings.ToUpper(k)
		}
		return k
	}
	for i, p := range parts[:len(parts)-1] {
		parts[i] = strings.ToUpper(p[:1]) + p[1:]
	}
	last := parts[len(parts)-1]
	parts[len(parts)-1] = strings.ToUpper(last)
	if len(last) > 1 {
		parts[len(parts)-1] = keyName(last)
	}
	return strings.Join(parts, "+")
}

func (m *model) idle() string {
	if m.busy() {
		return ""
	}
	return "nothing runs"
}

func (m *model) noQuestion() string {
	if len(m.live.state.Asks) == 0 {
		return "no question is open"
	}
	return ""
}

func (m *model) notSplit() string {
	if m.zoom || m.w < twoPanes {
		return "only one pane is shown"
	}
	return ""
}

func (m *model) nothingSelected() string {
	if m.timeline.HasSelection() {
		return ""
	}
	return "nothing is selected"
}
