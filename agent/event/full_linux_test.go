package event

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A tiny file system fills up in the middle of a line; when there is room
// again the log goes on as if nothing had happened.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no right to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	log, err := Create(dir, clock())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	filler := Task{Text: strings.Repeat("f", 5000)}
	for err == nil {
		_, err = log.Append(filler)
	}
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("a full disk says: %v", err)
	}
	before := log.Seq()
	if err := os.Remove(lockPath(dir)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	appendAll(t, log, Task{Text: "room"})
	got, err := ReadFile(dir)
	if err != nil || int64(len(got)) != before+1 || got[before].Body != (Task{Text: "room"}) {
		t.Errorf("after the disk was full: %d events, want %d, %v", len(got), before+1, err)
	}
}
