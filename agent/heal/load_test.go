package heal

import (
	"testing"
)

// TestRulesAreComplete checks what the user may rely on for every rule: it
// compiles, refers only to what exists, and says what it means.
func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	r := load(t)
	if err := r.check(true); err != nil {
		t.Error(err)
	}
	for _, rl := range r.rules {
		for name, o := range rl.Outcomes {
			if o.Kind == "" || o.Explain == "" || o.Heal == "" {
				t.Errorf("%s outcome %q lacks kind, heal or explain", rl.ID, name)
			}
			for _, rem := range o.Remedies {
				if rem.Action == "install" && rem.Manager == "" {
					t.Errorf("%s outcome %q: install without a manager", rl.ID, name)
				}
			}
		}
	}
}

// TestEcosystems: each language that students use has a manifest of its own,
// and every language a way to run its files.
func TestEcosystems(t *testing.T) {
	t.Parallel()
	r := load(t)
	have := map[string]bool{}
	for _, e := range r.Ecosystems() {
		have[e[0]] = true
		if e[1] == "" {
			t.Errorf("%s has no title", e[0])
		}
	}
	for _, want := range []string{"python", "node", "go", "rust", "ruby", "perl", "r", "java", "c", "shell", "latex", "lua", "php", "system"} {
		if !have[want] {
			t.Errorf("no manifest for %s", want)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, i := range load(t).List() {
		if seen[i.ID] {
			t.Errorf("%s is there twice", i.ID)
		}
		seen[i.ID] = true
		if i.Explain == "" || i.Heal == "" || i.Ecosystem == "" || i.Kind == "" && i.ID != "system/fine" && i.ID != "system/unclear" {
			t.Errorf("incomplete: %+v", i)
		}
	}
	for _, want := range []string{"python/module.known", "node/module.path", "shell/command.known", "system/limit-time"} {
		if !seen[want] {
			t.Errorf("no rule %s among %d", want, len(seen))
		}
	}
}

// TestEveryRuleSpeaks: the corpus makes most outcomes speak, so that few are
// untested.
func TestEveryRuleSpeaks(t *testing.T) {
	t.Parallel()
	r := load(t)
	spoke := map[string]bool{}
	for _, c := range readCorpus(t) {
		spoke[r.Diagnose(c.input()).Rule] = true
	}
	var silent []string
	for _, i := range r.List() {
		if !spoke[i.ID] {
			silent = append(silent, i.ID)
		}
	}
	t.Logf("%d outcomes are silent: %v", len(silent), silent)
	if all := len(r.List()); len(silent) > all/4 {
		t.Errorf("%d of %d outcomes never speak", len(silent), all)
	}
}
