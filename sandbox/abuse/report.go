package abuse

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"kintsugi/sandbox/inert"
)

// Outcome is what a case came to.
type Outcome string

// The outcomes.
const (
	Held      Outcome = "held"
	Breach    Outcome = "breach"
	Undecided Outcome = "undecided" // the probe could not find out; counts as a breach
	ByDesign  Outcome = "shared"
	Declared  Outcome = "declared" // breached, but the runtime says itself that the kernel does not enforce it here
	None      Outcome = "not applicable"
	Proven    Outcome = "elsewhere"
	Pending   Outcome = "later"
	Untried   Outcome = "untried" // only listed
)

// Entry is one line of a report.
type Entry struct {
	Number  int         `json:"number"`
	Chapter string      `json:"chapter"`
	Title   string      `json:"title"`
	Expect  Expectation `json:"expect"`
	Outcome Outcome     `json:"outcome"`
	// Milliseconds that the case took.
	Milliseconds int64  `json:"ms"`
	Detail       string `json:"detail"`
}

// Report is what the whole table came to in one runtime.
type Report struct {
	Runtime string  `json:"runtime"`
	User    string  `json:"user"`
	Entries []Entry `json:"cases"`
	// Milliseconds that all cases took together.
	Milliseconds int64 `json:"ms"`
}

// Breaches are the cases that were breached, and those whose probe could not
// find out.
func (r Report) Breaches() []Entry {
	var out []Entry
	for _, e := range r.Entries {
		if e.Outcome == Breach || e.Outcome == Undecided {
			out = append(out, e)
		}
	}
	return out
}

// Count tells how many cases came to each outcome.
func (r Report) Count() map[Outcome]int {
	out := map[Outcome]int{}
	for _, e := range r.Entries {
		out[e.Outcome]++
	}
	return out
}

// Summary is one line: how many cases came to what.
func (r Report) Summary() string {
	n := r.Count()
	return fmt.Sprintf("%s as %s: %d held, %d breached, %d undecided, %d weaker as declared, "+
		"%d shared by design, %d not applicable, "+
		"%d proven elsewhere, %d to come; %.1f s", r.Runtime, r.User, n[Held], n[Breach], n[Undecided], n[Declared], n[ByDesign],
		n[None], n[Proven], n[Pending], time.Duration(r.Milliseconds*int64(time.Millisecond)).Seconds())
}

// mark gives each outcome a glyph, so that colour is never needed.
func (o Outcome) mark() string {
	switch o {
	case Held:
		return "✓"
	case Breach:
		return "✗"
	case Undecided:
		return "?"
	case ByDesign, Declared:
		return "≈"
	}
	return "·"
}

// WriteTable prints the report for people, one line a case. Details are cut
// to width columns; 0 leaves them whole.
func (r Report) WriteTable(w io.Writer, width int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "No\tChapter\tCase\tExpected\tOutcome\tms\tDetail")
	for _, e := range r.Entries {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s %s\t%d\t%s\n", e.Number, e.Chapter, e.Title, e.Expect.Kind,
			e.Outcome.mark(), e.Outcome, e.Milliseconds, cut(e.Detail, width))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, r.Summary())
	return err
}

// cut makes a detail fit on a line of a table and harmless for a terminal.
func cut(s string, width int) string {
	s = inert.String(s, inert.NoColour)
	clean := make([]rune, 0, len(s))
	for _, r := range s {
		if r == '\n' || r == '\t' {
			r = ' '
		}
		clean = append(clean, r)
	}
	if width > 0 && utf8.RuneCountInString(s) > width {
		return string(clean[:width-1]) + "…"
	}
	return string(clean)
}

// WriteJSON prints the report for programs.
func (r Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
