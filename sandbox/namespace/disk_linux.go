package namespace

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"kintsugi/sandbox"
)

// What a box writes into the workspace or a layer lands in directories of the
// host, which no unprivileged limit bounds. A watcher adds up what is in them.
const (
	diskLook = 50 * time.Millisecond
	// diskShare is how many times longer than it looks the watcher rests, so
	// that a large tree costs a small part of one core. The shorter one of two
	// looks counts: a moment in which the machine had no time for us is no
	// reason to look away.
	diskShare = 10
)

// watchedDisk names the mechanism in results.
const watchedDisk = "the size of what was written, watched"

// disk is what a box may write into directories of the host.
type disk struct {
	dirs         []string
	bytes, files int64 // at most; 0 or less: unlimited
}

// newDisk starts from what is in the directories already.
func newDisk(spec *sandbox.Spec, l sandbox.Limits) disk {
	d := disk{bytes: l.Disk, files: l.Inodes}
	for _, dir := range []string{spec.Workspace.Upper, spec.Capture} {
		if dir != "" {
			d.dirs = append(d.dirs, dir)
		}
	}
	if len(d.dirs) == 0 || spec.Capture == "" {
		return d
	}
	bytes, files := d.used(-1, -1)
	if d.bytes > 0 {
		d.bytes += bytes
	}
	if d.files > 0 {
		d.files += files
	}
	return d
}

// used adds up blocks and files; it stops early past a limit of 0 or more.
func (d disk) used(mostBytes, mostFiles int64) (bytes, files int64) {
	for _, dir := range d.dirs {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || path == dir {
				return nil // what vanishes meanwhile is not there
			}
			files++
			if info, err := e.Info(); err == nil {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					bytes += st.Blocks * 512
				}
			}
			if mostBytes >= 0 && bytes > mostBytes || mostFiles >= 0 && files > mostFiles {
				return fs.SkipAll
			}
			return nil
		})
	}
	return bytes, files
}

// full says whether more than allowed is there.
func (d disk) full() bool {
	if len(d.dirs) == 0 {
		return false
	}
	limit := func(n int64) int64 {
		if n <= 0 {
			return -1
		}
		return n
	}
	bytes, files := d.used(limit(d.bytes), limit(d.files))
	return d.bytes > 0 && bytes > d.bytes || d.files > 0 && files > d.files
}

// watchDisk ends the box when it wrote too much, until done is closed.
func (b *box) watchDisk(done <-chan struct{}) {
	timer := time.NewTimer(diskLook)
	defer timer.Stop()
	for before := time.Duration(0); ; {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		began := time.Now()
		if b.disk.full() {
			b.filled.Store(true)
			b.end()
			return
		}
		took := time.Since(began)
		timer.Reset(max(diskLook, diskShare*min(took, before)))
		before = took
	}
}
