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
