package heal

import (
	"slices"
	"strings"
	"testing"
)

func TestPythonImports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, want string }{
		{"plain", "import os, sys\nimport numpy as np\nimport a.b.c as d\n", "os sys numpy a.b.c"},
		{"from", "from os import path\nfrom a.b import c, d\nfrom . import x\nfrom .y import z\nfrom __future__ import annotations\n", "os a.b"},
		{"shared names", "from google.cloud import storage, bigquery as bq\nfrom google import genai\nfrom moviepy import editor\n", "google.cloud.storage google.cloud.bigquery google.genai moviepy.editor"},
		{"brackets", "from google.cloud import (\n    storage,  # the store\n    vision,\n)\nimport re\n", "google.cloud.storage google.cloud.vision re"},
		{"continued", "import json, \\\n    yaml\n", "json yaml"},
		{"several on a line", "import a; import b\nif x: import c\n", "a b c"},
		{"indented", "def f():\n    import pandas\n    return pandas\n", "pandas"},
		{"comments and strings", "# import nope\nx = 'import nope2'\ny = \"\"\"\nimport nope3\n\"\"\"\nz = '''\nfrom nope4 import x\n'''\nimport yes\n", "yes"},
		{"prose", "print('to use it, import nope')\nimportant = 1\nimport_me = 2\n", ""},
		{"optional", "try:\n    import ujson as json\nexcept ImportError:\n    import json\nimport after\n", "after"},
		{"optional, two kinds", "try:\n    import a\nexcept (ImportError, OSError):\n    a = None\n", ""},
		{"bare except", "try:\n    import a\nexcept:\n    pass\nimport b\n", "b"},
		{"try that catches something else", "try:\n    import a\n    a.run()\nexcept ValueError:\n    pass\n", "a"},
		{"try with finally only", "try:\n    import a\nfinally:\n    pass\n", "a"},
		{"type checking", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas\nelse:\n    import b\nimport c\n", "typing c"},
		{"platform", "import sys\nif sys.platform == 'win32':\n    import winreg\nelif x:\n    import fcntl\n", "sys"},
		{"suppress", "from contextlib import suppress\nwith suppress(ImportError):\n    import rich\n", "contextlib"},
		{"by name", "import importlib\nm = importlib.import_module('yaml')\nn = __import__(\"toml\")\n", "importlib yaml toml"},
		{"crlf and bom", "\ufeffimport a\r\nimport b\r\n", "a b"},
		{"open bracket", "x = (1,\nimport yes\n", "yes"},
		{"open string", "x = 'abc\nimport yes\n", "yes"},
		{"twice", "import a\nimport a\n", "a"},
		{"nonsense", "import 3x\nfrom import\nimport\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(PythonImports([]byte(c.src)), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestNodeImports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, want string }{
		{"require", "const a = require('a');\nconst { b } = require(\"b/c\");\nrequire('./local');\n", "a b/c"},
		{"import", "import x from 'x';\nimport { y, z } from \"y\";\nimport 'side';\nimport * as n from 'node:fs'\n", "x y side node:fs"},
		{"export", "export { q } from 'q';\nexport * from '@s/r';\n", "q @s/r"},
		{"dynamic", "const m = await import('m');\nimport(`n`);\n", "m n"},
		{"computed", "require(name); import(`./${x}`); require(`p-${x}`)\n", ""},
		{"comments", "// require('no')\n/* import x from 'no2' */\nrequire('yes') // require('no3')\n", "yes"},
		{"strings", "const s = \"require('no')\"; const t = `import x from 'no2'`; require('yes')\n", "yes"},
		{"regular expression", "const r = /['\"]/g; require('yes');\n", "yes"},
		{"division", "const a = b / c; const d = 'x'; require('yes') / 2;\n", "yes"},
		{"types", "import type { T } from 'types-only';\nimport { U } from 'real';\n", "real"},
		{"typescript require", "import fs = require('fs-extra');\n", "fs-extra"},
		{"try", "let f; try { f = require('fsevents'); } catch (e) {}\nrequire('yes');\n", "yes"},
		{"method", "loader.require('no'); x.import('no2');\n", ""},
		{"aliases", "import a from '@/components/a'; import b from '~/b'; import c from '#c'; import d from '../d'; import e from 'https://example.test/e.js'\n", ""},
		{"hashbang", "#!/usr/bin/env node\nrequire('a')\n", "a"},
		{"resolve", "require.resolve('no')\n", ""},
		{"plain from", "const from = 'x'; Array.from('no')\n", ""},
		{"twice", "require('a'); require('a')\n", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(NodeImports([]byte(c.src)), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestNodePackage(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"lodash": "lodash", "lodash/fp": "lodash", "@a/b": "@a/b", "@a/b/c/d": "@a/b", "@a": "",
		"./x": "", "/x": "", "node:fs": "", "C:/x": "", "a b": "", "a;rm -rf": "", "~/x": "", "#x": "",
	} {
		if got := NodePackage(spec); got != want {
			t.Errorf("NodePackage(%q) = %q, want %q", spec, got, want)
		}
	}
}

func FuzzPythonImports(f *testing.F) {
	f.Add("import a\ntry:\n import b\nexcept ImportError: pass\n'''")
	f.Fuzz(func(t *testing.T, src string) {
		for _, name := range PythonImports([]byte(src)) {
			if !dottedName.MatchString(name) {
				t.Errorf("%q is no module name", name)
			}
		}
	})
}

func FuzzNodeImports(f *testing.F) {
	f.Add("import a from 'b'; require(`c${`d`}`) /['")
	f.Fuzz(func(t *testing.T, src string) {
		for _, spec := range NodeImports([]byte(src)) {
			if spec == "" || nodePath(spec) {
				t.Errorf("%q is no package", spec)
			}
		}
	})
}

func TestPlan(t *testing.T) {
	t.Parallel()
	r := load(t)
	have := func(names ...string) func(string) bool {
		return func(m string) bool { return slices.Contains(names, m) }
	}
	for _, c := range []struct {
		name, eco, imports string
		have               func(string) bool
		local              []string
		python             string
		want               string
	}{
		{"one go", "python", "pandas yaml PIL bs4", have(), nil, "3.11", "pip known: pandas PyYAML pillow beautifulsoup4 [pandas yaml PIL bs4]"},
		{"has some", "python", "pandas yaml os", have("pandas"), nil, "3.11", "pip known: PyYAML [yaml]"},
		{"nothing to do", "python", "os sys json tomllib", have(), nil, "3.11", ""},
		{"local", "python", "yaml geometry", have("yaml"), []string{"geometry"}, "3.11", ""},
		{"host and windows", "python", "bpy_extras winreg rospy", have(), nil, "3.11", ""},
		{"unknown stays out", "python", "zorglub_x yaml", have(), nil, "3.11", "pip known: PyYAML [yaml]"},
		{"listed apart", "python", "yaml tldextract", have(), nil, "3.11", "pip known: PyYAML [yaml]; pip listed: tldextract [tldextract]"},
		{"tkinter", "python", "tkinter yaml", have(), nil, "3.11", "apt known: python3-tk []; pip known: PyYAML [yaml]"},
		{"shared names", "python", "google.cloud.storage google.protobuf", have(), nil, "3.11", "pip known: google-cloud-storage protobuf [google.cloud.storage google.protobuf]"},
		{"removed", "python", "cgi distutils.core", have(), nil, "3.13", "pip known: legacy-cgi setuptools [cgi distutils]"},
		{"submodule", "python", "sklearn.linear_model matplotlib.pyplot", have("matplotlib"), nil, "3.11", "pip known: scikit-learn [sklearn]"},
		{"typo stays out", "python", "reqeusts", have(), nil, "3.11", ""},
		{"node", "node", "express lodash/fp node:fs fs ./x", have("express"), nil, "", "npm known: lodash [lodash]"},
		{"node unknown", "node", "qwxz-frobnicate-helper", have(), nil, "", ""},
		{"other", "cobol", "x", have(), nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := planText(r.Plan(c.eco, strings.Fields(c.imports), c.have, c.local, c.python)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func planText(remedies []Remedy) string {
	var out []string
	for _, m := range remedies {
		out = append(out, m.Manager+" "+string(m.Trust)+": "+strings.Join(m.Packages, " ")+" ["+strings.Join(m.Verify, " ")+"]")
	}
	return strings.Join(out, "; ")
}
