package programs

import (
	"strings"
	"testing"
	"testing/fstest"

	"kintsugi/agent/heal"
)

func TestSetIsWhole(t *testing.T) {
	t.Parallel()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 60 {
		t.Errorf("the set has %d programs; it should have 60 and more", len(all))
	}
	rules, err := heal.Load()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, r := range rules.List() {
		kinds[r.Kind] = true
	}
	for _, p := range all {
		if !kinds[p.Kind] {
			t.Errorf("%s: no rule gives the kind %q", p.Name, p.Kind)
		}
	}
}

// TestNeedsAreVouchedFor catches a slip in the set itself: a package that is
// mended without asking has to be one the rules know.
func TestNeedsAreVouchedFor(t *testing.T) {
	t.Parallel()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := heal.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		for _, need := range p.Needs {
			manager, name, _ := strings.Cut(need, " ")
			if manager != "pip" && manager != "npm" {
				continue
			}
			if v := rules.Vouch(manager, name); v.Trust == heal.Unknown && !p.Asks {
				t.Errorf("%s: nothing vouches for %s", p.Name, need)
			}
		}
	}
}

func TestBadEntries(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"must be set":        `[[program]]` + "\nname = \"a\"",
		"neither":            "[[program]]\nname = \"a\"\nwhy = \"b\"\nkind = \"c\"",
		"leads out":          "[[program]]\nname = \"a\"\nwhy = \"b\"\nkind = \"c\"\nfile = \"../x.py\"\ncode = \"1\"",
		"two programs":       strings.Repeat("[[program]]\nname = \"a\"\nwhy = \"b\"\nkind = \"c\"\nfile = \"x.py\"\n", 2),
		"means nothing here": "[[program]]\nname = \"a\"\nwhy = \"b\"\nkind = \"c\"\nfile = \"x.py\"\nwnat = \"1\"",
	} {
		_, err := load(fstest.MapFS{"x.toml": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", want, err)
		}
	}
}
