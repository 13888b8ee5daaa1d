package demo

import (
	"testing"

	"kintsugi/agent/event"
)

func TestFilesAreAsLargeAsTheStorySays(t *testing.T) {
	t.Parallel()
	for _, b := range Results() {
		a, ok := b.Body.(event.Artefact)
		if !ok || a.Media != "text/csv" && a.Media != "text/plain" {
			continue
		}
		if data, err := File(a, 1<<20); err != nil || int64(len(data)) != a.Size {
			t.Errorf("%s has %d bytes (%v), the story says %d", a.Path, len(data), err, a.Size)
		}
	}
}
