package event

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestSessionsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	makeSession(t, root, at, Session{ID: "x", Project: "/one", Title: "one"}, End{Exit: 3})
	makeSession(t, root, at.Add(time.Millisecond), Session{Project: "/two"}, Task{Text: "draw\n a  pot"})
	live := makeSession(t, root, at.Add(time.Hour), Session{Project: "/three", Lesson: "l"}, Call{Argv: []string{"ls", "-l"}})
	reopened, err := Open(live)
	if err != nil {
		t.Fatal(err)
	}
	defer reopened.Close()
	os.Mkdir(filepath.Join(root, "not-a-session"), 0o700)
	os.WriteFile(filepath.Join(root, "file"), nil, 0o600)

	got, err := Sessions(root)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d sessions, %v", len(got), err)
	}
	if g := got[0]; g.Title != "ls -l" || !g.Live || g.Ended || g.Lesson != "l" || g.Project != "/three" {
		t.Errorf("live: %+v", g)
	}
	if g := got[1]; g.Title != "draw a pot" || g.Live || g.Ended || g.Events != 2 {
		t.Errorf("crashed: %+v", g)
	}
	if g := got[2]; g.Title != "one" || !g.Ended || g.Exit != 3 || g.Events != 2 {
		t.Errorf("ended: %+v", g)
	}
}

// makeSession writes a closed session and returns its directory.
func makeSession(t *testing.T, root string, at time.Time, bodies ...Body) string {
	t.Helper()
	id, err := NewID(at, bytes.NewReader([]byte{1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	log, err := Create(filepath.Join(root, id), clock())
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, log, bodies...)
	log.Close()
	return log.Dir()
}

func TestLongSessionIsSummarisedFromItsEnds(t *testing.T) {
	t.Parallel()
	bodies := []Body{Session{Title: "long"}}
	for range 3000 {
		bodies = append(bodies, Output{Step: 1, Attempt: 1, Text: strings.Repeat("o", 100)})
	}
	dir := makeSession(t, t.TempDir(), time.Now(), append(bodies, End{Exit: 9})...)
	sum, err := Summarise(dir)
	if err != nil || sum.Title != "long" || !sum.Ended || sum.Exit != 9 || sum.Events != 3002 {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestNoRootHasNoSessions(t *testing.T) {
	t.Parallel()
	got, err := Sessions(filepath.Join(t.TempDir(), "none"))
	if err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestIDsSortByAge(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.FixedZone("x", 3600))
	old, err := NewID(at, bytes.NewReader([]byte{255, 255}))
	if err != nil {
		t.Fatal(err)
	}
	young, err := NewID(at.Add(time.Millisecond), bytes.NewReader([]byte{0, 0}))
	if err != nil || old >= young || old != "20260304-040607-008-warm-wheel" {
		t.Errorf("%s, %s, %v", old, young, err)
	}
	if _, err := NewID(at, bytes.NewReader(nil)); err == nil {
		t.Error("a name without randomness")
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the paths of this test are not those of Windows")
	}
	env := map[string]string{"XDG_STATE_HOME": "/state"}
	got, err := Root(func(k string) string { return env[k] })
	if err != nil || got != "/state/kintsugi/sessions" {
		t.Errorf("%s, %v", got, err)
	}
	env["XDG_STATE_HOME"] = "relative"
	got, err = Root(func(k string) string { return env[k] })
	if err != nil || !filepath.IsAbs(got) || strings.Contains(got, "relative") {
		t.Errorf("a relative state directory must be ignored: %s, %v", got, err)
	}
}
