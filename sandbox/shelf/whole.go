package shelf

import (
	"io/fs"
	"os"
	"path/filepath"
)

// BootFile says, in a folder, in which boot of the machine its tree was known
// to be whole.
const BootFile = "boot"

// Whole says whether a folder's tree has the size, in bytes, that it had when
// it was finished. A loss of power can keep a folder's name and lose the end of
// its files, so the first look at it after the machine was started measures it.
// A size of 0 is not known, and whole.
func Whole(dir, tree string, size int64) bool {
	boot := BootID()
	if boot == "" || size == 0 {
		return true
	}
	if said, err := os.ReadFile(filepath.Join(dir, BootFile)); err == nil && string(said) == boot {
		return true
	}
	if Size(tree) != size {
		return false
	}
	Finished(dir) // else it is measured again
	return true
}

// Finished notes that a folder's tree is whole in this boot. Failing to costs a
// measurement.
func Finished(dir string) {
	_ = os.WriteFile(filepath.Join(dir, BootFile), []byte(BootID()), 0o600)
}

// BootID names this boot of the machine; empty where the system does not.
func BootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id)
}

// Size sums up the files of a tree, in bytes. What cannot be read, or is being
// removed, counts nothing.
func Size(tree string) (n int64) {
	_ = filepath.WalkDir(tree, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
