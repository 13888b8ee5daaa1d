package heal

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// outsideCase is one line of a corpus kept elsewhere.
type outsideCase struct {
	ID    string `json:"id"`
	Text  string `json:"error_text"`
	Fix   string `json:"expected_fix"`
	Kind  string `json:"kind"`
	Heal  Class  `json:"heal"`
	Exit  *int   `json:"exit"`
	Files []string
}

// TestOutsideCases runs the corpus that KINTSUGI_CASES names: error texts with
// the right kind and heal class.
func TestOutsideCases(t *testing.T) {
	t.Parallel()
	name := os.Getenv("KINTSUGI_CASES")
	if name == "" {
		t.Skip("KINTSUGI_CASES names no file of cases")
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rules := load(t)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c outsideCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		d := rules.Diagnose(Input{Text: c.Text, Exit: exitIn(c)})
		t.Logf("%-7s %-28s %-6s %-24q %v", c.ID, d.Kind, d.Heal, d.Subject, commands(d))
		if d.Kind != c.Kind || d.Heal != c.Heal {
			t.Errorf("%s: got %s/%s by %s, want %s/%s\n%s\n(%s)", c.ID, d.Kind, d.Heal, d.Rule, c.Kind, c.Heal, c.Text, c.Fix)
		}
		if c.Heal == None && installs(d) {
			t.Errorf("%s: proposes an install: %v", c.ID, d.Remedies)
		}
	}
}

var exitNote = regexp.MustCompile(`\(exit (\d+)`)

func exitIn(c outsideCase) int {
	if c.Exit != nil {
		return *c.Exit
	}
	if m := exitNote.FindStringSubmatch(c.Text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return -1
}

func load(t testing.TB) *Rules {
	t.Helper()
	r, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func commands(d Diagnosis) []string {
	var out []string
	for _, r := range d.Remedies {
		out = append(out, r.Action+": "+r.Command)
	}
	return out
}

func installs(d Diagnosis) bool {
	for _, r := range d.Remedies {
		if r.Action == "install" {
			return true
		}
	}
	return false
}
