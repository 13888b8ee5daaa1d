package heal

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzDiagnose feeds arbitrary output: whatever it is, the diagnosis ends in
// bounded time, is complete, and never installs what the rules forbid.
func FuzzDiagnose(f *testing.F) {
	rules := load(f)
	for _, c := range readCorpus(f) {
		f.Add(c.Text, 1, c.Limit)
	}
	f.Add(strings.Repeat("No module named '", 3000), 1, "")
	f.Add(strings.Repeat("Traceback (most recent call last):\n", 500), 1, "")
	f.Add("\x1b]8;;\x1b[", 127, "")
	f.Add("File \"x\", line \nTraceback (most recent call last):\n  File \"\n", 1, "wall")
	f.Fuzz(func(t *testing.T, text string, exit int, limit string) {
		in := Input{Text: text, Exit: exit, Limit: limit, Argv: []string{"python3", "main.py"}, Files: []string{"main"}, Imports: []string{"os"}}
		start := time.Now()
		d := rules.Diagnose(in)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
		checkInvariants(t, in, d)
	})
}

// checkInvariants are what holds for every diagnosis.
func checkInvariants(t *testing.T, in Input, d Diagnosis) {
	t.Helper()
	if in.Exit == 0 && in.Limit == "" && (d.Kind != "" || d.Heal != None || len(d.Remedies) > 0) {
		t.Errorf("a program that ended well got %+v", d)
	}
	if d.Explanation == "" || d.Heal == "" {
		t.Errorf("incomplete: %+v", d)
	}
	if d.Heal == None && installs(d) {
		t.Errorf("heal none installs: %+v", d)
	}
	for _, r := range d.Remedies {
		if r.Origin == "" {
			t.Errorf("a remedy without origin: %+v", r)
		}
		if r.Action == "install" && (len(r.Packages) == 0 || r.Manager == "" || r.Trust == "" || r.Command == "") {
			t.Errorf("an incomplete install: %+v", r)
		}
		for _, p := range r.Packages {
			if p == "-" || strings.HasPrefix(p, "-") || strings.ContainsAny(p, "\n\x00/\\ ") && r.Manager == "pip" {
				t.Errorf("installs %q with %s", p, r.Manager)
			}
		}
	}
	if _, err := json.Marshal(d); err != nil {
		t.Errorf("cannot be written as JSON: %v", err)
	}
	if utf8.ValidString(in.Text) && !utf8.ValidString(d.Subject+d.Explanation+strings.Join(d.Evidence, "")) {
		t.Errorf("broken text: %+v", d)
	}
}

// TestInvariants holds them up against the corpus under other circumstances:
// other endings, colours, Windows line ends, cut and doubled texts.
func TestInvariants(t *testing.T) {
	t.Parallel()
	rules := load(t)
	for i, c := range readCorpus(t) {
		if raceEnabled && i%8 > 0 {
			continue
		}
		for _, text := range []string{
			c.Text, strings.ReplaceAll(c.Text, "\n", "\r\n"), "\x1b[31m" + c.Text + "\x1b[0m",
			c.Text[:len(c.Text)/2], c.Text + c.Text,
		} {
			for _, exit := range []int{-1, 0, 127} {
				in := c.input()
				in.Text, in.Exit = text, exit
				checkInvariants(t, in, rules.Diagnose(in))
			}
		}
	}
}

// TestDressesDoNotMatter: colours, Windows line ends and a long log before an
// error change nothing.
func TestDressesDoNotMatter(t *testing.T) {
	t.Parallel()
	rules := load(t)
	for i, c := range readCorpus(t) {
		if raceEnabled && i%8 > 0 || strings.Contains(c.Text, "\r") || strings.Contains(c.Text, "\x1b") {
			continue
		}
		want := rules.Diagnose(c.input())
		for name, text := range map[string]string{
			"crlf":    strings.ReplaceAll(c.Text, "\n", "\r\n"),
			"colours": "\x1b[1;31m" + strings.ReplaceAll(c.Text, "Error", "\x1b[4mError\x1b[24m") + "\x1b[0m",
			"log":     strings.Repeat("INFO step done, going on\n", 300) + c.Text,
		} {
			in := c.input()
			in.Text = text
			if got := rules.Diagnose(in); got.Kind != want.Kind || got.Subject != want.Subject || got.Heal != want.Heal {
				t.Errorf("%s as %s: %s %q %s, want %s %q %s", c.ID, name, got.Kind, got.Subject, got.Heal, want.Kind, want.Subject, want.Heal)
			}
		}
	}
}
