package image

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kintsugi/sandbox/shelf"
)

// TestRemove: an image in use stays; one that is not goes, with its names, also
// when its folders forbid writing.
func TestRemove(t *testing.T) {
	t.Parallel()
	server := serve(t)
	locked := folder("locked/")
	locked.Mode = 0o555
	ref := push(t, server, image(t, layer(t, locked, file("locked/a", "A"))))
	dir := t.TempDir()
	user, other := &Store{Dir: dir}, &Store{Dir: dir}
	root, err := user.Get(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := other.Remove(root.Digest); removed == shelf.Locks || err != nil {
		t.Fatalf("an image in use was removed: %v, %v", removed, err)
	}
	if !shelf.Locks {
		return
	}
	if _, err := os.Stat(filepath.Join(root.Tree, "locked/a")); err != nil {
		t.Error(err)
	}
	root.Close()
	again, err := other.Get(context.Background(), ref) // two may use it
	if err != nil {
		t.Fatal(err)
	}
	if removed, _ := user.Remove(root.Digest); removed {
		t.Error("the second user's image was removed")
	}
	again.Close()
	if removed, err := user.Remove(root.Digest); !removed || err != nil {
		t.Fatalf("an image that nobody uses stays: %v, %v", removed, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	if list, err := user.List(); err != nil || len(list) != 0 {
		t.Errorf("listed: %+v, %v", list, err)
	}
	if removed, err := user.Remove(root.Digest); removed || err != nil {
		t.Errorf("removed twice: %v, %v", removed, err)
	}
	back, err := user.Get(context.Background(), ref)
	if err != nil {
		t.Fatalf("fetched anew: %v", err)
	}
	back.Close()
}

// TestUsed: each use is noted, and what was left half made goes after a day.
func TestUsed(t *testing.T) {
	t.Parallel()
	server := serve(t)
	s := &Store{Dir: t.TempDir()}
	root, err := s.Get(context.Background(), push(t, server, image(t, layer(t, file("a", "A")))))
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	long := time.Now().Add(-48 * time.Hour)
	config := filepath.Join(filepath.Dir(root.Tree), configFile)
	if err := os.Chtimes(config, long, long); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(); err != nil || len(list) != 1 || list[0].Used.Sub(long).Abs() > time.Second {
		t.Fatalf("listed %+v, %v", list, err)
	}
	again, _ := s.have("x", root.Digest)
	again.Close()
	if list, _ := s.List(); time.Since(list[0].Used) > time.Hour {
		t.Errorf("a use was not noted: %+v", list)
	}
	roots := filepath.Join(s.Dir, "roots")
	for name, old := range map[string]bool{shelf.Making + "1": true, shelf.Making + "2": false, ".old-3": false} {
		path := filepath.Join(roots, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if old {
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Sweep(time.Now()); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(roots, ".*"))
	if len(left) != 1 || filepath.Base(left[0]) != shelf.Making+"2" {
		t.Errorf("left %q", left)
	}
}

// TestImageCutShort: an image that a loss of power cut short is fetched anew;
// it is measured once in a boot.
func TestImageCutShort(t *testing.T) {
	t.Parallel()
	if shelf.BootID() == "" {
		t.Skip("this system does not name its boots")
	}
	ref := push(t, serve(t), image(t, layer(t, file("a", "whole"))))
	s := &Store{Dir: t.TempDir()}
	get := func() Root {
		t.Helper()
		root, err := s.Get(context.Background(), ref)
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		return root
	}
	root := get()
	path := filepath.Join(root.Tree, "a")
	boot := filepath.Join(filepath.Dir(root.Tree), shelf.BootFile)
	if err := os.Truncate(path, 1); err != nil {
		t.Fatal(err)
	}
	get()
	if text, err := os.ReadFile(path); err != nil || string(text) != "w" {
		t.Errorf("measured twice in a boot: %q, %v", text, err)
	}
	if err := os.WriteFile(boot, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Offline = true
	if root, err := s.Get(context.Background(), ref); err == nil {
		root.Close()
		t.Error("half an image was given")
	}
	s.Offline = false
	get()
	if text, err := os.ReadFile(path); err != nil || string(text) != "whole" {
		t.Errorf("after it was fetched anew: %q, %v", text, err)
	}
	if said, err := os.ReadFile(boot); err != nil || string(said) != shelf.BootID() {
		t.Errorf("the image says it is of boot %q, %v", said, err)
	}
}
