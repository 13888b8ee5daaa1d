package ui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"kintsugi/agent/event"
	"kintsugi/ui/internal/pane"
	"kintsugi/ui/internal/picture"
	"kintsugi/ui/internal/table"
)

const (
	// answerTime is how long the terminal may take to say how it shows
	// pictures; until then, and without an answer, they are half blocks.
	answerTime = 5 * time.Second
	// restTime is how long a picture must stay where it is before a terminal
	// without marks for cells draws it: what scrolls stays half blocks.
	restTime = 150 * time.Millisecond
	// settleTime is how long the cells below it get to be on the screen, and
	// for how long after it a change clears the whole screen.
	settleTime = 60 * time.Millisecond
	// askID is the picture of the question to a Kitty terminal.
	askID = 31
)

// hanging is what the screen knows about pictures: what the terminal said, and
// where they are.
type hanging struct {
	loading bool
	asked   time.Time // when the terminal was asked; zero: not yet
	version string    // what it calls itself
	placed  []placement
	gen     int // of placed
	paint   time.Time
}

// placement is a picture on the screen, in cells.
type placement struct {
	ref              pane.Ref
	x, y, cols, rows int
}

// The messages of pictures.
type (
	shotMsg struct {
		ref  pane.Ref
		shot *pane.Shot
	}
	restMsg  struct{ gen int }
	paintMsg struct {
		gen  int
		text string
	}
)

// newGallery is the gallery of the model's panes.
func newGallery(o Options) *pane.Gallery { return pane.NewGallery(o.File == nil) }

// pictured is a dialog that shows artefacts, in place of the panes below it.
type pictured interface {
	Shown(m *model, r rect) []pane.Shown
}

// inView are the artefacts on the screen, in its cells.
func (m *model) inView() []pane.Shown {
	if d := m.dialog(); d != nil {
		if p, ok := d.(pictured); ok {
			return p.Shown(m, m.dialogRect(d))
		}
		return nil
	}
	r := m.layout().panes[inSandbox-inReason]
	if r.w == 0 {
		return nil
	}
	shown := m.sandbox.Shown()
	for i := range shown {
		shown[i].X += r.x + 1
		shown[i].Y += r.y + 1
	}
	return shown
}

// hang sees to the pictures after each message: what is in view is loaded, the
// terminal is asked, given what it lacks, and told where to draw.
func (m *model) hang() tea.Cmd {
	if m.gallery.Off || m.w == 0 || !m.ready {
		return nil
	}
	shown := m.inView()
	return tea.Batch(m.develop(shown), m.askTerminal(shown), m.sendPictures(shown), m.place(shown))
}

// develop loads the first artefact in view that is not known, one at a time.
func (m *model) develop(shown []pane.Shown) tea.Cmd {
	for _, s := range shown {
		m.gallery.Seen(s.Artefact)
		if m.hung.loading || !m.gallery.Wants(s.Artefact) {
			continue
		}
		m.hung.loading = true
		return load(m.o.File, s.Artefact)
	}
	return nil
}

// load reads an artefact and makes what can be shown of it.
func load(file FileReader, a event.Artefact) tea.Cmd {
	return func() tea.Msg {
		limit := int64(table.MaxBytes + 1)
		if picture.Shows(a.Media) {
			limit = picture.MaxBytes
		}
		data, err := file(a, limit)
		if err != nil {
			return shotMsg{pane.RefOf(a), &pane.Shot{Error: "cannot be read"}}
		}
		return shotMsg{pane.RefOf(a), pane.Develop(a, data)}
	}
}

func (m *model) onShot(msg shotMsg) {
	m.hung.loading = false
	m.gallery.Put(msg.ref, msg.shot)
}

// askTerminal asks, once there is a picture, how the terminal shows pictures.
func (m *model) askTerminal(shown []pane.Shown) tea.Cmd {
	isPicture := func(s pane.Shown) bool { return s.Cols > 0 }
	if !m.hung.asked.IsZero() || !m.mayAsk() || !slices.ContainsFunc(shown, isPicture) {
		return nil
	}
	m.hung.asked = m.now
	return tea.Raw(ansi.RequestNameVersion + requestCellSize + ansi.RequestPrimaryDeviceAttributes)
}

// requestCellSize asks for the size of a cell in pixels.
const requestCellSize = "\x1b[16t"

// mayAsk leaves out terminals that show no pictures, or pass none on to the one
// they are in, and screens without colours.
func (m *model) mayAsk() bool {
	name := lookup(m.o.Env, "TERM")
	for _, prefix := range []string{"screen", "tmux", "linux", "dumb"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return lookup(m.o.Env, "TMUX") == "" && lookup(m.o.Env, "STY") == "" &&
		m.o.Profile >= colorprofile.ANSI256 && !m.look.Palette.Plain
}

// onAnswer takes an answer of the terminal; one that comes too late is not
// waited for any more.
func (m *model) onAnswer(msg tea.Msg) tea.Cmd {
	if m.hung.asked.IsZero() || m.now.Sub(m.hung.asked) > answerTime {
		return nil
	}
	switch msg := msg.(type) {
	case tea.TerminalVersionMsg:
		m.hung.version = strings.ToLower(msg.Name)
	case uv.CellSizeEvent:
		if msg.Width >= 3 && msg.Width <= 100 && msg.Height >= 6 && msg.Height <= 200 {
			m.gallery.CellW, m.gallery.CellH = msg.Width, msg.Height
			m.gallery.Changed()
		}
	case uv.PrimaryDeviceAttributesEvent:
		return m.choose(slices.Contains(msg, 4))
	case uv.KittyGraphicsEvent:
		if msg.Options.ID == askID && string(msg.Payload) == "OK" {
			m.hangBy(picture.Kitty)
		}
	}
	return nil
}

// choose picks the protocol by what the terminal calls itself and can do. Only
// some of those that know the Kitty protocol know its marks for cells, so those
// are asked by name.
func (m *model) choose(sixel bool) tea.Cmd {
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(m.hung.version, n) })
	}
	switch {
	case is("kitty", "ghostty"):
		return tea.Raw(picture.KittyAsk(askID))
	case is("iterm2", "wezterm"):
		m.hangBy(picture.ITerm)
	case sixel:
		m.hangBy(picture.Sixel)
	}
	return nil
}

// hangBy shows pictures by another protocol from now on.
func (m *model) hangBy(by picture.Protocol) {
	m.gallery.By = by
	m.gallery.Changed()
}

// sendPictures gives a Kitty terminal the pictures in view, in the size that
// they have there.
func (m *model) sendPictures(shown []pane.Shown) tea.Cmd {
	if m.gallery.By != picture.Kitty {
		return nil
	}
	var cmds []tea.Cmd
	for _, id := range m.gallery.Freed() {
		cmds = append(cmds, tea.Raw(picture.KittyForget(id)))
	}
	for _, s := range shown {
		shot := m.gallery.Shot(s.Artefact)
		if s.Cols == 0 || shot == nil || shot.Picture == nil {
			continue
		}
		id := m.gallery.Name(shot)
		if size := [2]int{s.Cols, s.Rows}; shot.Sent != size {
			shot.Sent = size
			cmds = append(cmds, m.sendPicture(shot.Picture, id, s.Cols, s.Rows))
		}
	}
	return tea.Batch(cmds...)
}

func (m *model) sendPicture(p *picture.Picture, id, cols, rows int) tea.Cmd {
	w, h := m.gallery.CellW, m.gallery.CellH
	return func() tea.Msg {
		text, err := p.KittySend(id, cols, rows, w, h)
		if err != nil {
			return nil
		}
		return tea.RawMsg{Msg: text}
	}
}

// forgetPictures makes the terminal drop what it was given.
func (m *model) forgetPictures() tea.Cmd {
	var b strings.Builder
	for _, id := range m.gallery.Known() {
		b.WriteString(picture.KittyForget(id))
	}
	if b.Len() == 0 {
		return nil
	}
	return tea.Raw(b.String())
}

// place sees to pictures that the terminal draws over cells: when they have
// moved, the cells are half blocks again, and once they rest they are drawn.
func (m *model) place(shown []pane.Shown) tea.Cmd {
	if m.gallery.By != picture.ITerm && m.gallery.By != picture.Sixel {
		return nil
	}
	var now []placement
	for _, s := range shown {
		if s.Cols > 0 && s.Whole {
			now = append(now, placement{pane.RefOf(s.Artefact), s.X, s.Y, s.Cols, s.Rows})
		}
	}
	if slices.Equal(now, m.hung.placed) {
		return nil
	}
	var cmds []tea.Cmd
	if m.now.Sub(m.hung.paint) < 2*settleTime {
		cmds = append(cmds, tea.ClearScreen) // it may be drawn after the cells were
	}
	m.unplace()
	m.hung.placed = now
	if gen := m.hung.gen; len(now) > 0 {
		cmds = append(cmds, tea.Tick(restTime, func(time.Time) tea.Msg { return restMsg{gen} }))
	}
	return tea.Batch(cmds...)
}

// unplace turns the cells below drawn pictures over, which wipes them.
func (m *model) unplace() {
	m.hung.gen++
	m.hung.placed = nil
	if len(m.gallery.Painted) > 0 {
		m.gallery.Painted = map[pane.Ref]bool{}
		m.gallery.Changed()
	}
}

// onRest draws the cells below pictures that will be drawn, then the pictures.
func (m *model) onRest(msg restMsg) tea.Cmd {
	if msg.gen != m.hung.gen {
		return nil
	}
	if len(m.gallery.Painted) == 0 {
		for _, p := range m.hung.placed {
			m.gallery.Painted[p.ref] = true
		}
		m.gallery.Changed()
	}
	paint := m.painter()
	return tea.Tick(settleTime, func(time.Time) tea.Msg { return paintMsg{msg.gen, paint()} })
}

// painter makes the sequences that draw what is placed.
func (m *model) painter() func() string {
	placed, by, w, h, ground := m.hung.placed, m.gallery.By, m.gallery.CellW, m.gallery.CellH, pane.Ground(m.look)
	var shots []*picture.Picture
	for _, p := range placed {
		shots = append(shots, m.gallery.At(p.ref))
	}
	return func() string {
		var b strings.Builder
		for i, p := range placed {
			if shots[i] == nil {
				continue
			}
			if text, err := shots[i].Paint(by, p.x, p.y, p.cols, p.rows, w, h, ground); err == nil {
				b.WriteString(text)
			}
		}
		return b.String()
	}
}

func (m *model) onPaint(msg paintMsg) tea.Cmd {
	if msg.gen != m.hung.gen || msg.text == "" {
		return nil
	}
	m.hung.paint = m.now
	return tea.Raw(msg.text)
}
