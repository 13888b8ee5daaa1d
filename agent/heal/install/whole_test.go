package install

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"kintsugi/sandbox/shelf"
)

// A layer that a loss of power cut short is installed anew; one that is whole
// stays, and is measured once in a boot.
func TestLayerCutShort(t *testing.T) {
	t.Parallel()
	if shelf.BootID() == "" {
		t.Skip("this system does not name its boots")
	}
	s := Store{Dir: t.TempDir()}
	for _, key := range []string{"cut", "kept", "same"} {
		put(t, s, key, time.Now())
	}
	boot := func(key string) string { return filepath.Join(s.Dir, key, shelf.BootFile) }
	for _, key := range []string{"cut", "kept"} {
		if err := os.WriteFile(boot(key), []byte("another"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"cut", "same"} {
		if err := os.Truncate(filepath.Join(s.Dir, key, "tree", "file"), 0); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]bool{"cut": false, "kept": true, "same": true} {
		if _, ok := s.Find(key); ok != want {
			t.Errorf("%s: found %v, want %v", key, ok, want)
		}
	}
	if said, err := os.ReadFile(boot("kept")); err != nil || string(said) != shelf.BootID() {
		t.Errorf("the layer that was measured says %q, %v", said, err)
	}
	put(t, s, "cut", time.Now()) // there is room for it
	if _, ok := s.Find("cut"); !ok {
		t.Error("a layer that was made again is not found")
	}
}
