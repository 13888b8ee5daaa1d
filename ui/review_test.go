package ui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"

	"kintsugi/ui/internal/demo"
)

func (w *wishes) Apply() { w.got = append(w.got, "apply") }

func (w *wishes) Take(c Choice) {
	var hunks []string
	for path, ids := range c.Hunks {
		hunks = append(hunks, path+":"+strings.Join(ids, "+"))
	}
	slices.Sort(hunks)
	w.got = append(w.got, fmt.Sprintf("take %s all=%v paths=%v hunks=%v confirm=%v", c.Checkpoint, c.All, c.Paths, hunks, c.Confirm))
}

// someChanges are one of each sort.
func someChanges() (Changes, error) {
	hunk := func(id, header, text string) Hunk {
		h := Hunk{ID: id, Header: header}
		for _, l := range demo.Lines(text) {
			h.Lines = append(h.Lines, DiffLine(l))
		}
		return h
	}
	return Changes{Checkpoint: "c2", Project: "/home/mira/weather", Files: []Change{
		{Path: ".envrc", What: "added", Size: 40, Held: "direnv runs it in every shell that enters the folder", Hunks: []Hunk{hunk("h0", "@@ -0,0 +1 @@", "+export PATH=./bin:$PATH\n")}},
		{Path: "README.md", What: "added", Size: 52, Hunks: []Hunk{hunk("h1", "@@ -0,0 +1,3 @@", demo.NewFile)}},
		{Path: "Makefile", What: "modified", Size: 90, Flag: "make: runs when you build", Parts: true, Hunks: []Hunk{hunk("h2", "@@ -1 +1 @@", "-all:\n+all: plot\n")}},
		{Path: "data/very/deep/folder/with/temps.csv", What: "modified", Size: 4096, Conflict: "you changed it since the box saw it"},
		{Path: "months.png", What: "added", Size: 14_336, NoText: "not text: 14 KB, was 0 B"},
		{Path: "pipe", What: "skipped", Skipped: "fifos, sockets and devices are not carried over"},
		{Path: "plot.py", What: "modified", Size: 240, Parts: true, Hunks: []Hunk{hunk("h3", "@@ -1,3 +1,3 @@", demo.FirstHunk), hunk("h4", "@@ -8,2 +8,2 @@", demo.LastHunk)}},
	}}, nil
}

func reviewRig(t *testing.T, w, h int) *rig {
	t.Helper()
	r := newRig(t, w, h, demo.Plot())
	r.o.Changes = someChanges
	r.press("alt+w")
	r.shows("Changes · 4 of 7 files accepted")
	return r
}

// What a key does can be written as well, under the name people look for and
// under its own.
func TestChangesByName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/diff", "/apply"} {
		r := newRig(t, 120, 40, demo.Plot())
		r.o.Changes = someChanges
		r.composer.set(name)
		r.press("enter")
		r.shows("Changes · 4 of 7 files accepted")
	}
}

func TestGoldenReview(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			r := reviewRig(t, size[0], size[1])
			files := trimmed(r.screen())
			r.press("down", "down", "down", "down", "down", "down", "enter", "down")
			golden.RequireEqual(t, files+"\n"+trimmed(r.screen()))
		})
	}
}

func TestFilesAreAcceptedAndRefused(t *testing.T) {
	t.Parallel()
	r := reviewRig(t, 120, 40)
	r.shows("[ ] A .envrc", "[x] A README.md", "[!] M data", "held back: direnv runs it", "2/2")
	r.press("w")
	r.shows("Bring 4 files to /home/mira/weather?")
	r.press("y")
	r.hides("Changes ·")
	if got := strings.Join(r.want.got, ";"); got != "take c2 all=true paths=[README.md Makefile months.png plot.py] hunks=[] confirm=[]" {
		t.Errorf("wishes are %q", got)
	}
}

func TestAHeldFileIsAcceptedByItsOwn(t *testing.T) {
	t.Parallel()
	r := reviewRig(t, 120, 40)
	r.press("n")
	r.shows("0 of 7")
	r.press("w")
	r.shows("nothing is accepted")
	r.press("space", "w")
	r.shows("With 1 file that other")
	r.press("y")
	if got := strings.Join(r.want.got, ";"); got != "take c2 all=false paths=[.envrc] hunks=[] confirm=[.envrc]" {
		t.Errorf("wishes are %q", got)
	}
}

func TestConflictsCannotBeAccepted(t *testing.T) {
	t.Parallel()
	r := reviewRig(t, 80, 24)
	r.press("down", "down", "down", "space")
	r.shows("cannot be accepted: you changed it")
	r.press("down", "down", "x")
	r.shows("cannot be accepted: fifos")
	r.shows("4 of 7")
}

func TestHunksAreAcceptedOneByOne(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 50}} {
		r := reviewRig(t, size[0], size[1])
		r.press("n", "down", "down", "down", "down", "down", "down", "enter")
		r.shows("[ ] @@ -1,3 +1,3 @@", "+ df = pd.read_csv")
		r.press("down", "space")
		r.shows("[x] @@ -8,2 +8,2 @@")
		r.press("esc")
		r.shows("[~] M plot.py", "1/2")
		r.press("w", "y")
		if got := strings.Join(r.want.got, ";"); got != "take c2 all=false paths=[] hunks=[plot.py:h4] confirm=[]" {
			t.Errorf("%v: wishes are %q", size, got)
		}
	}
}

func TestReviewIsLeftAndHelpKnowsIt(t *testing.T) {
	t.Parallel()
	r := reviewRig(t, 100, 30)
	r.press("?")
	r.shows("Keys and commands")
	r.press("end")
	r.shows("Signs")
	r.press("esc")
	r.shows("Changes ·")
	r.press("ctrl+p")
	r.typeText("refuse all")
	r.press("enter")
	r.shows("0 of 7")
	r.press("enter", "esc", "esc")
	r.hides("Changes ·")
	r.press("ctrl+p")
	r.typeText("refuse all")
	r.shows("only among the changes")
}

func TestReviewSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30, demo.Plot())
	r.o.Changes = func() (Changes, error) { return Changes{}, errors.New("the project is gone") }
	r.press("alt+w")
	r.shows("the project is gone")
	r.o.Changes = func() (Changes, error) { return Changes{}, nil }
	r.press("alt+w")
	r.shows("nothing to bring")
	r.o.Changes = nil
	r.press("alt+w")
	if got := strings.Join(r.want.got, ";"); got != "apply" {
		t.Errorf("wishes are %q", got)
	}
}

func TestReviewTakesTheMouse(t *testing.T) {
	t.Parallel()
	r := reviewRig(t, 120, 40)
	x, y := r.find("A README.md")
	r.click(x, y)
	r.click(x, y)
	r.shows("3 of 7", "[ ] A README.md")
	r.run(r.Update(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelDown}))
	r.shows("look: make: runs when you build")
}

func TestManyChangesAreScrolled(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24, nil)
	r.o.Changes = func() (Changes, error) {
		c := Changes{Checkpoint: "c1", Project: "/p", More: 12}
		for i := range 300 {
			c.Files = append(c.Files, Change{Path: fmt.Sprintf("file-%03d", i), What: "added"})
		}
		return c, nil
	}
	r.press("alt+w")
	for range 299 {
		r.press("down")
	}
	r.shows("file-299", "300 of 312 files")
	r.hides("file-000")
	r.press("w", "y")
	if got := r.want.got[0]; !strings.HasPrefix(got, "take c1 all=false paths=[file-000") {
		t.Errorf("wish is %.60q", got)
	}
}
