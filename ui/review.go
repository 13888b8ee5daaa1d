package ui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"kintsugi/ui/internal/look"
)

// Changes are what the session would bring to the real project.
type Changes struct {
	// Checkpoint is the one that was compared, Project where they would go.
	Checkpoint, Project string
	Files               []Change
	// More counts the paths that were left out of Files.
	More int
}

// Change is a path that differs between the session and the project.
type Change struct {
	Path string
	What string // "added", "modified", "deleted", …
	Size int64  // bytes, of a file that is there afterwards
	// Conflict says how the user changed the file meanwhile, Skipped why it
	// cannot be carried over: such a change cannot be accepted. Held says which
	// tool would run the file by itself: it must be accepted by its own. Flag
	// points something out.
	Conflict, Skipped, Held, Flag string
	// NoText says why there are no hunks: binary, too large.
	NoText string
	Hunks  []Hunk
	// Parts says that single hunks can be accepted.
	Parts bool
}

// Hunk is a group of neighbouring changed lines.
type Hunk struct {
	ID, Header string
	Lines      []DiffLine
}

// DiffLine is one line of a hunk. Op is ' ', '-' or '+'.
type DiffLine struct {
	Op   byte
	Text string
}

// Choice is what the user accepted of the changes of a checkpoint.
type Choice struct {
	Checkpoint string
	// All is everything that can be accepted without a word of its own.
	All   bool
	Paths []string
	// Hunks are parts of files that are not in Paths.
	Hunks map[string][]string
	// Confirm are held-back paths that were accepted.
	Confirm []string
}

// Taker is for Intents that bring chosen changes to the real project.
type Taker interface {
	Take(Choice)
}

// changesMsg brings the changes that were asked for.
type changesMsg struct {
	changes Changes
	err     error
}

// openReview asks for the changes and shows them once they are there.
func (m *model) openReview() tea.Cmd {
	compare := m.o.Changes
	if _, ok := m.o.Intents.(Taker); !ok || compare == nil {
		return m.intend(func(i Intents) { i.(Applier).Apply() })
	}
	m.say("comparing with the project")
	return func() tea.Msg {
		c, err := compare()
		return changesMsg{c, err}
	}
}

func (m *model) onChanges(msg changesMsg) {
	switch {
	case msg.err != nil:
		m.say(msg.err.Error())
	case len(msg.changes.Files) == 0:
		m.say("there is nothing to bring to the project")
	default:
		m.toast = ""
		m.open(newReview(msg.changes))
	}
}

// review is the screen of changes: what was accepted of each.
type review struct {
	Changes
	marks  []mark
	at     int  // the chosen file
	top    int  // the first file that is shown
	inside bool // the hunks have the keys
	hunk   int  // the chosen hunk
	scroll int  // the first row of the hunks that is shown
	free   bool // the hunks were moved by rows, not by hunks
}

// mark is what was accepted of a file: all of it, or some of its hunks.
type mark struct {
	all   bool
	hunks map[int]bool
}

func newReview(c Changes) *review {
	d := &review{Changes: c, marks: make([]mark, len(c.Files))}
	for i, f := range c.Files {
		d.marks[i].all = f.Conflict == "" && f.Skipped == "" && f.Held == ""
	}
	return d
}

// file is the chosen one.
func (d *review) file() *Change { return &d.Files[d.at] }

// fixed says why nothing of a change can be accepted.
func (c *Change) fixed() string {
	if c.Conflict != "" {
		return c.Conflict
	}
	return c.Skipped
}

// takes says how much of file i is accepted: of all its hunks, or 1 of 1.
func (d *review) takes(i int) (n, of int) {
	f, k := &d.Files[i], d.marks[i]
	of = max(len(f.Hunks), 1)
	if !f.Parts {
		of = 1
	}
	if k.all {
		return of, of
	}
	return len(k.hunks), of
}

// toggleFile accepts a file or refuses it.
func (d *review) toggleFile() {
	n, of := d.takes(d.at)
	d.marks[d.at] = mark{all: n < of}
}

// toggleHunk accepts a hunk or refuses it.
func (d *review) toggleHunk() {
	f, k := d.file(), &d.marks[d.at]
	if !f.Parts || len(f.Hunks) == 0 {
		d.toggleFile()
		return
	}
	if k.hunks == nil {
		k.hunks = map[int]bool{}
	}
	if k.all {
		for i := range f.Hunks {
			k.hunks[i] = true
		}
		k.all = false
	}
	if k.hunks[d.hunk] {
		delete(k.hunks, d.hunk)
	} else {
		k.hunks[d.hunk] = true
	}
	if len(k.hunks) == len(f.Hunks) {
		*k = mark{all: true}
	}
}

// every accepts all files that need no word of their own, or refuses all.
func (d *review) every(yes bool) {
	for i := range d.Files {
		f := &d.Files[i]
		d.marks[i] = mark{all: yes && f.fixed() == "" && f.Held == ""}
	}
}

// choice is what was accepted, and how many files that are.
func (d *review) choice() (c Choice, files int) {
	c = Choice{Checkpoint: d.Checkpoint, All: d.More == 0}
	for i := range d.Files {
		f := &d.Files[i]
		n, of := d.takes(i)
		switch {
		case n == 0 && f.fixed() == "" && f.Held == "":
			c.All = false
		case n == of:
			c.Paths = append(c.Paths, f.Path)
		case n > 0:
			c.All = false
			c.addHunks(f, d.marks[i])
		}
		if n > 0 {
			files++
			if f.Held != "" {
				c.Confirm = append(c.Confirm, f.Path)
			}
		}
	}
	return c, files
}

func (c *Choice) addHunks(f *Change, k mark) {
	if c.Hunks == nil {
		c.Hunks = map[string][]string{}
	}
	for i := range f.Hunks {
		if k.hunks[i] {
			c.Hunks[f.Path] = append(c.Hunks[f.Path], f.Hunks[i].ID)
		}
	}
}

// The actions of the bindings.

func reviewBindings() []binding {
	return []binding{
		{id: "review-up", keys: []string{"up", "k"}, help: "the file or hunk before", scope: onReview, do: inReview(func(d *review) { d.move(-1) }), unless: (*model).noReview},
		{id: "review-down", keys: []string{"down", "j"}, help: "the next file or hunk", scope: onReview, do: inReview(func(d *review) { d.move(1) }), unless: (*model).noReview},
		{id: "review-page-up", keys: []string{"pgup", "b"}, help: "scroll the changed lines up", scope: onReview, do: inReview(func(d *review) { d.rows(-10) }), unless: (*model).noReview},
		{id: "review-page-down", keys: []string{"pgdown"}, help: "scroll the changed lines down", scope: onReview, do: inReview(func(d *review) { d.rows(10) }), unless: (*model).noReview},
		{id: "review-accept", keys: []string{"space", "x"}, help: "accept the file or hunk, or refuse it", short: "accept or refuse", scope: onReview, do: (*model).acceptChange, unless: (*model).noReview},
		{id: "review-enter", keys: []string{"enter", "right", "tab", "l"}, help: "from the files to their hunks", short: "hunks", scope: onReview, do: inReview(func(d *review) { d.enter() }), unless: (*model).noReview},
		{id: "review-back", keys: []string{"esc", "left", "shift+tab", "h", "q"}, help: "back to the files; leave the changes", short: "back", scope: onReview, do: (*model).leaveReview, unless: (*model).noReview},
		{id: "review-all", keys: []string{"a"}, help: "accept all that needs no word of its own", scope: onReview, do: inReview(func(d *review) { d.every(true) }), unless: (*model).noReview},
		{id: "review-none", keys: []string{"n"}, help: "refuse all", scope: onReview, do: inReview(func(d *review) { d.every(false) }), unless: (*model).noReview},
		{id: "review-take", keys: []string{"w", "alt+w"}, help: "bring what is accepted to the real project", short: "bring to the project", scope: onReview, do: (*model).takeChanges, unless: (*model).noReview},
	}
}

// reviewed is the review that is open, nil for none.
func (m *model) reviewed() *review {
	d, _ := m.dialog().(*review)
	return d
}

func (m *model) noReview() string {
	if m.reviewed() == nil {
		return "only among the changes"
	}
	return ""
}

// inReview makes an action of something that needs the review alone.
func inReview(f func(*review)) func(*model) tea.Cmd {
	return act(func(m *model) { f(m.reviewed()) })
}

// move goes to another file or hunk.
func (d *review) move(n int) {
	if !d.inside {
		d.at = clamp(d.at+n, 0, len(d.Files)-1)
		d.hunk, d.scroll, d.free = 0, 0, false
		return
	}
	d.hunk, d.free = clamp(d.hunk+n, 0, max(len(d.file().Hunks)-1, 0)), false
}

// rows scrolls the hunks.
func (d *review) rows(n int) { d.scroll, d.free = max(d.scroll+n, 0), true }

// enter goes from the files to the hunks of the chosen one, and back.
func (d *review) enter() { d.inside = !d.inside }

func (m *model) acceptChange() tea.Cmd {
	d := m.reviewed()
	if why := d.file().fixed(); why != "" {
		m.say("cannot be accepted: " + why)
		return m.animate()
	}
	if d.inside {
		d.toggleHunk()
	} else {
		d.toggleFile()
	}
	return nil
}

func (m *model) leaveReview() tea.Cmd {
	if d := m.reviewed(); d.inside {
		d.inside = false
	} else {
		m.close(d)
	}
	return nil
}

// takeChanges asks once more, and brings what was accepted to the project.
func (m *model) takeChanges() tea.Cmd {
	d := m.reviewed()
	choice, files := d.choice()
	if files == 0 {
		m.say("nothing is accepted")
		return m.animate()
	}
	question := fmt.Sprintf("Bring %s to %s?", look.Plural(files, "file"), d.Project)
	if n := len(choice.Confirm); n > 0 {
		question += fmt.Sprintf(" With %s that other tools run by themselves.", look.Plural(n, "file"))
	}
	m.open(newConfirm(question, "Bring them", func(m *model) tea.Cmd {
		m.close(d)
		m.say("bringing " + look.Plural(files, "file") + " to the project")
		return m.intend(func(i Intents) { i.(Taker).Take(choice) })
	}))
	return nil
}
