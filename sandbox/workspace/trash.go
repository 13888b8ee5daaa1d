package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"kintsugi/sandbox/workspace/beneath"
)

// trash deletes directories in the background: throwing away is a rename.
type trash struct {
	dir    string
	remove func(path string) error // for what we may not remove ourselves

	mu     sync.Mutex
	queue  []string
	busy   bool
	serial int
	failed error
	idle   sync.WaitGroup
}

func newTrash(dir string, remove func(string) error) *trash {
	return &trash{dir: dir, remove: remove}
}

// throw moves path, which is on the same file system, into the trash.
func (t *trash) throw(path string) error {
	for {
		name := t.name()
		err := os.Rename(path, filepath.Join(t.dir, name))
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("throw away %s: %w", filepath.Base(path), err)
		}
		t.push(name)
		return nil
	}
}

func (t *trash) name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serial++
	return fmt.Sprintf("t%d-%d", os.Getpid(), t.serial)
}

// sweep deletes what an earlier process left in the trash.
func (t *trash) sweep() {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		t.push(e.Name())
	}
}

// push hands a name to the one goroutine that deletes.
func (t *trash) push(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = append(t.queue, name)
	if !t.busy {
		t.busy = true
		t.idle.Add(1)
		go t.work()
	}
}

func (t *trash) work() {
	defer t.idle.Done()
	for {
		name, ok := t.pop()
		if !ok {
			return
		}
		if err := t.delete(name); err != nil {
			t.mu.Lock()
			t.failed = errors.Join(t.failed, err)
			t.mu.Unlock()
		}
	}
}

func (t *trash) pop() (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		t.busy = false
		return "", false
	}
	name := t.queue[0]
	t.queue = t.queue[1:]
	return name, true
}

func (t *trash) delete(name string) error {
	top, err := beneath.Open(t.dir)
	if err != nil {
		return err
	}
	defer top.Close()
	err = beneath.RemoveTree(top, name)
	if err == nil || t.remove == nil {
		return err
	}
	return t.remove(filepath.Join(t.dir, name))
}

// close waits until the trash is empty.
func (t *trash) close() error {
	t.idle.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}
