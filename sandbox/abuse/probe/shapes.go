package probe

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeShapes fills a project with files and directories for the probe that
// turns them into each other.
func MakeShapes(dir string) error {
	var errs []error
	for _, file := range []string{"tree/b/c", "tree/d", "file", "opaque/old", "linked/x", "gone", "mode", "moved/one", "moved/deep/two"} {
		path := filepath.Join(dir, file)
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(file), 0o644))
	}
	return errors.Join(errs...)
}

// Digest tells one tree from another: names, kinds, permissions, contents and
// targets of links.
func Digest(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := contentOf(path, info)
		fmt.Fprintf(sum, "%q %v %q\n", rel, info.Mode(), content)
		return err
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

func contentOf(path string, info fs.FileInfo) (string, error) {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return os.Readlink(path)
	case info.Mode().IsRegular():
		b, err := os.ReadFile(path)
		return string(b), err
	}
	return "", nil
}
