package heal

import (
	"strings"
	"testing"
	"testing/fstest"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

const ownManifest = `
ecosystem = "school"
title = "School"
[[rule]]
id = "gate"
any = ["the gate is closed"]
match = ['''gate (?P<number>\d+): the gate is closed''']
kind = "gate_closed"
heal = "model"
subject = "gate {number}"
explain = "Gate {number} is closed. Ask for the key."
`

func TestOverrideAddsAManifest(t *testing.T) {
	t.Parallel()
	r, err := Load(fstest.MapFS{"manifests/school.toml": file(ownManifest)})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Diagnose(Input{Text: "gate 7: the gate is closed\n", Exit: 1})
	if d.Kind != "gate_closed" || d.Subject != "gate 7" || d.Rule != "school/gate" || d.Explanation != "Gate 7 is closed. Ask for the key." {
		t.Errorf("got %+v", d)
	}
	if d := r.Diagnose(Input{Text: "ModuleNotFoundError: No module named 'yaml'", Exit: 1}); d.Kind != "missing_module" {
		t.Errorf("the embedded rules are gone: %+v", d)
	}
}

func TestOverrideReplacesAManifest(t *testing.T) {
	t.Parallel()
	r, err := Load(fstest.MapFS{"manifests/python.toml": file(strings.ReplaceAll(ownManifest, `"school"`, `"python"`))})
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Diagnose(Input{Text: "ModuleNotFoundError: No module named 'yaml'", Exit: 1}); d.Kind == "missing_module" {
		t.Errorf("the embedded manifest still speaks: %+v", d)
	}
}

func TestOverrideReplacesARule(t *testing.T) {
	t.Parallel()
	r, err := Load(fstest.MapFS{"manifests/mine.toml": file(`
ecosystem = "shell"
[[rule]]
id = "command"
any = ["command not found"]
kind = "ours"
heal = "none"
explain = "This is ours."
`)})
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Diagnose(Input{Text: "bash: line 1: jq: command not found", Exit: 127}); d.Kind != "ours" || d.Rule != "shell/command" {
		t.Errorf("got %+v", d)
	}
}

func TestOverrideAddsMapRows(t *testing.T) {
	t.Parallel()
	r, err := Load(fstest.MapFS{"maps/import.tsv": file("import\tpackages\nschool_tools\tschool-tools-kit\nyaml\tour-yaml\n")})
	if err != nil {
		t.Fatal(err)
	}
	for module, want := range map[string]string{"school_tools": "school-tools-kit", "yaml": "our-yaml", "cv2": "opencv-python-headless"} {
		d := r.Diagnose(Input{Text: "ModuleNotFoundError: No module named '" + module + "'", Exit: 1})
		if len(d.Remedies) == 0 || d.Remedies[0].Packages[0] != want || d.Remedies[0].Trust != Known {
			t.Errorf("%s: %+v", module, d.Remedies)
		}
	}
}

// TestBadManifestsAreRefused: a mistake in a manifest is one line that names
// the manifest and the rule.
func TestBadManifestsAreRefused(t *testing.T) {
	t.Parallel()
	rule := func(lines string) string {
		return "ecosystem = \"x\"\n[[rule]]\nid = \"r\"\n" + lines
	}
	good := "any = [\"something\"]\nkind = \"k\"\nheal = \"none\"\nexplain = \"E.\"\n"
	for name, c := range map[string]struct{ text, want string }{
		"no toml":      {"this is = = no toml", "manifest bad.toml"},
		"unknown key":  {rule(good + "colour = 1\n"), `unknown key "rule.colour"`},
		"no id":        {"ecosystem = \"x\"\n[[rule]]\n" + good, "needs an id"},
		"no trigger":   {rule("kind = \"k\"\nheal = \"none\"\nexplain = \"E.\"\n"), "needs any, exit, signal or limit"},
		"no kind":      {rule("any = [\"something\"]\nheal = \"none\"\nexplain = \"E.\"\n"), "needs a kind"},
		"no text":      {rule("any = [\"something\"]\nkind = \"k\"\nheal = \"none\"\n"), "needs an explanation"},
		"bad class":    {rule(strings.Replace(good, `"none"`, `"maybe"`, 1)), "use auto, ask, model or none"},
		"none install": {rule(good + "[[rule.remedy]]\naction = \"install\"\nmanager = \"pip\"\npackages = [\"x\"]\n"), "heal none cannot install"},
		"short":        {rule(strings.Replace(good, "something", "some", 1)), "too short"},
		"pattern":      {rule(good + "match = ['(']\n"), "missing closing"},
		"backwards":    {rule(good + "match = ['(a)\\1']\n"), "invalid escape"},
		"map":          {rule(good + "lookup = \"nope\"\n"), `no map "nope"`},
		"list":         {rule(good + "list = \"nope\"\n"), `no list "nope"`},
		"resolver":     {rule(good + "resolve = \"nope\"\n"), `no resolver "nope"`},
	} {
		_, err := Load(fstest.MapFS{"manifests/bad.toml": file(c.text)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	in := Input{Text: "ModuleNotFoundError: No module named 'yaml'", Exit: 1}
	english := load(t).Diagnose(in)
	for _, tag := range []string{"hi", "hi-IN", "hi_IN"} {
		r, err := LoadLang(tag)
		if err != nil {
			t.Fatal(err)
		}
		d := r.Diagnose(in)
		if d.Explanation == english.Explanation || !strings.Contains(d.Explanation, "yaml") || !strings.Contains(d.Explanation, "PyYAML") {
			t.Errorf("%s: %q", tag, d.Explanation)
		}
		if d.Kind != english.Kind || d.Rule != english.Rule || d.Remedies[0].Command != english.Remedies[0].Command {
			t.Errorf("%s changes more than the words: %+v", tag, d)
		}
	}
	for _, tag := range []string{"xx", "en", "", "../hi"} {
		r, err := LoadLang(tag)
		if err != nil {
			t.Fatal(err)
		}
		if d := r.Diagnose(in); d.Explanation != english.Explanation {
			t.Errorf("%q is not English: %q", tag, d.Explanation)
		}
	}
}

// TestTranslationsFit: a translation belongs to a rule and uses only the
// placeholders that the English text uses.
func TestTranslationsFit(t *testing.T) {
	t.Parallel()
	r, err := LoadLang("hi")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.texts) < 60 {
		t.Errorf("only %d texts", len(r.texts))
	}
	for key, text := range r.texts {
		id, name, _ := strings.Cut(key, ".")
		rl := r.byID[id]
		if rl == nil || rl.Outcomes[name] == nil && name != "" {
			t.Errorf("%s is no rule", key)
			continue
		}
		english := rl.Explain
		if name != "" {
			english = rl.Outcomes[name].Explain
		}
		for _, p := range placeholder.FindAllString(text, -1) {
			if !strings.Contains(english, p) {
				t.Errorf("%s: the English text has no %s", key, p)
			}
		}
	}
}
