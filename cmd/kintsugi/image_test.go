package main

import (
	"path/filepath"
	"testing"

	"kintsugi/agent/event"
)

// TestImageOfAResumedSession goes on with what the boxes of a session saw.
func TestImageOfAResumedSession(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	p, err := findPlaces()
	if err != nil {
		t.Fatal(err)
	}
	const id = "20260101-000000-000-blue-bowl"
	log, err := event.Create(filepath.Join(p.sessions, id), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = log.Append(event.Session{Version: event.Version, ID: id, Image: "example.test/pots:1", Project: t.TempDir()})
	if err != nil || log.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o            boxOptions
		resume, want string
	}{
		{boxOptions{}, id, "example.test/pots:1"}, {boxOptions{image: "other"}, id, "other"}, {boxOptions{}, "", ""},
	} {
		if got, err := imageOf(c.o, c.resume); got != c.want || err != nil {
			t.Errorf("%+v: %q, %v; want %q", c, got, err, c.want)
		}
	}
}
