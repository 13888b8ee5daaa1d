package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kintsugi/agent/event"
	"kintsugi/sandbox"
)

// readList reads one of the shipped lists, or the first column of a map.
func readList(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile("heal/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, line := range strings.Split(string(data), "\n") {
		if word, _, _ := strings.Cut(line, "\t"); word != "" && word[0] != '#' {
			out = append(out, strings.ToLower(word))
		}
	}
	return out
}

// inventor makes names that no list has out of names that lists have. It gives
// the same names every time.
type inventor struct {
	rnd   *rand.Rand
	known []string // names of the ecosystem itself
	other []string // names of other ecosystems
	real  map[string]bool
}

func newInventor(own []string, other ...string) *inventor {
	v := &inventor{rnd: rand.New(rand.NewPCG(1, 2)), known: own, other: other, real: map[string]bool{}}
	for _, n := range own {
		v.real[sameName(n)] = true
	}
	return v
}

// sameName writes names alike that indexes take for the same.
func sameName(n string) string { return separators.ReplaceAllString(n, "-") }

func (v *inventor) pick(from []string) string { return from[v.rnd.IntN(len(from))] }

// invent makes one name of a kind.
func (v *inventor) invent(kind int) string {
	b := []byte(v.pick(v.known))
	i := v.rnd.IntN(max(1, len(b)-1))
	switch kind {
	case 0: // two letters swapped
		if len(b) > 1 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	case 1: // a letter lost
		b = slices.Delete(b, i, i+1)
	case 2: // a letter doubled
		b = slices.Insert(b, i, b[i])
	case 3: // a wrong letter
		b[i] = byte('a' + v.rnd.IntN(26))
	case 4: // two names joined
		return string(b) + []string{"", "-", "_"}[v.rnd.IntN(3)] + v.pick(v.known)
	case 5: // a name of another registry
		return v.pick(v.other)
	default: // words that sound right
		words := []string{"fast", "json", "helper", "utils", "easy", "tensor", "cloud", "async", "parser", "super", "auth", "ml"}
		return v.pick(words) + "-" + v.pick(words) + "-" + v.pick(words)
	}
	return string(b)
}

// names gives n different names that a program could ask for and no list has.
func (v *inventor) names(n int, grammar *regexp.Regexp) []string {
	var out []string
	for kind := 0; len(out) < n; kind++ {
		name := v.invent(kind % 7)
		if !v.real[sameName(name)] && grammar.MatchString(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// importing is a call whose program asks for a module, and the error it ends
// with.
func importing(ecosystem, name string) (Call, string) {
	if ecosystem == "pip" {
		module := strings.ReplaceAll(name, "-", "_")
		return code("import " + module + "\n"), fmt.Sprintf(
			"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import %s\nModuleNotFoundError: No module named '%s'\n", module, module)
	}
	c := code(fmt.Sprintf("require(%q)\n", name))
	c.Ext = ".js"
	return c, fmt.Sprintf("node:internal/modules/cjs/loader:1\nError: Cannot find module '%s'\nRequire stack:\n- /a.js\n", name)
}

// gateBench runs calls whose every attempt fails with fail's text.
func gateBench(t *testing.T) (b bench, fail *string) {
	t.Helper()
	fail = new(string)
	return newBench(t, python(func(sandbox.Spec) reply { return reply{stderr: *fail, exit: 1} })), fail
}

var (
	pythonWord = regexp.MustCompile(`^[a-z_][a-z0-9_-]{2,60}$`)
	separators = regexp.MustCompile(`[-_.]+`)
	nodeWord   = regexp.MustCompile(`^[a-z][a-z0-9._-]{2,60}$`)
)

// realPython are the names that a Python program may ask for with good reason.
func realPython(t *testing.T) []string {
	names := readList(t, "lists/pypi.txt")
	for _, m := range []string{"maps/import.tsv", "maps/stdlib.tsv", "maps/host.tsv"} {
		names = append(names, readList(t, m)...)
	}
	return names
}

func TestInventedNamesInstallNothing(t *testing.T) {
	t.Parallel()
	npm := append(readList(t, "lists/npm.txt"), readList(t, "lists/npm-known.txt")...)
	others := append(readList(t, "lists/gem.txt"), readList(t, "lists/cargo-known.txt")...)
	for ecosystem, names := range map[string][]string{
		"pip": newInventor(realPython(t), append(npm, others...)...).names(750, pythonWord),
		"npm": newInventor(append(npm, readList(t, "lists/node-builtins.txt")...), append(readList(t, "lists/pypi.txt"), others...)...).names(350, nodeWord),
	} {
		t.Run(ecosystem, func(t *testing.T) {
			t.Parallel()
			b, fail := gateBench(t)
			told := 0
			for _, name := range names {
				var c Call
				c, *fail = importing(ecosystem, name)
				before := len(b.log.events)
				out, err := b.Do(context.Background(), c)
				if err != nil || out.OK {
					t.Fatalf("%s: %+v, %v", name, out, err)
				}
				if n := b.rt.installs(); n != 0 {
					t.Fatalf("%s was installed", name)
				}
				told += reasons(b.log.events[before:])
			}
			if told < len(names)*8/10 {
				t.Errorf("only %d of %d decisions are in the log with a reason", told, len(names))
			}
		})
	}
}

// reasons counts events that tell a refusal or a missing consent, with its
// reason.
func reasons(events []event.Event) int {
	n := 0
	for _, e := range events {
		note, ok := e.Body.(event.Note)
		if ok && note.Command != "" && (strings.Contains(note.Text, "did you mean") || strings.Contains(note.Text, "nothing vouches for")) {
			n++
		}
	}
	return n
}

// Somebody who says yes to everything still gets no slip of a known name.
func TestNearMissesAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	for ecosystem, names := range map[string][]string{
		"pip": {"pandsa", "reqeusts", "numpyy", "requests-pandas", "left-pad", "lodash", "matplotlb"},
		"npm": {"expresss", "lodahs", "reactt", "express-lodash", "scikit-learn", "beautifulsoup4"},
	} {
		b, fail := gateBench(t)
		b.Ask = func(_ context.Context, q event.Ask) (string, bool) {
			t.Errorf("asked %q", q.Question)
			return "yes", true
		}
		for _, name := range names {
			var c Call
			c, *fail = importing(ecosystem, name)
			before := len(b.log.events)
			out, err := b.Do(context.Background(), c)
			if err != nil || out.OK || out.NeedsConsent {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
			if n := b.rt.installs(); n != 0 {
				t.Fatalf("%s was installed", name)
			}
			if reasons(b.log.events[before:]) == 0 {
				t.Errorf("%s: the log does not say what was meant", name)
			}
		}
	}
}

func TestAllowLetsOneNameThrough(t *testing.T) {
	t.Parallel()
	for ecosystem, names := range map[string][]string{"pip": {"pandsa", "zq_totally_made_up"}, "npm": {"lodahs", "zq-made-up"}} {
		for _, name := range names {
			b, fail := gateBench(t)
			b.Allowed = []string{name}
			var c Call
			c, *fail = importing(ecosystem, name)
			if _, err := b.Do(context.Background(), c); err != nil {
				t.Fatal(err)
			}
			if b.log.count(event.KindRemedy) != 1 {
				t.Errorf("--allow %s: %d remedies, want 1", name, b.log.count(event.KindRemedy))
			}
		}
	}
}

func TestUnknownNamesNeedConsent(t *testing.T) {
	t.Parallel()
	b, fail := gateBench(t)
	var c Call
	c, *fail = importing("pip", "zq_totally_made_up")
	out, err := b.Do(context.Background(), c)
	if err != nil || !out.NeedsConsent {
		t.Fatalf("%+v, %v", out, err)
	}
	b.Ask = func(context.Context, event.Ask) (string, bool) { return "no", true }
	if out, err = b.Do(context.Background(), c); err != nil || out.NeedsConsent {
		t.Errorf("after a no: %+v, %v", out, err)
	}
	b.Ask = func(context.Context, event.Ask) (string, bool) { return "", false }
	if out, err = b.Do(context.Background(), c); err != nil || !out.NeedsConsent {
		t.Errorf("when nobody answers: %+v, %v", out, err)
	}
}

// Rows of the import map whose second column is a dash name modules that no
// package brings.
func TestNeverInstalledImports(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("heal/maps/import.tsv")
	if err != nil {
		t.Fatal(err)
	}
	b, fail := gateBench(t)
	rows := 0
	for _, line := range strings.Split(string(data), "\n") {
		columns := strings.Split(line, "\t")
		if len(columns) < 2 || columns[1] != "-" {
			continue
		}
		rows++
		var c Call
		c, *fail = importing("pip", columns[0])
		if _, err := b.Do(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		if n := b.rt.installs(); n != 0 {
			t.Fatalf("import %s: something was installed: %v", columns[0], b.rt.ran[len(b.rt.ran)-2].Argv)
		}
	}
	if rows < 50 {
		t.Fatalf("only %d rows", rows)
	}
}
