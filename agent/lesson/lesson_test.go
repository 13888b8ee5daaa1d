package lesson

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kintsugi/agent"
	"kintsugi/agent/event"
	"kintsugi/agent/heal"
	"kintsugi/agent/tool"
)

// doer answers every call with the same outcome.
type doer struct {
	out   agent.Outcome
	err   error
	calls []agent.Call
}

func (d *doer) Do(_ context.Context, c agent.Call) (agent.Outcome, error) {
	d.calls = append(d.calls, c)
	return d.out, d.err
}

func load(t *testing.T, name string, user ...fs.FS) *Lesson {
	t.Helper()
	l, err := Load(name, user...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// played plays a lesson and gives the state of its log.
func played(t *testing.T, l *Lesson, p Player) (*event.State, bool, error) {
	t.Helper()
	log, err := event.Create(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.Log = log
	ok, playErr := l.Play(t.Context(), p)
	events, err := event.ReadFile(log.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return event.Fold(events), ok, playErr
}

func TestEveryBuiltInLessonLoads(t *testing.T) {
	t.Parallel()
	names := List()
	if !slices.Contains(names, "missing-module") {
		t.Fatalf("lessons: %v", names)
	}
	for _, name := range names {
		load(t, name)
	}
}

func TestPlayMended(t *testing.T) {
	t.Parallel()
	l := load(t, "missing-module")
	d := &doer{out: agent.Outcome{OK: true, Attempts: 2}}
	s, ok, err := played(t, l, Player{Engine: d})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	c := d.calls[0]
	if len(d.calls) != 1 || c.Origin != "lesson" || c.Ext != ".py" || c.Step != 1 || !strings.Contains(c.Code, "kintsugi_pottery") {
		t.Errorf("%+v", d.calls)
	}
	if lines := strings.Count(strings.TrimSpace(c.Code), "\n") + 1; lines < 10 || lines > 20 {
		t.Errorf("a program of %d lines", lines)
	}
	if s.Tasks[0].Text != l.Task || len(s.Steps) != 2 || !s.Steps[0].OK || !s.Steps[1].OK {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(strings.Join(s.Steps[0].Thinking, ""), "a rule read the error") || !strings.Contains(s.Steps[1].Answer, "gold line is the seam") {
		t.Errorf("%+v", s.Steps[1])
	}
	if text := strings.Join(s.Steps[1].Text, ""); strings.TrimSpace(text) != s.Steps[1].Answer {
		t.Errorf("the answer is not said: %q", text)
	}
	if n := len(s.Steps[0].Text) + len(s.Steps[0].Thinking); n < 10 {
		t.Errorf("it does not stream: %d chunks", n)
	}
}

func TestPlayTellsTheTruth(t *testing.T) {
	t.Parallel()
	l := load(t, "missing-module")
	s, ok, err := played(t, l, Player{Engine: &doer{out: agent.Outcome{Exit: 1, Attempts: 1}}})
	if err != nil || ok || len(s.Steps) != 1 || s.Steps[0].OK || !strings.Contains(strings.Join(s.Steps[0].Text, ""), "nothing here is faked") {
		t.Errorf("failed: %v %v %+v", ok, err, s.Steps)
	}
	s, ok, err = played(t, l, Player{Engine: &doer{out: agent.Outcome{OK: true, Attempts: 1}}})
	if err != nil || !ok || !strings.Contains(strings.Join(s.Steps[0].Text, ""), "was there already") {
		t.Errorf("nothing to mend: %v %v %+v", ok, err, s.Steps)
	}
	broken := errors.New("no box")
	s, ok, err = played(t, l, Player{Engine: &doer{err: broken}})
	if !errors.Is(err, broken) || ok || !s.Steps[0].Done || s.Steps[0].OK {
		t.Errorf("broken: %v %v %+v", ok, err, s.Steps)
	}
}

func TestPlayIsPacedAndCanBeStopped(t *testing.T) {
	t.Parallel()
	l := load(t, "missing-module")
	var slept time.Duration
	p := Player{Engine: &doer{out: agent.Outcome{OK: true, Attempts: 2}}, Sleep: func(_ context.Context, d time.Duration) { slept += d }}
	if _, _, err := played(t, l, p); err != nil || slept < 4*time.Second || slept > 20*time.Second {
		t.Errorf("it takes %v, %v", slept, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	log, err := event.Create(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	n := 0
	p.Log, p.Sleep = log, func(context.Context, time.Duration) {
		if n++; n == 5 {
			cancel()
		}
	}
	if _, err := l.Play(ctx, p); !errors.Is(err, context.Canceled) || n > 6 {
		t.Errorf("%v after %d pauses", err, n)
	}
}

// memoryFiles keeps what is written.
type memoryFiles map[string]string

func (m memoryFiles) Read(p string) ([]byte, error) { return []byte(m[p]), nil }
func (m memoryFiles) Write(p string, data []byte) error {
	m[p] = string(data)
	return nil
}
func (memoryFiles) List(string) ([]tool.Entry, error) { return nil, nil }

func TestUserLesson(t *testing.T) {
	t.Parallel()
	user := fstest.MapFS{
		"mine/lesson.toml":        {Data: []byte("title='T'\ntask='x'\nfiles=['data/a.csv']\n[[step]]\n[step.call]\nlanguage='sh'\ncode='ls'\n")},
		"mine/data/a.csv":         {Data: []byte("1,2\n")},
		"missing-module/readme":   {},
		"not-a-lesson/other.toml": {},
	}
	if got := List(user); !slices.Contains(got, "mine") || slices.Contains(got, "not-a-lesson") {
		t.Errorf("%v", got)
	}
	files := memoryFiles{}
	d := &doer{out: agent.Outcome{OK: true, Attempts: 1}}
	_, ok, err := played(t, load(t, "mine", user), Player{Engine: d, Files: files})
	if err != nil || !ok || d.calls[0].Code != "ls" || d.calls[0].Ext != ".sh" || files["a.csv"] != "1,2\n" {
		t.Errorf("%v %v %+v %v", ok, err, d.calls, files)
	}
	load(t, "missing-module", user) // the user's folder of that name is no lesson
}

func TestBadLessonsAreExplained(t *testing.T) {
	t.Parallel()
	const ok = "title='T'\ntask='x'\n"
	const wheel = ok + "[[step]]\nanswer='a'\n[[wheel]]\nname='a'\nversion='1'\nmodule='m'\n"
	for text, want := range map[string]string{
		"":                        "title",
		"title = ":                "lesson.toml",
		ok:                        "[[step]]",
		ok + "colour='x'\n":       "unknown key: colour",
		ok + "[[step]]\n":         "step 1",
		ok + "[[step]]\nanswer=5": "lesson.toml",
		ok + "[[step]]\n[step.call]\nlanguage='cobol'\ncode='x'":           "cobol",
		ok + "[[step]]\n[step.call]\nlanguage='sh'":                        "either code or a file",
		ok + "[[step]]\n[step.call]\nlanguage='sh'\nfile='none'":           "none",
		ok + "[[step]]\n[step.call]\nlanguage='sh'\nfile='../x'":           "../x",
		ok + "[[step]]\nanswer='a'\n[[step.say]]\ntext='x'\npause='later'": "later",
		"files=['gone']\n" + ok + "[[step]]\nanswer='a'\n":                 "gone",
		wheel:                        "folder",
		wheel + "source='empty'\n":   "module m",
		wheel + "source='nowhere'\n": "nowhere",
		strings.Replace(wheel, "name='a'", "name='../a'", 1):    "../a",
		strings.Replace(wheel, "version='1'", "version='x'", 1): `"x"`,
	} {
		user := fstest.MapFS{"bad/lesson.toml": {Data: []byte(text)}, "bad/empty/readme.txt": {}}
		_, err := Load("bad", user)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
	for _, name := range []string{"nope", "", ".", "..", "a/b", "../lessons"} {
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), "missing-module") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRulesNameTheWheel(t *testing.T) {
	t.Parallel()
	data, err := fs.ReadFile(load(t, "missing-module").Rules(), "maps/import.tsv")
	if err != nil || !strings.Contains(string(data), "\nkintsugi_pottery\tkintsugi-pottery\t") {
		t.Errorf("%q, %v", data, err)
	}
}

// The rules that heal the lesson's break name its wheel, and vouch for it.
func TestRulesHealTheBreak(t *testing.T) {
	t.Parallel()
	l := load(t, "missing-module")
	rules, err := heal.Load(l.Rules())
	if err != nil {
		t.Fatal(err)
	}
	code, err := l.code(*l.Steps[0].Call)
	if err != nil {
		t.Fatal(err)
	}
	d := rules.Diagnose(heal.Input{
		Text: "Traceback (most recent call last):\n  File \"main.py\", line 2, in <module>\n    " + strings.Split(code, "\n")[1] +
			"\nModuleNotFoundError: No module named 'kintsugi_pottery'\n",
		Exit: 1, Imports: []string{"kintsugi_pottery"},
	})
	if d.Heal != heal.Auto || len(d.Remedies) == 0 || d.Remedies[0].Packages[0] != "kintsugi-pottery" || d.Remedies[0].Trust != heal.Known {
		t.Errorf("%+v", d)
	}
}

func TestWheelIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	l := load(t, "missing-module")
	a, b := t.TempDir(), filepath.Join(t.TempDir(), "made", "here")
	for _, dir := range []string{a, b, b} {
		if err := l.Wheelhouse(dir); err != nil {
			t.Fatal(err)
		}
	}
	const name = "kintsugi_pottery-1.0.0-py3-none-any.whl"
	one, err := os.ReadFile(filepath.Join(a, name))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(filepath.Join(a, name))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if f.Modified.Year() != 1980 {
			t.Errorf("%s bears the date %v", f.Name, f.Modified)
		}
	}
	two, err := os.ReadFile(filepath.Join(b, name))
	if err != nil || string(one) != string(two) {
		t.Errorf("the wheels differ, %v", err)
	}
	if left, _ := os.ReadDir(b); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// A real pip takes the wheel, without a network, and a real Python runs the
// lesson's program with it.
func TestRealPipTakesTheWheel(t *testing.T) {
	t.Parallel()
	l := load(t, "missing-module")
	house, target := t.TempDir(), t.TempDir()
	if err := l.Wheelhouse(house); err != nil {
		t.Fatal(err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	pip := exec.Command(python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", "--find-links", house, "--target", target, "kintsugi-pottery")
	if out, err := pip.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "No module named pip") {
			t.Skip("this python3 has no pip")
		}
		t.Fatalf("%v: %s", err, out)
	}
	code, err := l.code(*l.Steps[0].Call)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(python, "-c", code)
	run.Dir = t.TempDir()
	run.Env = []string{"PYTHONPATH=" + target, "PYTHONIOENCODING=utf-8", "NO_COLOR=1"}
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "▄▄|▄▄") || strings.Contains(string(out), "\x1b") {
		t.Errorf("%v: %s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(run.Dir, "bowl.png"))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || c.Width != 320 || c.Height != 176 {
		t.Errorf("the picture: %+v, %v", c, err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		if n := len([]rune(line)); n > 38 {
			t.Errorf("a line of %d columns does not fit a narrow pane: %q", n, line)
		}
	}
}
