package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// removeListed removes what an image that is being made shall not have.
func removeListed() int {
	list, err := os.ReadFile(Removals)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if err == nil && name != "" {
			err = removeOne(filepath.Join("/", name), strings.HasSuffix(name, "/"))
		}
	}
	if err = errors.Join(err, os.Remove(Removals)); err != nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		return 1
	}
	return 0
}

func removeOne(path string, content bool) error {
	if !content {
		return os.RemoveAll(path)
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(path, e.Name())))
	}
	return err
}
