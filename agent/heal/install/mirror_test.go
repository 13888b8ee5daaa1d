package install

import (
	"os"
	"path/filepath"
	"testing"

	"kintsugi/sandbox"
)

// A second process does not ask npm again, and notices a new configuration.
func TestMirrorRemembers(t *testing.T) {
	t.Parallel()
	home, cache := t.TempDir(), t.TempDir()
	env := sandbox.MergeEnv(os.Environ(), "HOME="+home)
	base := func() string {
		m := &Mirror{CacheDir: cache, Environ: env}
		defer m.Close()
		if _, err := m.gateway(t.Context(), "npm"); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(cache, "learned-npm.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	first := base()
	if again := base(); again != first {
		t.Errorf("npm was asked again: %s, then %s", first, again)
	}
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry=http://127.0.0.1:1/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &Mirror{CacheDir: cache, Environ: env}
	defer m.Close()
	if _, err := m.About(t.Context(), "npm", "left-pad"); err == nil {
		t.Error("the old index answers although another one is configured")
	}
}
