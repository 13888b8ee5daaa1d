package heal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGoImports(t *testing.T) {
	t.Parallel()
	src := "// import \"a.test/no\"\npackage main\n\nimport (\n\t\"fmt\"\n\tx \"github.com/a/b/v2\"\n\t_ \"pots/glaze\"\n)\n\nvar s = `import \"b.test/no\"`\n"
	if d := cmp.Diff([]string{"github.com/a/b/v2"}, GoImports([]byte(src))); d != "" {
		t.Error(d)
	}
	if got := GoImports([]byte("no go at all")); got != nil {
		t.Errorf("%v from no Go", got)
	}
}

func TestRustImports(t *testing.T) {
	t.Parallel()
	const src = `
// use commented::Out;
/* use also::Out; */
mod glaze;
use std::{fmt, collections::HashMap, time};
use serde::{Deserialize, Serialize};
pub(crate) use itertools::Itertools;
extern crate rand;
use lazy_static::lazy_static;
#[tokio::main]
async fn main() {
    let s = "use quoted::Out; a::b";
    let d = time::Duration::from_secs(1);
    glaze::fire();
    println!("{}", serde_json::to_string(&HashMap::<u8, u8>::new()).unwrap());
}`
	want := []string{"serde", "itertools", "lazy_static", "rand", "tokio", "serde_json"}
	if d := cmp.Diff(want, RustImports([]byte(src))); d != "" {
		t.Error(d)
	}
}

// TestPlanOfCompiledLanguages: names that are known or listed are planned, the
// rest has to fail and ask first.
func TestPlanOfCompiledLanguages(t *testing.T) {
	t.Parallel()
	r := load(t)
	none := func(string) bool { return false }
	got := map[string]bool{}
	for eco, imports := range map[string][]string{
		"go":   {"github.com/spf13/cobra", "github.com/nobody/zorgblubber"},
		"rust": {"tokio", "serde_json", "zorgblubber"},
		"java": {"com.google.gson.Gson", "sparkle.Pot", "com.zorgblubber.Pot", "com.google.code.gson:gson"},
	} {
		for _, rem := range r.Plan(eco, imports, none, nil, "") {
			for _, p := range rem.Packages {
				got[rem.Manager+" "+p] = true
			}
		}
	}
	want := map[string]bool{"go github.com/spf13/cobra": true, "cargo tokio[full]": true, "cargo serde_json": true, "maven com.google.code.gson:gson": true}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCratesWithFeaturesAreSaidAsCargoTakesThem(t *testing.T) {
	t.Parallel()
	d := load(t).Diagnose(Input{Text: "error[E0433]: failed to resolve: use of unresolved module or unlinked crate `tokio`\n", Exit: 1})
	if len(d.Remedies) == 0 || d.Remedies[0].Command != "cargo add tokio --features tokio/full" {
		t.Errorf("%+v", d.Remedies)
	}
}

// TestGemsComeFromTheSystem: the system's package of a gem is tried first.
func TestGemsComeFromTheSystem(t *testing.T) {
	t.Parallel()
	d := load(t).Diagnose(Input{Text: "x.rb:1:in `require': cannot load such file -- rainbow (LoadError)\n", Exit: 1})
	if len(d.Remedies) != 2 || d.Remedies[0].Manager != "apt" || d.Remedies[0].Packages[0] != "ruby-rainbow" || d.Remedies[1].Manager != "gem" {
		t.Errorf("%+v", d.Remedies)
	}
}
