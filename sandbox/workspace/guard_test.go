package workspace

import (
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	g := BuiltinGuard()
	for _, held := range []string{
		".git", ".git/hooks/pre-commit", "sub/.git", "sub/.git/config", ".GIT/config", ".Git/hooks", "GIT~1/hooks/x", ".git./config",
		".git /config", ".git::$INDEX_ALLOCATION/config", ".g\u200cit/config", "\ufeff.GIT/config", "ü/.GIT/x", "ü/.ſſh/config", ".gitmodules",
		".envrc", "a/b/.envrc", ".vscode/tasks.json", ".idea/workspace.xml", "x.code-workspace", ".mcp.json", ".claude/settings.json",
		".cursor/rules", "CLAUDE.md", "AGENTS.md", ".bashrc", ".npmrc", "pip.conf", ".pip/pip.conf", ".cargo/config.toml", "crate/.cargo/config",
		"conftest.py", "tests/conftest.py", "sitecustomize.py", "venv/lib/python3.11/site-packages/evil.pth", ".config/autostart/x.desktop",
		".husky/pre-commit", ".ssh/authorized_keys", ".kintsugi-apply-x", "Desktop.INI",
	} {
		if reason, _ := g.Check(held); reason == "" {
			t.Errorf("%q is not held back", held)
		}
	}
	for path, flag := range map[string]string{
		"Makefile": "make", "sub/package.json": "npm: scripts run on install", ".github/workflows/ci.yml": "GitHub: runs on push",
		"src/main.py": "", "model.pth": "", "build/x.o": "", "workspace/x": "", "head/x": "", ".env": "many tools: environment of programs", "git/config": "", "a.git": "", "envrc": "", ".gitignore": "", "README.md": "", ".github/CODEOWNERS": "", "plot.py": "",
	} {
		held, got := g.Check(path)
		if held != "" || got != flag {
			t.Errorf("%q: held %q, flag %q; want flag %q", path, held, got, flag)
		}
	}
}

func TestGuardRemembersDirectoriesRightly(t *testing.T) {
	t.Parallel()
	c := checker{guard: BuiltinGuard()}
	for _, p := range []string{".git/a", "src/a", ".git/hooks/x", "src", "src/.vscode/x", "src/b", "a"} {
		want, _ := BuiltinGuard().Check(p)
		if got := c.check(fold(p)); got.held != want {
			t.Errorf("%q: held %q, want %q", p, got.held, want)
		}
	}
}

func TestReadGuard(t *testing.T) {
	t.Parallel()
	g, err := ReadGuard(strings.NewReader("# mine\n\nhold my/*.cfg my tool\nflag x y\n"))
	must(t, err)
	if held, _ := g.Check("a/MY/b.cfg/c"); held != "my tool" {
		t.Errorf("held %q", held)
	}
	if held, _ := g.Check("a/my/deep/b.cfg"); held != "" {
		t.Errorf("held %q", held)
	}
	for text, want := range map[string]string{"hold x": "line 1: want", "\nkeep x y": "line 2: want", "hold [ y": "line 1: pattern"} {
		if _, err := ReadGuard(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestLinksThatLeave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, target string
		want         bool
	}{
		{"a", "b", false}, {"a", "./b/c", false}, {"d/a", "../b", false}, {"d/e/a", "../../b", false}, {"d/a", "..", false},
		{"a", "..", true}, {"a", "/etc", true}, {"d/a", "../../b", true}, {"a", "b/../c", true}, {"a", "b/../../c", true}, {"a", `..\x`, true}, {"a", "C:x", true},
	} {
		if got := leavesProject(c.path, c.target); got != c.want {
			t.Errorf("link %s -> %s: leaves = %v, want %v", c.path, c.target, got, c.want)
		}
	}
}
