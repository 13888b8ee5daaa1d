package lock

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScriptBlocks(t *testing.T) {
	t.Parallel()
	packages := []string{"pandas==2.3.3", "rich==14.0"}
	for name, c := range map[string]struct{ old, want string }{
		"none": {
			"import pandas\n",
			"# /// script\n# dependencies = [\n#   \"pandas==2.3.3\",\n#   \"rich==14.0\",\n# ]\n# ///\n\nimport pandas\n",
		},
		"head": {
			"#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\nimport pandas\n",
			"#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# /// script\n# dependencies = [\n#   \"pandas==2.3.3\",\n#   \"rich==14.0\",\n# ]\n# ///\n\nimport pandas\n",
		},
		"there": {
			"# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"Pandas<3; python_version > '3'\", # table\n#   \"httpx\",\n# ]\n#\n# [tool.x]\n# y = 1\n# ///\nx\n",
			"# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"pandas==2.3.3; python_version > '3'\",\n#   \"httpx\",\n#   \"rich==14.0\",\n# ]\n#\n# [tool.x]\n# y = 1\n# ///\nx\n",
		},
		"one line": {
			"# /// script\n# dependencies = [\"a[b]\"]\n# ///\n",
			"# /// script\n# dependencies = [\n#   \"a[b]\",\n#   \"pandas==2.3.3\",\n#   \"rich==14.0\",\n# ]\n# ///\n",
		},
		"empty": {
			"# /// script\n# [tool.x]\n# ///\n",
			"# /// script\n# dependencies = [\n#   \"pandas==2.3.3\",\n#   \"rich==14.0\",\n# ]\n# [tool.x]\n# ///\n",
		},
	} {
		got, err := WithDependencies(c.old, packages)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if again, err := WithDependencies(got, packages); err != nil || again != got {
			t.Errorf("%s: written twice it is\n%s%v", name, again, err)
		}
		b, ok, err := ScriptBlock(got)
		if err != nil || !ok || len(b.Dependencies) < 2 {
			t.Errorf("%s: %+v, %v, %v", name, b, ok, err)
		}
	}
	for name, text := range map[string]string{
		"no end": "# /// script\n# dependencies = []\n", "cannot be read": "# /// script\n# dependencies = [\n# ///\n",
	} {
		if _, _, err := ScriptBlock(text); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, name)
		}
	}
	if _, ok, err := ScriptBlock("import os\n"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Packages = p.Packages[1:3]
	p.Asked = []string{"pandas", "qrcode[pil]"}
	hash := func(c string) string { return " \\\n    --hash=sha256:" + hex(c, 64) + "\n" }
	for name, c := range map[string]struct {
		old, want string
		hashed    bool
	}{
		"new":     {"", "pandas==2.3.3" + hash("3") + "qrcode[pil]==8.0" + hash("4"), true},
		"covered": {"# tables\nPandas>=2  # data\n", "# tables\n# data\npandas==2.3.3" + hash("3") + "qrcode[pil]==8.0" + hash("4"), true},
		"again":   {"pandas==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\nqrcode[pil]\n", "pandas==2.3.3" + hash("3") + "qrcode[pil]==8.0" + hash("4"), true},
		"others":  {"-r more.txt\nflask==3\npandas ; python_version > '3'\n", "-r more.txt\nflask==3\npandas==2.3.3 ; python_version > '3'\nqrcode[pil]==8.0\n", false},
	} {
		got, hashed := Requirements(c.old, p)
		if name == "covered" {
			c.want = strings.Replace(c.want, "pandas==", "Pandas==", 1)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || hashed != c.hashed {
			t.Errorf("%s: hashed %v\n%s", name, hashed, diff)
		}
	}
}

func TestPackageJSON(t *testing.T) {
	t.Parallel()
	p := Part{Manager: "npm", Asked: []string{"express@4", "is-number"}, Packages: []Package{{Name: "express", Version: "4.19.2"}, {Name: "is-number", Version: "7.0.0"}}}
	for name, c := range map[string]struct{ old, want string }{
		"new": {"", "{\n  \"private\": true,\n  \"dependencies\": {\n    \"express\": \"4.19.2\",\n    \"is-number\": \"7.0.0\"\n  }\n}\n"},
		"there": {
			"{\n\t\"name\": \"x\",\n\t\"dependencies\": {\n\t\t\"zod\": \"^3\",\n\t\t\"express\": \"^4.0.0\"\n\t},\n\t\"scripts\": {\"a\": \"b <c>\"}\n}\n",
			"{\n\t\"name\": \"x\",\n\t\"dependencies\": {\n\t\t\"express\": \"4.19.2\",\n\t\t\"is-number\": \"7.0.0\",\n\t\t\"zod\": \"^3\"\n\t},\n\t\"scripts\": {\n\t\t\"a\": \"b <c>\"\n\t}\n}\n",
		},
	} {
		got, err := PackageJSON(c.old, p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	for _, bad := range []string{"[]", "{", `{"dependencies": 3}`} {
		if _, err := PackageJSON(bad, p); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}
