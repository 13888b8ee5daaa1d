//go:build linux

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kintsugi/sandbox/workspace/beneath"
)

// randomScript does n random operations; some fail, which is as good.
func randomScript(r *rand.Rand, n int) string {
	path := func() string {
		p := string(rune('a' + r.IntN(4)))
		for range r.IntN(3) {
			p += "/" + string(rune('a'+r.IntN(4)))
		}
		return p
	}
	ops := []func() string{
		func() string { return fmt.Sprintf("echo %d > %s", r.IntN(100), path()) },
		func() string { return fmt.Sprintf("echo more >> %s", path()) },
		func() string { return "rm -rf " + path() },
		func() string { return "rm -f " + path() },
		func() string { return "mkdir -p " + path() },
		func() string { return fmt.Sprintf("mv -T %s %s", path(), path()) },
		func() string { return fmt.Sprintf("ln -sfn %s %s", path(), path()) },
		func() string { return fmt.Sprintf("ln -f %s %s", path(), path()) },
		func() string { return fmt.Sprintf("chmod %o %s", 0o700|r.IntN(8)<<3, path()) },
		func() string { return "touch " + path() },
		func() string { return fmt.Sprintf("cp -aT %s %s", path(), path()) },
	}
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "(%s) 2>/dev/null || true\n", ops[r.IntN(len(ops))]())
	}
	return b.String()
}

func TestRandomRealOverlays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 7))
			s := newSessionIn(t, memoryDir(t), nil, Options{MaxLayers: 3, noSync: true})
			setup := exec.Command("sh", "-c", randomScript(r, 60))
			setup.Dir = s.project
			if out, err := setup.CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			for range 5 {
				s.step(randomScript(r, 20))
			}
			out := t.TempDir()
			d := s.begin2()
			inOverlay(t, s.project, d, `cp -a . `+out+`/`)
			must(t, s.Discard(d))
			rep := s.apply(Selection{}, ApplyOptions{Confirm: []string{"."}})
			want, got := plainModes(listing(t, out)), plainModes(listing(t, s.project))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("applied %d changes (-mount +applied):\n%s", rep.Applied.Total, diff)
			}
			s.wantChanges()
		})
	}
}

// plainModes takes out of a listing what Apply never carries over.
func plainModes(l map[string]string) map[string]string {
	for p, d := range l {
		if strings.HasPrefix(d, "u") || strings.HasPrefix(d, "g") {
			l[p] = "special " + d
		}
	}
	return l
}

func TestAttributeForms(t *testing.T) {
	t.Parallel()
	for _, space := range []string{"user.overlay.", "trusted.overlay."} {
		t.Run(space, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, map[string]string{"gone": "x", "d/old": "o", "d/both": "b", "kept": "k"})
			d := s.begin2()
			write(t, d.Upper, map[string]string{"gone": "", "d/both": "b", "d/new": "n"})
			for p, key := range map[string]string{"gone": "whiteout", "d": "opaque"} {
				if err := unix.Setxattr(filepath.Join(d.Upper, p), space+key, []byte("y"), 0); err != nil {
					t.Skipf("cannot set %s%s here: %v", space, key, err)
				}
			}
			s.commit(d)
			s.wantChanges("A d/new (1 B)", "D d/old", "D gone")
			s.apply(Selection{}, ApplyOptions{})
			if diff := cmp.Diff([]string{"(absent)", "(absent)", "b", "n"}, []string{s.file("gone"), s.file("d/old"), s.file("d/both"), s.file("d/new")}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRedirectIsRefused(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"d/x": "x"})
	d := s.begin2()
	write(t, d.Upper, map[string]string{"e/": ""})
	if err := unix.Setxattr(filepath.Join(d.Upper, "e"), "trusted.overlay.redirect", []byte("/d"), 0); err != nil {
		t.Skipf("cannot set the attribute here: %v", err)
	}
	if _, err := s.Commit(d); !errors.Is(err, errLayer) {
		t.Errorf("commit of a redirected directory: %v", err)
	}
	must(t, s.Discard(d))
}

func TestDeepNestingAndRemoval(t *testing.T) {
	t.Parallel()
	s := newSessionIn(t, memoryDir(t), nil, Options{noSync: true})
	d := s.begin2()
	deepTree(t, d.Upper, 2050)
	c := s.commit(d)
	n := 0
	for ch, err := range s.Changes(c.ID) {
		must(t, err)
		if n++; n == 2050 && len(ch.Path) < 4099 {
			t.Errorf("the deepest path has %d bytes", len(ch.Path))
		}
	}
	if n != 2050 {
		t.Errorf("%d changes, want 2050", n)
	}
	rep := s.apply(Selection{}, ApplyOptions{})
	if rep.Applied.Total != 2050 {
		t.Errorf("applied %d", rep.Applied.Total)
	}
	p, err := beneath.Open(s.project)
	must(t, err)
	defer p.Close()
	if sub, err := p.Sub(strings.Repeat("d/", 2049) + "d"); err != nil {
		t.Error(err)
	} else {
		sub.Close()
	}
	d = s.begin2()
	deepTree(t, d.Upper, 200)
	must(t, s.Discard(d))
	must(t, beneath.RemoveTree(p, "d"))
}

func deepTree(t *testing.T, root string, depth int) {
	t.Helper()
	at, err := beneath.Open(root)
	must(t, err)
	for range depth {
		must(t, at.Mkdir("d", 0o755))
		next, err := at.Sub("d")
		must(t, err)
		at.Close()
		at = next
	}
	at.Close()
}

func TestManyFilesStayInBounds(t *testing.T) {
	t.Parallel()
	const files = 20_000
	s := newSessionIn(t, memoryDir(t), nil, Options{noSync: true})
	d := s.begin2()
	must(t, os.Mkdir(filepath.Join(d.Upper, "many"), 0o755))
	for i := range files {
		must(t, os.WriteFile(filepath.Join(d.Upper, "many", fmt.Sprint("file-with-an-everyday-name-", i)), nil, 0o644))
	}
	s.commit(d)
	var peak uint64
	n := 0
	for _, err := range s.Changes(s.Head()) {
		must(t, err)
		if n++; n%5000 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	if n != files+1 {
		t.Errorf("%d changes, want %d", n, files+1)
	}
	if peak > 64<<20 {
		t.Errorf("%d MB of heap in use", peak>>20)
	}
}

func TestHugeSparseChange(t *testing.T) {
	t.Parallel()
	s := newSession(t, map[string]string{"small": "x"})
	for name, size := range map[string]int64{"disk.img": 1 << 43} {
		f, err := os.Create(s.path(name))
		must(t, err)
		if err := f.Truncate(size); err != nil {
			t.Skipf("the file system has no files of %d bytes: %v", size, err)
		}
		f.Close()
	}
	start := time.Now()
	s.step(`printf z | dd of=disk.img bs=1 seek=1000000 conv=notrunc status=none`)
	s.wantChanges("M disk.img (8.8 TB)")
	if d := s.diffs()["disk.img"]; !d.TooBig {
		t.Error("an 8 TB file was compared as text")
	}
	s.apply(Selection{}, ApplyOptions{})
	f, err := os.Open(s.path("disk.img"))
	must(t, err)
	defer f.Close()
	b := []byte{0}
	if _, err := f.ReadAt(b, 1_000_000); err != nil || b[0] != 'z' {
		t.Errorf("read %q, %v", b, err)
	}
	var st syscall.Stat_t
	must(t, syscall.Fstat(int(f.Fd()), &st))
	if st.Blocks*512 > 1<<20 {
		t.Errorf("holes were filled: %d bytes on disk", st.Blocks*512)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestUnreadableLayersOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become an ordinary user")
	}
	home, err := os.MkdirTemp("", "workspace-user-")
	must(t, err)
	defer os.RemoveAll(home)
	must(t, os.Chown(home, 65534, 65534))
	must(t, os.Chmod(home, 0o755))
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	bin := filepath.Join(home, "test")
	must(t, os.WriteFile(bin, self, 0o755))
	cmd := exec.Command(bin, "-test.run", "^TestUnreadableLayersHelper$", "-test.v")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_USER_DIR="+home, "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestUnreadableLayersHelper") {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
}

// TestUnreadableLayersHelper is run by the test above as an ordinary user.
func TestUnreadableLayersHelper(t *testing.T) {
	if os.Getenv("WORKSPACE_TEST_USER_DIR") == "" {
		t.Skip("runs as a part of TestUnreadableLayersOfAnOrdinaryUser")
	}
	s := newSession(t, map[string]string{"a": "a\n"})
	d := s.begin2()
	write(t, d.Upper, map[string]string{"locked/in/f": "f\n", "secret": "s\n", "a": "box\n"})
	for _, p := range []string{"locked/in", "locked", "secret", "a"} {
		must(t, os.Chmod(filepath.Join(d.Upper, p), 0))
	}
	must(t, os.MkdirAll(filepath.Join(d.Work, "work"), 0o755))
	must(t, os.Chmod(filepath.Join(d.Work, "work"), 0))
	s.commit(d)
	s.wantChanges("M a (4 B)", "A locked/", "A locked/in/", "A locked/in/f (2 B)", "A secret (2 B)")
	fi, err := os.Lstat(filepath.Join(s.dir, "layers", s.Head(), "upper", "locked"))
	if err != nil || fi.Mode().Perm() != 0 {
		t.Errorf("reading changed the layer: %v %v", fi.Mode(), err)
	}
	s.apply(Selection{}, ApplyOptions{})
	for p, want := range map[string]os.FileMode{"a": 0, "secret": 0, "locked": os.ModeDir} {
		if fi, err := os.Lstat(s.path(p)); err != nil || fi.Mode() != want {
			t.Errorf("%s: %v %v", p, fi, err)
		}
	}
	s.user(map[string]string{"private/x": "x\n"})
	must(t, os.Chmod(s.path("private"), 0))
	s.put(map[string]string{"b": "b\n"})
	s.wantChanges("A b (2 B)", "! locked  [skipped: may not be read: open locked: permission denied]")
	must(t, os.Chmod(s.path("private"), 0o700))
	d = s.begin2()
	write(t, d.Upper, map[string]string{"x/y/z": ""})
	must(t, os.Chmod(filepath.Join(d.Upper, "x/y"), 0))
	must(t, s.Discard(d))
	must(t, s.Close())
	if left := listing(t, filepath.Join(s.dir, "trash")); len(left) != 0 {
		t.Errorf("trash holds %v", left)
	}
	must(t, os.Chmod(s.path("locked"), 0o700))
	if _, err := os.Lstat(s.path("locked/in")); errors.Is(err, fs.ErrNotExist) {
		t.Error("locked/in is missing")
	}
	layer := filepath.Join(s.dir, "layers", "c2", "upper", "locked")
	for _, p := range []string{s.path("locked/in"), layer, filepath.Join(layer, "in")} {
		must(t, os.Chmod(p, 0o700)) // for the removal of the test's directory
	}
}
