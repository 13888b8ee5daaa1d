package ui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// besides is the width from which files and hunks stand side by side.
const besides = 84

// Title implements dialog.
func (d *review) Title() string {
	n := 0
	for i := range d.Files {
		if k, _ := d.takes(i); k > 0 {
			n++
		}
	}
	return fmt.Sprintf("Changes · %d of %s accepted", n, look.Plural(len(d.Files)+d.More, "file"))
}

// Size implements sized: all that the screen has.
func (d *review) Size() (int, bool) { return 1 << 16, false }

// Hint implements dialog.
func (d *review) Hint() string {
	if d.inside {
		return "Space accept · Esc files · w to project · ? keys"
	}
	return "Space accept · Enter hunks · w to project · ? keys"
}

// Key implements dialog: the keys are those of the table.
func (d *review) Key(m *model, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	key := msg.String()
	if key == "?" {
		key = "f1"
	}
	b := m.find(key, placeReview)
	if b == nil || b.scope != onReview && b.id != "palette" && b.id != "help" {
		return nil, false
	}
	return m.perform(b), false
}

// Click implements clicker: a click on a file chooses it, on its mark accepts
// it.
func (d *review) Click(m *model, row int) (tea.Cmd, bool) {
	if i := d.top + row; !d.inside && i >= 0 && i < len(d.Files) {
		if again := i == d.at; again {
			return m.acceptChange(), false
		}
		d.move(i - d.at)
	}
	return nil, false
}

// Rows implements dialog.
func (d *review) Rows(l *look.Look, w, h int) []cell.Row {
	if w < besides {
		if d.inside {
			return d.hunkRows(l, w, h)
		}
		return d.fileRows(l, w, h)
	}
	left := clamp(w*2/5, 30, 52)
	files, hunks := d.fileRows(l, left, h), d.hunkRows(l, w-left-3, h)
	line := cell.S(over(l, themes.Border), " "+l.Glyphs.V+" ")
	out := make([]cell.Row, h)
	for i := range out {
		row := pad(l, files[i], left)
		out[i] = append(append(row, line), hunks[i]...)
	}
	return out
}

// pad fills a row to w cells.
func pad(l *look.Look, row cell.Row, w int) cell.Row {
	row = row.Cut(w)
	return append(row, cell.Span{Style: over(l, themes.Text), Text: cell.Spaces(w - row.Width())})
}

// fileRows lists the files: exactly h rows.
func (d *review) fileRows(l *look.Look, w, h int) []cell.Row {
	d.top = clamp(d.top, d.at-h+1, d.at)
	d.top = clamp(d.top, 0, max(len(d.Files)-h, 0))
	rows := make([]cell.Row, 0, h)
	for i := d.top; i < len(d.Files) && len(rows) < h; i++ {
		f := &d.Files[i]
		text := d.sign(i) + " " + f.letter() + " "
		right := f.right(d, i)
		name := cell.Middle(cell.Safe(f.Path), max(w-cell.Width(text)-cell.Width(right)-3, 6))
		rows = append(rows, choiceRow(l, i == d.at && !d.inside, text+name, right, w))
	}
	if d.More > 0 && len(rows) < h {
		rows = append(rows, cell.Row{cell.S(over(l, themes.Muted), fmt.Sprintf("  … and %d more; see: kintsugi diff", d.More))})
	}
	return append(rows, make([]cell.Row, h-len(rows))...)
}

// sign says how much of a file is accepted.
func (d *review) sign(i int) string {
	n, of := d.takes(i)
	switch {
	case d.Files[i].fixed() != "":
		return "[!]"
	case n == of:
		return "[x]"
	case n > 0:
		return "[~]"
	}
	return "[ ]"
}

// letter is the kind of a change, as status lists have it.
func (c *Change) letter() string { return strings.ToUpper(c.What[:min(1, len(c.What))]) }

// right is what stands at the right of a file: why not, or how many hunks.
func (c *Change) right(d *review, i int) string {
	n, of := d.takes(i)
	switch {
	case c.Conflict != "":
		return "conflict"
	case c.Skipped != "":
		return "skipped"
	case c.Held != "" && n == 0:
		return "held back"
	case c.Parts && of > 1:
		return fmt.Sprintf("%d/%d", n, of)
	}
	return ""
}

// hunkRows shows what changed in the chosen file: exactly h rows.
func (d *review) hunkRows(l *look.Look, w, h int) []cell.Row {
	rows := d.about(l, w)
	starts := make([]int, 0, len(d.file().Hunks))
	for i := range d.file().Hunks {
		starts = append(starts, len(rows))
		rows = append(rows, d.hunkText(l, i, w)...)
	}
	if !d.free && d.hunk < len(starts) {
		first := starts[d.hunk]
		if d.hunk == 0 {
			first = 0
		}
		d.scroll = first
	}
	d.scroll = clamp(d.scroll, 0, max(len(rows)-h, 0))
	rows = rows[d.scroll:min(d.scroll+h, len(rows))]
	return append(rows, make([]cell.Row, h-len(rows))...)
}

// about says what the chosen change is, and why it is not simply accepted.
func (d *review) about(l *look.Look, w int) []cell.Row {
	f := d.file()
	what := f.What
	if f.Size > 0 {
		what += " " + l.Glyphs.Dot + " " + look.Bytes(f.Size)
	}
	rows := []cell.Row{
		cell.Between(cell.Row{cell.S(over(l, themes.Heading), cell.Middle(cell.Safe(f.Path), max(w-cell.Width(what)-2, 8)))},
			cell.Row{cell.S(over(l, themes.Muted), what)}, w, over(l, themes.Text)),
	}
	for _, r := range []struct{ word, why string }{
		{"conflict", f.Conflict}, {"skipped", f.Skipped}, {"held back", f.heldText()}, {"look", f.Flag}, {"", f.NoText},
	} {
		if r.why == "" {
			continue
		}
		text := l.Glyphs.Warn + " " + r.word + ": " + r.why
		style := over(l, themes.Warn)
		if r.word == "" {
			text, style = r.why, over(l, themes.Muted)
		}
		rows = append(rows, cell.WrapWords([]cell.Span{cell.S(style, text)}, w, cell.Row{cell.S(style, "  ")})...)
	}
	return append(rows, nil)
}

func (c *Change) heldText() string {
	if c.Held == "" {
		return ""
	}
	return c.Held + ". Accept it by its own only if you have read it."
}

// hunkText draws a hunk: its head with what was accepted, and its lines.
func (d *review) hunkText(l *look.Look, i, w int) []cell.Row {
	f, k := d.file(), d.marks[d.at]
	sign := "[ ] "
	if k.all || k.hunks[i] {
		sign = "[x] "
	}
	if !f.Parts || f.fixed() != "" {
		sign = ""
	}
	rows := []cell.Row{choiceRow(l, d.inside && i == d.hunk, sign+f.Hunks[i].Header, "", w)}
	for _, line := range f.Hunks[i].Lines {
		style := over(l, themes.Muted)
		switch line.Op {
		case '+':
			style = over(l, themes.OK)
		case '-':
			style = over(l, themes.Error)
		}
		text := strings.TrimRight(line.Text, "\r\n")
		rows = append(rows, cell.Row{cell.S(style, string(line.Op)+" "+text)}.Cut(w))
	}
	return append(rows, nil)
}
