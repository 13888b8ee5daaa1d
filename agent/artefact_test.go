package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kintsugi/agent/event"
)

func TestArtefactsAreWhatPeopleLookAt(t *testing.T) {
	t.Parallel()
	saved := Saved{ID: "c7", Files: []SavedFile{
		{Path: "notes.txt", Size: 3}, {Path: "out/sales.csv", Size: 40, Changed: true}, {Path: ".cache/x.png", Size: 1},
		{Path: "__pycache__/plot.pyc", Size: 9}, {Path: "plot.PNG", Size: 500}, {Path: "bad\xff.png", Size: 1},
	}}
	want := []event.Body{
		event.Artefact{Step: 2, Attempt: 3, Path: "plot.PNG", Media: "image/png", Size: 500, Checkpoint: "c7"},
		event.Artefact{Step: 2, Attempt: 3, Path: "out/sales.csv", Media: "text/csv", Size: 40, Checkpoint: "c7", Changed: true},
		event.Artefact{Step: 2, Attempt: 3, Path: "notes.txt", Media: "text/plain", Size: 3, Checkpoint: "c7"},
	}
	if d := cmp.Diff(want, artefacts(2, 3, saved)); d != "" {
		t.Error(d)
	}
	for range 100 {
		saved.Files = append(saved.Files, SavedFile{Path: "a.bin"})
	}
	if n := len(artefacts(1, 1, saved)); n != maxArtefacts {
		t.Errorf("%d events, want at most %d", n, maxArtefacts)
	}
}
