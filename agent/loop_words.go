package agent

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"

	"kintsugi/agent/model"
	"kintsugi/sandbox/inert"
)

// prompts are what the loop says to a model, one file each.
//
//go:embed prompts/*.md
var prompts embed.FS

// prompt fills in a prompt. The templates are embedded and tested, so one that
// fails is shown as it is.
func (l *Loop) prompt(name string, data any) string {
	raw, err := prompts.ReadFile("prompts/" + name)
	if err != nil {
		return name
	}
	t, err := template.New(name).Parse(string(raw))
	if err != nil {
		return string(raw)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return string(raw)
	}
	return strings.TrimSpace(b.String())
}

func (l *Loop) systemPrompt() string {
	return l.prompt("system.md", map[string]any{"Facts": l.Facts})
}

// Bounds of what a model is told about a run, in bytes.
const (
	headTold     = 1000
	tailTold     = 2200
	evidenceTold = 900
	printedTold  = 300
	whyTold      = 400
	factsTold    = 300
)

// success is what success.md shows.
type success struct{ Output, Changed, Healed string }

func successOf(out Outcome) success {
	text := out.Stdout
	if strings.TrimSpace(text) == "" {
		text = out.Stderr
	}
	return success{Output: ends(text, headTold, tailTold), Changed: some(out.Changed, 12), Healed: strings.Join(out.Tried, ", ")}
}

// failure is what failure.md shows.
type failure struct {
	Tool, What, Why, Evidence, Printed, Tried, Facts string
	Again                                            int
}

func (l *Loop) failureOf(c model.Call, out Outcome) failure {
	f := failure{Tool: c.Name, What: whatFailed(out), Tried: strings.Join(out.Tried, ", ")}
	text := out.Stderr
	if strings.TrimSpace(text) == "" {
		text = out.Stdout
	} else {
		f.Printed = strings.TrimSpace(ends(out.Stdout, 0, printedTold))
	}
	f.Evidence = ends(text, 0, evidenceTold)
	if d := out.Diagnosis; d != nil {
		f.Why = line(d.Explanation, whyTold)
		if len(d.Evidence) > 0 && len(text) > evidenceTold {
			f.Evidence = ends(strings.Join(d.Evidence, "\n"), 0, evidenceTold/2) + "\n…\n" + ends(text, 0, evidenceTold/2)
		}
		if strings.HasPrefix(d.Kind, "missing") {
			f.Facts = line(l.Facts, factsTold)
		}
	}
	return f
}

// limits are the limits of a box, in words for a model.
var limits = map[string]string{
	"wall": "it ran too long and was stopped", "cpu": "it used too much processor time and was stopped",
	"memory": "it used too much memory and was stopped", "processes": "it started too many processes",
	"filesize": "it wrote a file that is too large", "disk": "it filled the disk", "output": "it printed too much",
}

func whatFailed(out Outcome) string {
	what := fmt.Sprintf("exit code %d", out.Exit)
	if words, ok := limits[out.Limit]; ok {
		what = words
	}
	if d := out.Diagnosis; d != nil && d.Kind != "" {
		what += ", " + failureName(*d)
	}
	return what
}

// ends keeps the first and the last bytes of a text, in whole characters.
func ends(text string, head, tail int) string {
	text = strings.TrimRight(text, "\n")
	if len(text) <= head+tail {
		return text
	}
	a, b := text[:head], text[len(text)-tail:]
	for len(a) > 0 && !utf8.ValidString(a) {
		a = a[:len(a)-1]
	}
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	if i := strings.IndexByte(b, '\n'); i >= 0 && i < len(b)/2 {
		b = b[i+1:]
	}
	left := len(text) - len(a) - len(b)
	return strings.TrimLeft(fmt.Sprintf("%s\n… (%d bytes left out)\n%s", a, left, b), "\n")
}

// line makes one line of at most n bytes or so.
func line(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// harmless makes control sequences in text visible instead of active.
func harmless(text string) string { return inert.String(text) }
