package ui

import (
	"io/fs"
	"maps"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/look"
	"kintsugi/ui/internal/pane"
)

// place is something that can have the focus.
type place int

const (
	inComposer place = iota
	inReason
	inSandbox
	inTimeline
	places
	placeReview // never has the focus: the changes are a dialog
)

// model is the whole screen. It routes; panes and dialogs do the work.
type model struct {
	o       Options
	*screen         // the one that is shown
	live    *screen // the one of now
	history history
	past    *past // nil while the present is shown
	look    *look.Look
	theme   string // name
	auto    bool   // the theme follows the terminal's background
	ready   bool   // the background is known, or nobody will tell

	w, h  int
	focus place
	pane  place // the pane that had the focus last
	zoom  bool
	// leftTimeline: where two panes fit, the timeline stands beside the sandbox.
	leftTimeline bool
	split        [3]int // how much wider each pane is than usual

	composer *composer
	gallery  *pane.Gallery
	hung     hanging

	bindings []binding
	dialogs  []dialog
	asked    string // the question that was shown last

	now      time.Time
	frame    int  // of the animation
	ticking  bool // a tick is on its way
	blurred  bool // the terminal is not looked at
	drag     drag
	show     presenter
	stepping bool   // each act waits for the user
	chosen   string // the theme that the user chose for good
	toast    string
	toastAt  time.Time
	armed    time.Time // ctrl+c was pressed
}

func newModel(o Options) (*model, error) {
	m := &model{o: o, theme: o.Theme, now: o.Clock(), pane: inSandbox}
	if m.theme == "" {
		m.theme, m.auto = ThemeFor(o.Profile, o.Env), true
	}
	m.ready = !m.asksBackground()
	t, err := themes.Load(m.theme, o.Themes)
	if err != nil {
		return nil, err
	}
	m.look = look.New(t, plainGlyphs(o.Env), 1)
	m.gallery = newGallery(o)
	m.live = m.newScreen()
	m.screen = m.live
	m.composer = newComposer(m.look, o)
	if m.bindings, err = rebind(bindings(), o.Keys); err != nil {
		return nil, err
	}
	m.restore(o.Settings)
	m.show.on = o.Present
	m.apply(o.History)
	if o.Width > 0 && o.Height > 0 {
		m.resize(o.Width, o.Height)
	}
	if o.Replay {
		m.startReplay()
	}
	if !o.Reduced {
		m.live.flow()
	}
	return m, nil
}

// screen is a state and the panes that show it.
type screen struct {
	state    *event.State
	reason   *pane.Reason
	sandbox  *pane.Sandbox
	timeline *pane.Timeline
}

func (m *model) newScreen() *screen {
	s := &screen{new(event.State), pane.NewReason(m.look), pane.NewSandbox(m.look, true), pane.NewTimeline(m.look)}
	s.sandbox.Hang(m.gallery)
	return s
}

// apply folds events into the state and shows what changed.
func (s *screen) apply(events []event.Event) {
	for _, e := range events {
		s.state.Apply(e)
	}
	for _, p := range s.panes() {
		p.Sync(s.state)
	}
}

// flow lets the gold run along the seams to come.
func (s *screen) flow() {
	s.reason.Flow()
	s.sandbox.Flow()
	s.timeline.Flow()
}

// panes are the three, in their order on the screen.
func (s *screen) panes() [3]pane.Pane { return [3]pane.Pane{s.reason, s.sandbox, s.timeline} }

// asksBackground says that the terminal's background would change the theme.
func (m *model) asksBackground() bool {
	return m.auto && (m.theme == themes.Dark || m.theme == themes.Light) && lookup(m.o.Env, "COLORFGBG") == ""
}

// backgroundWait is how long the first frame waits for the terminal to tell
// its background. Some never answer.
const backgroundWait = 30 * time.Millisecond

// The messages of the model.
type (
	eventsMsg []event.Event
	endedMsg  struct{}
	tickMsg   struct{}
	waitedMsg struct{}
	themeMsg  struct{}
)

// Init starts reading events.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.wait(), m.waitTheme(), m.composer.Focus()}
	if !m.ready {
		cmds = append(cmds, tea.RequestBackgroundColor,
			tea.Tick(backgroundWait, func(time.Time) tea.Msg { return waitedMsg{} }))
	}
	return tea.Batch(append(cmds, m.animate())...)
}

// wait reads one batch of events.
func (m *model) wait() tea.Cmd {
	if m.o.Events == nil {
		return nil
	}
	return func() tea.Msg {
		batch, ok := <-m.o.Events
		if !ok {
			return endedMsg{}
		}
		return eventsMsg(batch)
	}
}

// waitTheme waits for a change of a theme file.
func (m *model) waitTheme() tea.Cmd {
	changed := m.o.ThemeChanged
	if changed == nil {
		return nil
	}
	return func() tea.Msg {
		if _, ok := <-changed; !ok {
			return nil
		}
		return themeMsg{}
	}
}

// Update takes a message in and sees to what the screen then needs.
func (m *model) Update(msg tea.Msg) tea.Cmd {
	m.now = m.o.Clock()
	if m.toast != "" && m.now.Sub(m.toastAt) > toastTime {
		m.toast = ""
	}
	return tea.Batch(m.route(msg), m.hang())
}

// route gives a message to its handler.
func (m *model) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case eventsMsg:
		return m.onEvents(msg)
	case tickMsg:
		return m.onTick()
	case tea.KeyPressMsg:
		return m.onKey(msg)
	case tea.PasteMsg:
		return m.onPaste(msg)
	case tea.MouseMsg:
		return m.onMouse(msg)
	case tea.WindowSizeMsg:
		m.unplace()
		m.resize(msg.Width, msg.Height)
	case tea.ResumeMsg:
		m.unplace()
	case changesMsg:
		m.onChanges(msg)
	case shotMsg:
		m.onShot(msg)
	case restMsg:
		return m.onRest(msg)
	case paintMsg:
		return m.onPaint(msg)
	case tea.TerminalVersionMsg, uv.CellSizeEvent, uv.PrimaryDeviceAttributesEvent, uv.KittyGraphicsEvent:
		return m.onAnswer(msg)
	case tea.BackgroundColorMsg:
		m.onBackground(msg)
	case waitedMsg:
		m.ready = true
	case themeMsg:
		m.reload()
		return tea.Batch(m.waitTheme(), m.animate())
	case tea.FocusMsg:
		m.blurred = false
		m.reload()
		return m.animate()
	case tea.BlurMsg:
		m.blurred = true
	default:
		return m.composer.Update(msg)
	}
	return nil
}

// current is the pane that scroll keys act on.
func (m *model) current() pane.Pane { return m.panes()[m.pane-inReason] }

func (m *model) resize(w, h int) {
	m.w, m.h = w, h
	m.arrange()
}

// arrange tells every part its size.
func (m *model) arrange() {
	m.composer.Resize(m.w)
	l := m.layout()
	for i, r := range l.panes {
		if r.w <= 2 || r.h <= 2 {
			continue
		}
		m.live.panes()[i].Resize(r.w-2, r.h-2)
		m.panes()[i].Resize(r.w-2, r.h-2)
	}
}

// setTheme changes the look; a theme that cannot be loaded changes nothing.
func (m *model) setTheme(name string) error {
	t, err := themes.Load(name, m.o.Themes)
	if err != nil {
		return err
	}
	m.theme = name
	m.unplace()
	m.look = look.New(t, plainGlyphs(m.o.Env), m.look.Gen+1)
	for i, p := range m.live.panes() {
		p.Restyle(m.look)
		m.panes()[i].Restyle(m.look)
	}
	m.composer.Restyle(m.look)
	return nil
}

// reload takes over what was changed in a theme file of the user's own: when
// it is told so, and when the terminal is looked at again, since whoever edits
// a theme comes back from the editor.
func (m *model) reload() {
	if m.o.Themes == nil {
		return
	}
	if _, err := fs.Stat(m.o.Themes, m.theme+".toml"); err != nil {
		return
	}
	t, err := themes.Load(m.theme, m.o.Themes)
	if err == nil && maps.Equal(t.Colors, m.look.Theme.Colors) {
		return
	}
	if err = m.setTheme(m.theme); err != nil {
		m.say(err.Error())
	}
}

func (m *model) say(text string) {
	m.toast, m.toastAt = text, m.now
}
