package abuse

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"kintsugi/sandbox/abuse/probe"
)

func table(t *testing.T) []Case {
	t.Helper()
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestEveryNumberOnce(t *testing.T) {
	t.Parallel()
	seen := map[int]int{}
	for _, c := range table(t) {
		seen[c.Number]++
	}
	for n := 1; n <= 133; n++ {
		if seen[n] != 1 {
			t.Errorf("case %d is there %d times", n, seen[n])
		}
	}
}

func TestWhatMustHoldHasAProbe(t *testing.T) {
	t.Parallel()
	if len(plans()) == 0 {
		t.Skip("boxes run native probes on Linux only")
	}
	for _, c := range table(t) {
		for runtime, e := range c.Expect {
			if (e.Kind == Holds || e.Kind == Shared) && !probed(c) {
				t.Errorf("case %d must hold in %s but nothing tries it: probe %q", c.Number, runtime, c.Probe)
			}
		}
	}
}

func TestEveryPlanIsUsed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, c := range table(t) {
		used[c.Probe] = true
	}
	for name := range plans() {
		if !used[name] {
			t.Errorf("no case uses the plan %q", name)
		}
	}
}

// TestElsewhereExists wants each test that a case relies on to be there.
func TestElsewhereExists(t *testing.T) {
	t.Parallel()
	for _, c := range table(t) {
		for runtime, e := range c.Expect {
			if e.Kind != Elsewhere {
				continue
			}
			dir, names, _ := strings.Cut(e.Note, " ")
			code := testCode(t, dir)
			for _, name := range strings.Split(names, ", ") {
				if !regexp.MustCompile(`(?m)^func ` + name + `\(`).MatchString(code) {
					t.Errorf("case %d in %s relies on %s in %s, which is not there", c.Number, runtime, name, dir)
				}
			}
		}
	}
}

func testCode(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

func TestBadData(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[[case]]\nnumber = 1\nprobee = 'x'":  "unknown key",
		"[[case]]\nexpect.docker = 'perhaps'": "unknown expectation",
		"[[case]]\nexpect.docker = 'later'":   "must say more",
		"[default]\nwasm = 'elsewhere:'":      "must say more",
		"[[case]]\nnumber = 'one'":            "number",
		"not toml":                            "resources",
	} {
		_, err := readChapter(fstest.MapFS{"cases/resources.toml": {Data: []byte(text)}}, "resources")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one about %q", text, err, want)
		}
	}
	holds := map[string]Expectation{}
	for _, name := range Runtimes() {
		holds[name] = Expectation{Kind: Holds}
	}
	good := Case{Number: 1, Title: "t", Wall: "w", Expect: holds}
	for want, cases := range map[string][]Case{
		"used twice":   {good, good},
		"missing":      {{Number: 1, Title: "t", Expect: holds}},
		"nothing said": {{Number: 1, Title: "t", Wall: "w"}},
	} {
		if err := check(cases); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := Report{Runtime: "weak", User: "me", Entries: []Entry{
		{Number: 1, Chapter: "resources", Title: "First", Outcome: Held, Expect: Expectation{Kind: Holds}},
		{Number: 2, Chapter: "secrets", Title: "Second", Outcome: Breach, Expect: Expectation{Kind: Holds}, Detail: "line one\nline \x1b[31mtwo\x1b]0;x\a"},
		{Number: 3, Chapter: "network", Title: "Third", Outcome: Undecided, Expect: Expectation{Kind: Holds}},
		{Number: 4, Chapter: "runtime", Title: "Fourth", Outcome: Pending, Expect: Expectation{Later, "some day"}},
	}}
	if got := r.Breaches(); len(got) != 2 || got[0].Number != 2 || got[1].Number != 3 {
		t.Errorf("breaches: %v", got)
	}
	var text bytes.Buffer
	if err := r.WriteTable(&text, 20); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 6 || strings.ContainsAny(text.String(), "\x1b\a") {
		t.Errorf("the table has %d lines or is not inert:\n%q", len(lines), text.String())
	}
	for _, want := range []string{"✓ held", "✗ breach", "? undecided", "1 held, 1 breached, 1 undecided", "1 to come"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || len(back.Entries) != 4 || back.Entries[3].Expect.Note != "some day" {
		t.Errorf("JSON does not come back: %v %+v", err, back)
	}
}

func TestProbeMain(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"nap"}, {"no-such-probe", "token"}} {
		var out bytes.Buffer
		if code := probe.Main(args, &out); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
		if v, ok := probe.Parse(strings.TrimSpace(out.String())); !ok || v.Verdict != probe.Error || v.Detail == "" {
			t.Errorf("%v: %q", args, out.String())
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, name := range Runtimes() {
		r, err := Table(name)
		if err != nil || len(r.Entries) != len(table(t)) || len(r.Breaches()) != 0 {
			t.Errorf("%s: %d entries, %v", name, len(r.Entries), err)
		}
	}
	if _, err := Table("qemu"); err == nil || !strings.Contains(err.Error(), "microvm") {
		t.Errorf("error %v, want one that names the runtimes", err)
	}
}

func TestUnknownNumber(t *testing.T) {
	t.Parallel()
	err := Options{Only: []int{1, 9999}}.known(table(t))
	if err == nil || !strings.Contains(err.Error(), "9999") {
		t.Errorf("error %v", err)
	}
}
