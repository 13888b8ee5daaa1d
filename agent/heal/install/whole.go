package install

import (
	"os"
	"path/filepath"
)

// bootFile says in which boot of the machine a layer was known to be whole.
const bootFile = "boot"

// whole says whether what lies in dir is the layer that was finished there. A
// loss of power can keep a layer's name and lose the end of its files, so the
// first look at a layer after the machine was started measures it.
func whole(dir string, l Layer) bool {
	boot := bootID()
	if boot == "" || l.Size == 0 {
		return true
	}
	path := filepath.Join(dir, bootFile)
	if said, err := os.ReadFile(path); err == nil && string(said) == boot {
		return true
	}
	if treeSize(l.Tree) != l.Size {
		return false
	}
	_ = os.WriteFile(path, []byte(boot), 0o600) // else it is measured again
	return true
}

// bootID names this boot of the machine; empty where the system does not.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id)
}
