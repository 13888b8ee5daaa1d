package install

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"kintsugi/sandbox/shelf"
)

// put makes a layer with one file.
func put(t *testing.T, s Store, key string, used time.Time) {
	t.Helper()
	b, err := s.begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.tree, "file"), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.finish(Layer{Key: key, Manager: "pip"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(s.Dir, key, layerFile), used, used); err != nil {
		t.Fatal(err)
	}
}

func TestLayersInUseStay(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	now := time.Now()
	put(t, s, "old", now.Add(-2*time.Hour))
	put(t, s, "new", now.Add(-time.Hour))
	list, err := s.List()
	if err != nil || len(list) != 2 || list[0].Key != "new" || list[1].Bytes < 1000 {
		t.Fatalf("%+v, %v", list, err)
	}
	user := &Installer{Store: s}
	if _, ok := user.Find("old"); !ok {
		t.Fatal("the layer is not found")
	}
	if list, _ = s.List(); list[0].Key != "old" {
		t.Error("a layer that was just used is not the newest")
	}
	for key, want := range map[string]bool{"old": false, "new": true, "other": false} {
		if got, err := s.Remove(key); got != want || err != nil {
			t.Errorf("%s: removed %v, %v; want %v", key, got, err, want)
		}
	}
	if _, ok := user.Find("new"); ok {
		t.Error("a removed layer is found")
	}
	if _, ok := (&Installer{Store: s}).Find("old"); !ok {
		t.Error("a layer in use cannot be shared")
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	put(t, s, "good", time.Now())
	for name, age := range map[string]time.Duration{shelf.Making + "killed": 4 * time.Hour, shelf.Making + "now": 0, ".old-x": 0} {
		dir := filepath.Join(s.Dir, name)
		at := time.Now().Add(-age)
		if err := os.MkdirAll(filepath.Join(dir, "tree"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sweep(time.Now()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(s.Dir)
	if err != nil || len(left) != 2 || left[0].Name() != shelf.Making+"now" || left[1].Name() != "good" {
		t.Errorf("left %v, %v", left, err)
	}
	if err := (Store{Dir: filepath.Join(s.Dir, "none")}).Sweep(time.Now()); err != nil {
		t.Error(err)
	}
}
