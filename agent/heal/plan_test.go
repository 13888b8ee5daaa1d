package heal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestNamesAreEnoughForAPlan compares what a plan says with rules and without.
func TestNamesAreEnoughForAPlan(t *testing.T) {
	t.Parallel()
	rules, names := load(t), LoadNames()
	nothing := func(string) bool { return false }
	for ecosystem, imports := range map[string][]string{
		"python": {"os", "pandas", "PIL", "cv2", "sklearn.cluster", "google.protobuf", "tkinter", "distutils", "nobodyknowsthis"},
		"node":   {"fs", "lodash", "@babel/core", "./own", "nobody-knows-this"},
		"go":     {"fmt", "github.com/spf13/cobra", "example.test/nothing"},
		"rust":   {"std", "rand", "serde_json", "nobody_knows_this"},
	} {
		want := rules.Plan(ecosystem, imports, nothing, nil, "3.11")
		if len(want) == 0 {
			t.Errorf("%s: no plan at all", ecosystem)
		}
		got := names.Plan(ecosystem, imports, nothing, nil, "3.11")
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Remedy{}, "Command")); diff != "" {
			t.Errorf("%s: %s", ecosystem, diff)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		LoadNames().Plan("python", []string{"os", "pandas"}, func(string) bool { return false }, nil, "")
	}
}
