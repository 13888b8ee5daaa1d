package heal

import (
	"slices"
	"strings"
	"testing"
)

func TestVouch(t *testing.T) {
	t.Parallel()
	r := load(t)
	for _, c := range []struct {
		manager, name string
		trust         Trust
		near          string // one of DidYouMean
		typo          bool
	}{
		{"pip", "PyYAML", Known, "", false},
		{"pip", "pyyaml", Known, "", false},
		{"pip", "Flask-SQLAlchemy", Known, "", false},
		{"pip", "flask_sqlalchemy", Known, "", false},
		{"pip", "pandas[excel]", Known, "", false},
		{"pip", "numpy<2", Known, "", false},
		{"pip", "tldextract", Listed, "", false},
		{"pip", "jwt", Unknown, "PyJWT", false},
		{"pip", "serial", Unknown, "pyserial", false},
		{"pip", "cv2", Unknown, "opencv-python-headless", false},
		{"pip", "huggingface-cli", Unknown, "huggingface-hub", false},
		{"pip", "sklearn", Unknown, "scikit-learn", false},
		{"pip", "reqeusts", Unknown, "requests", true},
		{"pip", "requestss", Unknown, "requests", true},
		{"pip", "panads", Unknown, "pandas", true},
		{"pip", "python.dateutils", Unknown, "python-dateutil", true},
		{"pip", "beautifulsoup5", Unknown, "beautifulsoup4", true},
		{"pip", "numpypandas", Unknown, "numpy", false},
		{"pip", "flask-pandas", Unknown, "pandas", false},
		{"pip", "express", Unknown, "express (npm)", false},
		{"pip", "zorglub-helpers-9", Unknown, "", false},
		{"npm", "express", Known, "", false},
		{"npm", "@babel/core", Known, "", false},
		{"npm", "chalk@4", Known, "", false},
		{"npm", "exprss", Unknown, "express", true},
		{"npm", "lodahs", Unknown, "lodash", true},
		{"npm", "unused-imports", Unknown, "eslint-plugin-unused-imports", false},
		{"npm", "react-codeshift", Unknown, "jscodeshift", false},
		{"npm", "fs", Unknown, "fs is part of Node", false},
		{"npm", "left-pad-nope", Unknown, "", false},
		{"npm", "beautifulsoup4", Unknown, "beautifulsoup4 (pip)", false},
		{"apt", "graphviz", Known, "", false},
		{"apt", "evil-package-x", Unknown, "", false},
		{"gem", "nokogiri", Known, "", false},
		{"cargo", "serde", Known, "", false},
		{"go", "github.com/spf13/cobra", Known, "", false},
		{"go", "golang.org/x/text/language", Known, "", false},
		{"go", "github.com/evil-corp/free-money", Unknown, "", false},
		{"pip", "", Unknown, "", false},
		{"cobol", "x", Unknown, "", false},
	} {
		t.Run(c.manager+" "+strings.ReplaceAll(c.name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			v := r.Vouch(c.manager, c.name)
			if v.Trust != c.trust {
				t.Errorf("trust %q (%s), want %q", v.Trust, v.Origin, c.trust)
			}
			if c.near != "" && !slices.Contains(v.DidYouMean, c.near) {
				t.Errorf("did you mean %v, want %q", v.DidYouMean, c.near)
			}
			if c.near == "" && len(v.DidYouMean) > 0 {
				t.Errorf("did you mean %v, want nothing", v.DidYouMean)
			}
			if v.Typo != c.typo {
				t.Errorf("typo %v, want %v", v.Typo, c.typo)
			}
			if v.Trust != Unknown && v.Origin == "" {
				t.Error("trusted without an origin")
			}
		})
	}
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "acb", 1},
		{"requests", "reqeusts", 1}, {"kitten", "sitting", 3}, {"abcdef", "ghijkl", 3}, {strings.Repeat("a", 80), "a", 3},
	} {
		if got := editDistance(c.a, c.b, 2); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := editDistance(c.b, c.a, 2); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

// TestNoRowInstallsWhatIsForbidden: names known to be wrong are in no list,
// and no map row sends anybody to one of them.
func TestNoRowInstallsWhatIsForbidden(t *testing.T) {
	t.Parallel()
	r := load(t)
	for key := range r.table("wrong").rows {
		manager, name, _ := strings.Cut(key, " ")
		if r.list(listOf(manager)).has(name) || r.list(manager+"-known").has(name) || manager == "pip" && r.curatedPip().has(name) {
			t.Errorf("%s %s is both wrong and listed", manager, name)
		}
	}
	for key, w := range r.table("import").rows {
		for _, p := range w.packages {
			manager, name := splitManager(p, "pip")
			if _, wrong := r.table("wrong").rows[manager+" "+bareName(manager, name)]; wrong {
				t.Errorf("import %s leads to the wrong package %s", key, p)
			}
		}
	}
}

// TestStdlibIsNeverInstalled: no module of the standard library of any Python
// is healed by a package of pip, except those that left it.
func TestStdlibIsNeverInstalled(t *testing.T) {
	t.Parallel()
	r := load(t)
	for module := range r.table("stdlib").rows {
		for _, python := range []string{"3.8", "3.11", "3.13"} {
			d := r.Diagnose(Input{Text: "ModuleNotFoundError: No module named '" + module + "'", Exit: 1, Python: python})
			if r.stdlib(module, python) != stdPresent || r.table("import").rows[module].columns["tag"] == "removed" {
				continue
			}
			for _, m := range d.Remedies {
				if m.Action == "install" && m.Manager == "pip" {
					t.Errorf("Python %s: %s would be installed as %v", python, module, m.Packages)
				}
			}
		}
	}
}
