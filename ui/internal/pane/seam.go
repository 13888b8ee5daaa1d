package pane

import (
	"path"
	"slices"
	"strings"
	"time"

	"kintsugi/agent/event"
	"kintsugi/themes"
	"kintsugi/ui/internal/cell"
	"kintsugi/ui/internal/look"
)

// Seam draws a seam: the gold line with its text in it, or below it where the
// line is too short. A part below 1 leaves the rest of the line as a crack.
func Seam(l *look.Look, w int, text string, took time.Duration, part float64) []cell.Row {
	text = cell.Safe(text)
	if cell.Width(text)+cell.Width(look.Duration(took))+10 <= w {
		return []cell.Row{flow(l, goldLine(l, w, text, took), w, part)}
	}
	rows := []cell.Row{flow(l, goldLine(l, w, l.Face(look.Mended).Word, took), w, part)}
	return append(rows, cell.WrapWords([]cell.Span{cell.S(l.GoldText, text)}, w, nil)...)
}

// goldLine is a rule that brightens towards its text and fades to the other
// side, as gold runs along a crack. It is w cells wide.
func goldLine(l *look.Look, w int, text string, took time.Duration) cell.Row {
	g := l.Glyphs
	after := ""
	if took > 0 {
		after = " " + look.Duration(took)
	}
	room := w - 8 - cell.Width(after)
	if room < 6 {
		after, room = "", max(w-8, 1)
	}
	text = cell.Truncate(text, room)
	lead := 3
	tail := w - lead - cell.Width(text) - cell.Width(after) - 4
	row := gold(l, lead, false)
	row = append(row, cell.S(l.Style(themes.GoldBright), g.SeamL+" "+text+" "+g.SeamR))
	row = append(row, gold(l, tail, true)...)
	if after != "" {
		row = append(row, cell.S(l.Gold, after))
	}
	return row
}

// flow shows the first part of a gold line, and the crack that is left.
func flow(l *look.Look, row cell.Row, w int, part float64) cell.Row {
	gold := int(part * float64(w))
	if gold >= w {
		return row
	}
	out := cell.Row{}
	for _, s := range row {
		n := cell.Width(s.Text)
		if n > gold {
			s.Text, n = cell.Head(s.Text, gold), gold
		}
		if gold -= n; s.Text != "" {
			out = append(out, s)
		}
	}
	return append(out, cell.S(l.Border, strings.Repeat(l.Glyphs.H, w-out.Width())))
}

// shades is the number of steps from deep to bright gold.
const shades = 8

// gold is a rule of n cells, from deep to bright or the other way.
func gold(l *look.Look, n int, fading bool) cell.Row {
	var row cell.Row
	for s, from := 0, 0; s < shades && n > 0; s++ {
		to := (s + 1) * n / shades
		part := float64(s) / (shades - 1)
		if fading {
			part = 1 - part
		}
		if to > from {
			style := l.Mix(themes.GoldDeep, themes.GoldBright, part)
			row = append(row, cell.S(style, strings.Repeat(l.Glyphs.Seams, to-from)))
		}
		from = to
	}
	return row
}

// ghost says that an attempt never was: something is installed that no failure
// asked for.
func ghost(a *event.AttemptState) bool {
	return a.End == nil && a.Box == "" && len(a.Attempt.Argv) == 0
}

// attemptStatus is how an attempt stands.
func attemptStatus(a *event.AttemptState, over bool) look.Status {
	switch {
	case a.End == nil && over:
		return look.Skipped
	case a.End == nil:
		return look.Running
	case a.End.Limit != "":
		return look.Limited
	case a.End.Exit == 0 && a.End.Signal == "":
		return look.Worked
	}
	return look.Failed
}

// ending says in words how an attempt ended, empty when it worked.
func ending(a *event.AttemptState) string {
	switch e := a.End; {
	case e == nil:
		return ""
	case e.Limit != "":
		return e.Limit + " limit"
	case e.Signal != "":
		return e.Signal
	case e.Exit != 0:
		return "exit " + look.Count(e.Exit)
	}
	return ""
}

// attemptTime is how long an attempt took, or has been running.
func attemptTime(a *event.AttemptState, now time.Time) time.Duration {
	if a.End != nil {
		return a.End.Took
	}
	return max(now.Sub(a.Start), 0)
}

func remedyStatus(r *event.RemedyState, over bool) look.Status {
	switch {
	case r.End == nil && over:
		return look.Skipped
	case r.End == nil:
		return look.Mending
	case r.End.OK:
		return look.Worked
	}
	return look.Failed
}

func remedyTime(r *event.RemedyState, now time.Time) time.Duration {
	if r.End != nil {
		return r.End.Took
	}
	return max(now.Sub(r.Start), 0)
}

func remedyTitle(r *event.RemedyState) string {
	if r.Title != "" {
		return r.Title
	}
	return strings.TrimSpace(r.Action + " " + strings.Join(r.Packages, " "))
}

// failureTitle is a failure in a few words: "missing module pandas".
func failureTitle(f *event.Failure) string {
	kind := strings.ReplaceAll(f.What, "_", " ")
	if strings.Contains(kind, f.Subject) {
		return kind
	}
	return strings.TrimSpace(kind + " " + f.Subject)
}

// over says that nothing of a step will change any more.
func over(st *event.Step) bool { return st.Done || st.Cut }

// stepTitle names a step by its command, its task or what it does.
func stepTitle(st *event.Step) string {
	switch {
	case len(st.Calls) > 0:
		return callTitle(st.Calls[0])
	case len(st.Attempts) > 0 && len(st.Attempts[0].Argv) > 0:
		return callTitle(event.Call{Argv: st.Attempts[0].Argv})
	case st.Task != "":
		return oneLine(st.Task)
	case st.Answer != "" || over(st):
		return "answer"
	}
	return "thinking"
}

// callTitle is a call as one line. The folders of long paths are left out.
func callTitle(c event.Call) string {
	switch {
	case len(c.Argv) > 0:
		short := slices.Clone(c.Argv)
		for i, a := range short {
			if path.IsAbs(a) && !strings.ContainsAny(a, " \n") {
				short[i] = path.Base(a)
			}
		}
		return oneLine(look.Command(short))
	case c.Text != "":
		return c.Tool + " " + oneLine(c.Text)
	}
	return c.Tool
}

func oneLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return strings.TrimSpace(s[:i]) + " …"
	}
	return s
}

// stepStatus is how a step stands.
func stepStatus(st *event.Step) look.Status {
	switch {
	case st.Cut:
		return look.Skipped
	case !st.Done:
		return look.Running
	case st.OK:
		return look.Worked
	}
	return look.Failed
}

func stepTime(st *event.Step, now time.Time) time.Duration {
	if st.Start.IsZero() {
		return 0
	}
	if !st.End.IsZero() {
		return max(st.End.Sub(st.Start), 0)
	}
	if over(st) {
		return 0
	}
	return max(now.Sub(st.Start), 0)
}
