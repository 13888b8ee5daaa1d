package gateway

import (
	"context"
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

func TestMemo(t *testing.T) {
	t.Parallel()
	home, dir, clock := t.TempDir(), t.TempDir(), &clock{at: time.Now()}
	p := &counting{answers: answers{"pip": "https://own.test/simple\nglobal.index-url='https://mirror.test/simple'\n"}}
	l := learner(nil)
	l.Prober = p
	m := Memo{Dir: dir, Environ: []string{"HOME=" + home}, Now: clock.now}
	step := func(what string, asked int) {
		t.Helper()
		got := m.Learn(t.Context(), l, "pip")
		if len(got.Upstreams) != 1 || !strings.HasPrefix(got.Upstreams[0].URL, "https://mirror.test") || p.asked != asked {
			t.Errorf("%s: %+v, asked %d times, want %d", what, got, p.asked, asked)
		}
	}
	step("first", 1)
	step("again", 1)
	m.Environ = append(m.Environ, "PIP_INDEX_URL=x")
	step("another variable", 2)
	m.Environ = append(m.Environ, "EDITOR=x")
	step("a variable of no matter", 2)
	write(t, filepath.Join(home, ".config/pip/pip.conf"), "[global]")
	step("another file", 3)
	clock.move(59 * time.Minute)
	step("soon", 3)
	clock.move(time.Hour)
	step("late", 4)
	p.answers = answers{"pip": "https://own.test/simple\nglobal.index-url='https://u:s3cret@mirror.test/simple'\n"}
	clock.move(2 * time.Hour)
	step("credentials", 5)
	step("credentials again", 6)
	files, _ := filepath.Glob(dir + "/*")
	for _, f := range files {
		if data, err := os.ReadFile(f); err != nil || strings.Contains(string(data), "s3cret") || strings.Contains(string(data), "dTpz") {
			t.Errorf("%s: %s %v", f, data, err)
		}
	}
}
