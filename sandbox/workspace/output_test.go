package workspace

import (
	"testing"
)

// What builds make is no change, is seen by the boxes that follow, and reaches
// the project only when it is named.
func TestBuildOutput(t *testing.T) {
	t.Parallel()
	s := newSessionWith(t, map[string]string{"Cargo.toml": "", "other/a": ""}, Options{Outputs: map[string][]string{"target": {"Cargo.toml", "pom.xml"}}})
	s.put(map[string]string{"target/debug/pots": "ELF", "target/x.d": "", "src/main.rs": "fn main() {}", "other/target/b": "", "core/pom.xml": "", "core/target/c": ""})
	s.wantChanges("A core/", "A core/pom.xml (0 B)  [look: Maven]", "A other/target/", "A other/target/b (0 B)", "A src/", "A src/main.rs (12 B)")
	d := s.begin2()
	v, err := s.View(s.Head())
	must(t, err)
	if _, _, err := v.Open("target/debug/pots"); err != nil {
		t.Errorf("the next box does not see what was built: %v", err)
	}
	v.Close()
	must(t, s.Discard(d))
	if rep := s.apply(Selection{Paths: []string{"target/debug/pots"}}, ApplyOptions{}); rep.Applied.Total == 0 {
		t.Errorf("a file that is named is not applied: %+v", rep)
	}
}
