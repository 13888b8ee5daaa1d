package heal

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// corpusCase is one line of testdata/cases.jsonl: an error text, the
// circumstances, and what the diagnosis must be. Fields that are absent are
// not checked; Exit is 1 when absent.
type corpusCase struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Exit    *int     `json:"exit"`
	Limit   string   `json:"limit"`
	Signal  string   `json:"signal"`
	Files   []string `json:"files"`
	Imports []string `json:"imports"`
	Python  string   `json:"python"`
	Argv    []string `json:"argv"`

	Kind      string   `json:"kind"`
	Heal      Class    `json:"heal"`
	Subject   *string  `json:"subject"`
	Has       []string `json:"has"`       // each in the commands of the remedies
	NotHas    string   `json:"nothas"`    // in none of them
	Trust     Trust    `json:"trust"`     // of the first install
	Near      string   `json:"near"`      // among DidYouMean
	NoInstall bool     `json:"noinstall"` // no remedy installs
}

func (c *corpusCase) input() Input {
	exit := 1
	if c.Exit != nil {
		exit = *c.Exit
	}
	return Input{
		Text: c.Text, Exit: exit, Limit: c.Limit, Signal: c.Signal, Argv: c.Argv,
		Files: c.Files, Imports: c.Imports, Python: c.Python,
	}
}

func readCorpus(t testing.TB) []corpusCase {
	t.Helper()
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []corpusCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", len(out)+1, err)
		}
		out = append(out, c)
	}
	return out
}

// TestCorpus diagnoses every case and checks kind, class, subject, remedies
// and trust.
func TestCorpus(t *testing.T) {
	t.Parallel()
	rules := load(t)
	cases := readCorpus(t)
	if len(cases) < 250 {
		t.Fatalf("only %d cases were read", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			c.check(t, rules.Diagnose(c.input()))
		})
	}
}

func (c *corpusCase) check(t *testing.T, d Diagnosis) {
	t.Helper()
	if d.Kind != c.Kind || d.Heal != c.Heal {
		t.Errorf("got %s/%s by %s, want %s/%s", d.Kind, d.Heal, d.Rule, c.Kind, c.Heal)
	}
	if c.Subject != nil && d.Subject != *c.Subject {
		t.Errorf("subject %q, want %q (by %s)", d.Subject, *c.Subject, d.Rule)
	}
	all := strings.Join(commands(d), "\n")
	for _, h := range c.Has {
		if !strings.Contains(all, h) {
			t.Errorf("remedies lack %q (by %s):\n%s", h, d.Rule, all)
		}
	}
	if c.NotHas != "" && strings.Contains(all, c.NotHas) {
		t.Errorf("remedies have %q:\n%s", c.NotHas, all)
	}
	if (c.NoInstall || c.Heal == None) && installs(d) {
		t.Errorf("proposes an install (by %s):\n%s", d.Rule, all)
	}
	if got := firstTrust(d); c.Trust != "" && got != c.Trust {
		t.Errorf("trust %q, want %q", got, c.Trust)
	}
	if c.Near != "" && !strings.Contains(strings.Join(d.DidYouMean, " "), c.Near) {
		t.Errorf("did you mean %v, want %q", d.DidYouMean, c.Near)
	}
	if hole.MatchString(d.Explanation) || strings.ContainsAny(d.Explanation, "{}") && !strings.ContainsAny(c.Text, "{}") {
		t.Errorf("explanation has a hole (by %s): %s", d.Rule, d.Explanation)
	}
}

// hole is what an empty placeholder leaves in a text.
var hole = regexp.MustCompile(`“”| [.:?]( |$)|\.\.( |$)|: \.|\(, |file\./`)

func firstTrust(d Diagnosis) Trust {
	for _, r := range d.Remedies {
		if r.Action == "install" {
			return r.Trust
		}
	}
	return ""
}
