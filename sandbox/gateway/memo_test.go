package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// counting is a Prober that counts.
type counting struct {
	answers
	asked int
}

func (c *counting) Run(ctx context.Context, argv, env []string) (string, error) {
	c.asked++
	return c.answers.Run(ctx, argv, env)
}

// remembering is a Memo with a clock of its own and a pip that counts.
type remembering struct {
	Memo
	*clock
	*counting
	home, conf string
	files      []string
}

func newMemory(t *testing.T) *remembering {
	home := t.TempDir()
	m := &remembering{home: home, conf: filepath.Join(home, "pip.conf"), clock: &clock{at: time.Now().Add(time.Hour)}}
	m.files = []string{m.conf, filepath.Join(home, "other.conf")}
	m.counting = &counting{}
	m.index("https://mirror.test/simple")
	m.Memo = Memo{Dir: t.TempDir(), Environ: []string{"HOME=" + home}, Now: m.now}
	return m
}

func (m *remembering) index(url string) {
	m.answers = answers{"pip": "https://own.test/simple\nglobal.index-url='" + url + "'\n\n#kintsugi-files\n" + strings.Join(m.files, "\n") + "\n"}
}

// learns checks the answer and how often pip was asked for it so far.
func (m *remembering) learns(t *testing.T, what, url string, asked int) {
	t.Helper()
	l := learner(nil)
	l.Prober = m.counting
	got := m.Memo.Learn(t.Context(), l, "pip")
	if len(got.Upstreams) != 1 || got.Upstreams[0].URL != url || m.asked != asked {
		t.Errorf("%s: %+v, asked %d times, want %s and %d", what, got, m.asked, url, asked)
	}
}

func TestMemo(t *testing.T) {
	t.Parallel()
	const mirror = "https://mirror.test/simple"
	m := newMemory(t)
	m.learns(t, "first", mirror, 1)
	m.learns(t, "again", mirror, 1)
	m.Environ = append(m.Environ, "PIP_INDEX_URL=x")
	m.learns(t, "another variable", mirror, 2)
	m.Environ = append(m.Environ, "EDITOR=x")
	m.learns(t, "a variable of no matter", mirror, 2)
	m.Environ = append(m.Environ, "PATH="+m.home)
	m.learns(t, "another path", mirror, 3)
	write(t, filepath.Join(m.home, "python3"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(m.home, "python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.learns(t, "another Python", mirror, 4)
	m.move(59 * time.Minute)
	m.learns(t, "soon", mirror, 4)
	m.move(time.Hour)
	m.learns(t, "late", mirror, 5)
}

// A changed configuration counts from the next question on: one that appears,
// that changes, that is replaced by one of the same size, and that goes.
func TestMemoSeesSettings(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	m.learns(t, "first", "https://mirror.test/simple", 1)
	edit := func(what, url string, change func() error) {
		t.Helper()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		m.index(url)
		before := m.asked
		m.learns(t, what, url, before+1)
		m.learns(t, what+", again", url, before+1)
	}
	at := time.Now().Add(-time.Hour)
	put := func(text string) func() error {
		return func() error {
			at = at.Add(time.Second)
			return errors.Join(os.WriteFile(m.conf, []byte(text), 0o600), os.Chtimes(m.conf, at, at))
		}
	}
	edit("appeared", "https://a.test/simple", put("a"))
	edit("longer", "https://bb.test/simple", put("bb"))
	edit("same size", "https://cc.test/simple", put("cc"))
	edit("gone", "https://d.test/simple", func() error { return os.Remove(m.conf) })
	if err := put("just now")(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(m.conf, m.now(), m.now()); err != nil {
		t.Fatal(err)
	}
	before := m.asked
	m.learns(t, "being written", "https://d.test/simple", before+1)
	m.learns(t, "being written, again", "https://d.test/simple", before+2)
}

// Credentials are not written down, and neither is what names no files.
func TestMemoKeepsNoSecrets(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	m.index("https://u:s3cret@mirror.test/simple")
	m.learns(t, "credentials", "https://mirror.test/simple", 1)
	m.learns(t, "credentials again", "https://mirror.test/simple", 2)
	files, err := os.ReadDir(m.Dir)
	if err != nil || len(files) != 0 {
		t.Errorf("the memory has %v, %v", files, err)
	}
	m.files = nil
	m.index("https://mirror.test/simple")
	m.learns(t, "no files", "https://mirror.test/simple", 3)
	m.learns(t, "no files again", "https://mirror.test/simple", 4)
}

// The real pip and npm say where their settings are, and notice them there.
func TestMemoReal(t *testing.T) {
	t.Parallel()
	for eco, c := range map[string]struct{ file, text string }{
		"pip": {".config/pip/pip.conf", "[global]\nindex-url = https://mirror.example.test/simple\n"},
		"npm": {".npmrc", "registry=https://mirror.example.test/simple\n"},
	} {
		if len(learnOnce().For(eco)) == 0 {
			unavailable(t, eco, "this machine has no %s", eco)
		}
		home := t.TempDir()
		env := append(nowhere(home), "PIP_FIND_LINKS=")
		m := Memo{Dir: t.TempDir(), Environ: env}
		l := Learner{Prober: HostProber{Environ: env}, Resolve: learner(nil).Resolve}
		first := m.Learn(t.Context(), l, eco)
		if _, err := os.Stat(filepath.Join(m.Dir, "learned-"+eco+".json")); err != nil || len(first.Upstreams) != 1 {
			t.Errorf("%s: nothing is remembered of %+v: %v", eco, first, err)
		}
		again := m.Learn(t.Context(), Learner{Prober: &counting{}}, eco)
		if len(again.Upstreams) != 1 || again.Upstreams[0].URL != first.Upstreams[0].URL {
			t.Errorf("%s: remembered %+v", eco, again)
		}
		write(t, filepath.Join(home, filepath.FromSlash(c.file)), c.text)
		if now := m.Learn(t.Context(), l, eco); len(now.Upstreams) != 1 || now.Upstreams[0].URL != "https://mirror.example.test/simple" {
			t.Errorf("%s: a new configuration is not noticed: %+v", eco, now)
		}
	}
}
