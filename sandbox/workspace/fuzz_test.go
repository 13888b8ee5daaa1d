package workspace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// script reads decisions from fuzz data; when it ends they are all zero.
type script struct{ data []byte }

func (s *script) next(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// path is one of a few, so that operations meet.
func (s *script) path() string {
	names := [...]string{"a", "b", "c", "new\nline"}
	p := names[s.next(len(names))]
	for range s.next(3) {
		p += "/" + names[s.next(len(names))]
	}
	return p
}

// shadow is a plain directory that gets the same operations as the view.
type shadow struct {
	t    *testing.T
	root string
}

func (s shadow) at(p string) string { return filepath.Join(s.root, p) }

// can says whether an operation at p makes sense: nothing above it is in the
// way, and what is there is of one of the kinds.
func (s shadow) can(p string, kinds ...os.FileMode) bool {
	for dir := filepath.Dir(p); dir != "."; dir = filepath.Dir(dir) {
		if fi, err := os.Lstat(s.at(dir)); err == nil && !fi.IsDir() {
			return false
		}
	}
	fi, err := os.Lstat(s.at(p))
	if err != nil {
		fi = nil
	}
	for _, k := range kinds {
		if fi == nil && k == os.ModeIrregular || fi != nil && k == fi.Mode().Type() {
			return true
		}
	}
	return false
}

const absent = os.ModeIrregular

// operate does one operation on the view and on its shadow.
func operate(in *script, e *Editor, sh shadow, n int) {
	p := in.path()
	must(sh.t, os.MkdirAll(sh.root, 0o755))
	switch op := in.next(6); {
	case op <= 1 && sh.can(p, absent, 0):
		text := fmt.Sprint("op ", n, strings.Repeat("x", in.next(3)))
		must(sh.t, e.Write(p, strings.NewReader(text), 0o644))
		write(sh.t, sh.root, map[string]string{p: text})
	case op == 2 && sh.can(p, 0, os.ModeDir, os.ModeSymlink):
		must(sh.t, e.Remove(p))
		must(sh.t, os.RemoveAll(sh.at(p)))
	case op == 3 && sh.can(p, absent, os.ModeDir):
		must(sh.t, e.Mkdir(p))
		must(sh.t, os.MkdirAll(sh.at(p), 0o755))
	case op == 4 && sh.can(p, absent, os.ModeSymlink):
		target := fmt.Sprint("to", in.next(2))
		must(sh.t, e.Symlink(target, p))
		_ = os.Remove(sh.at(p))
		write(sh.t, sh.root, map[string]string{p: "-> " + target})
	case op == 5 && sh.can(p, 0, os.ModeDir):
		mode := os.FileMode(0o700 | in.next(2)*0o55)
		must(sh.t, e.Chmod(p, uint32(mode)))
		must(sh.t, os.Chmod(sh.at(p), mode))
	}
}

// FuzzApply does random operations in the view over several checkpoints and the
// same on a plain directory: applying must give exactly that directory. Then
// the user changes files in the project: applying must leave them.
func FuzzApply(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x01\x02\x02\x03\x03"), false, uint8(3))
	f.Add([]byte("aabbccddeeffgghhiijjkkllmmnnooppqqrrssttuuvv"), true, uint8(200))
	f.Add([]byte("\x01\x02\x00\x01\x03\x01\x00\x02\x02\x00\x00\x01\x01\x01\x01\x02\x02\x02\x03\x02\x01\x00\x04\x05\x04"), true, uint8(77))
	f.Fuzz(func(t *testing.T, data []byte, noSwap bool, user uint8) {
		if len(data) <= 200 {
			applyRandomly(t, data, noSwap, user)
		}
	})
}

// TestApplyOfRandomChanges is the same with a fixed seed.
func TestApplyOfRandomChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		data := make([]byte, 20+random.IntN(180))
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		user := byte(random.Uint32())
		ok := t.Run(fmt.Sprint(i), func(t *testing.T) { applyRandomly(t, data, i%4 == 0, user) })
		if !ok {
			return
		}
	}
}

func applyRandomly(t *testing.T, data []byte, noSwap bool, user uint8) {
	in := &script{data}
	start := map[string]string{"a/a": "1", "a/b/c": "2", "b": "3", "c/a": "-> b", "c/c/c": "4"}
	dir := memoryDir(t)
	s := newSessionIn(t, dir, start, Options{noSwap: noSwap, noSync: true, MaxLayers: 3})
	sh := shadow{t, filepath.Join(dir, "shadow")}
	write(t, sh.root, start)
	for n := 0; len(in.data) > 0; {
		s.edit(func(e *Editor) {
			for range 1 + in.next(5) {
				n++
				operate(in, e, sh, n)
			}
		})
	}
	mine := userChanges(t, s, &script{[]byte{user, user >> 2, user >> 4, user >> 5, user >> 6}}, user > 100)
	rep, err := s.Apply(context.Background(), s.Head(), Selection{}, ApplyOptions{Confirm: []string{"."}, SkipConflicts: true})
	must(t, err)
	for p, text := range mine {
		if s.file(p) != text {
			t.Errorf("the user's %q holds %q, want %q (report %+v)", p, s.file(p), text, rep)
		}
	}
	if mine != nil {
		return
	}
	if diff := cmp.Diff(listing(t, sh.root), listing(t, s.project)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.wantChanges()
}

// userChanges writes a few files into the project as the user would.
func userChanges(t *testing.T, s *session, in *script, any bool) map[string]string {
	t.Helper()
	if !any {
		return nil
	}
	mine := map[string]string{}
	pr := shadow{t, s.project}
	for i := range 3 {
		if p := in.path(); pr.can(p, absent, 0) {
			mine[p] = fmt.Sprint("user ", i)
			write(t, s.project, map[string]string{p: mine[p]})
		}
	}
	return mine
}
