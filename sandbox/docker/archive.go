package docker

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"kintsugi/sandbox/workspace/beneath"
)

// fingerprint changes when anything in a tree does, as far as names, kinds,
// modes, sizes and times tell.
func fingerprint(tree string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == tree {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(tree, path)
		fmt.Fprintf(h, "%q %v", rel, info.Mode())
		if !info.IsDir() {
			to, _ := os.Readlink(path)
			fmt.Fprintf(h, " %d %d %q", info.Size(), info.ModTime().UnixNano(), to)
		}
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// fileMark is a hash of a file's content and mode.
func fileMark(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%v", info.Mode())
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// addTree writes a layer: root's, and readable by whoever is in the box.
func addTree(w *tar.Writer, tree string) error {
	return filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == tree {
			return err
		}
		rel, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		switch d.Type() {
		case 0:
			return addFile(w, name, path)
		case fs.ModeDir:
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, Format: tar.FormatPAX})
		case fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777, Format: tar.FormatPAX})
		}
		return nil // what removes something was carried out before
	})
}

// removals lists what a layer takes away from what lies below it: names, and
// folders, with a slash, whose content goes.
func removals(tree string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == tree {
			return err
		}
		rel, err := filepath.Rel(tree, path)
		name := filepath.ToSlash(rel)
		switch {
		case err != nil:
			return err
		case d.Type() == fs.ModeDevice|fs.ModeCharDevice:
			out = append(out, name)
		case d.IsDir():
			dir, err := beneath.Open(path)
			if err != nil {
				return err
			}
			defer dir.Close()
			if dir.Opaque() {
				out = append(out, name+"/")
			}
		}
		return nil
	})
	return out, err
}

// addFile writes one file as root's, readable, and executable by all if by
// anyone.
func addFile(w *tar.Writer, name, path string) error {
	return sendFile(w, path, func(info fs.FileInfo) *tar.Header {
		mode := int64(info.Mode().Perm() | 0o444)
		if mode&0o111 != 0 {
			mode |= 0o111
		}
		return &tar.Header{Name: name, Mode: mode, ModTime: info.ModTime(), Format: tar.FormatPAX}
	})
}

// addKeeper writes the keeper.
func addKeeper(w *tar.Writer, path string) error {
	name := keeperPath[1:]
	dir := &tar.Header{Typeflag: tar.TypeDir, Name: filepath.Dir(name) + "/", Mode: 0o755, ModTime: time.Unix(0, 0)}
	return errors.Join(w.WriteHeader(dir), addProgram(w, name, path))
}

func addProgram(w *tar.Writer, name, path string) error {
	return sendFile(w, path, func(fs.FileInfo) *tar.Header {
		return &tar.Header{Name: name, Mode: 0o555, ModTime: time.Unix(0, 0)}
	})
}
