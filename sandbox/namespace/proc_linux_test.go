package namespace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFindMasks(t *testing.T) {
	t.Parallel()
	proc := files(t, map[string]string{"cpuinfo": "", "secrets": "", "1/status": "", "driver/x": "", "kcore": ""})
	if err := os.Chmod(filepath.Join(proc, "kcore"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/sys/firmware", filepath.Join(proc, "device-tree")); err != nil {
		t.Fatal(err)
	}
	got, err := findMasks(proc)
	if err != nil || !slices.Equal(got, []mask{{"driver", true}, {"secrets", false}}) {
		t.Fatalf("got %v, %v", got, err)
	}
}
