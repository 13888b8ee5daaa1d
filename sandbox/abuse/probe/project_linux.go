package probe

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// leaveLinks replaces and adds links that lead out of the project.
func leaveLinks(a Args) Verdict {
	file, dir := a.Text("file"), a.Text("dir")
	return all("links", os.Remove("original"), os.RemoveAll("sub"),
		os.Symlink(file, "original"), os.Symlink(file, "out"), os.Symlink(file+"/", "trailing"),
		os.Symlink(dir, "sub"), os.Symlink(dir+"/", "sub-trailing"), os.Symlink("/nonexistent/", "dangling"),
		os.Symlink("../../../../../../../.."+file, "climbing"), os.Symlink("sub/../..", "winding"))
}

// writeThrough puts files and directories where leaveLinks left links.
func writeThrough(Args) Verdict {
	for _, name := range []string{"original", "out", "trailing", "dangling", "climbing"} {
		if err := errors.Join(os.Remove(name), os.WriteFile(name, []byte("changed in the box"), 0o644)); err != nil {
			return Errorf("%v", err)
		}
	}
	for _, name := range []string{"sub", "sub-trailing", "winding"} {
		err := errors.Join(os.Remove(name), os.Mkdir(name, 0o755),
			os.WriteFile(filepath.Join(name, "planted"), []byte("changed in the box"), 0o644))
		if err != nil {
			return Errorf("%v", err)
		}
	}
	return Heldf("files where links were")
}

func all(what string, errs ...error) Verdict {
	if err := errors.Join(errs...); err != nil {
		return Errorf("%s: %v", what, err)
	}
	return Heldf("left %s", what)
}

// reshape turns files, directories and links of a project that MakeShapes
// made into each other, and tells the digest of the result.
func reshape(Args) Verdict {
	err := errors.Join(
		os.RemoveAll("tree"), os.WriteFile("tree", []byte("now a file"), 0o644),
		os.Remove("file"), os.MkdirAll("file/deep", 0o755), os.WriteFile("file/deep/x", []byte("x"), 0o600),
		os.RemoveAll("opaque"), os.Mkdir("opaque", 0o755), os.WriteFile("opaque/new", []byte("new"), 0o644),
		os.RemoveAll("linked"), os.Symlink("opaque", "linked"),
		os.Remove("gone"), os.Chmod("mode", 0o755), move("moved", "elsewhere"),
		os.Mkdir("empty", 0o755), os.WriteFile("nothing", nil, 0o644),
	)
	if err != nil {
		return Errorf("%v", err)
	}
	digest, err := Digest(".")
	if err != nil {
		return Errorf("%v", err)
	}
	return Heldf("%s", digest)
}

// move renames a directory, or copies it as programs do when the file system
// cannot.
func move(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	return errors.Join(os.CopyFS(to, os.DirFS(from)), os.RemoveAll(from))
}

// specialBits leaves every bit and attribute that must not come back.
func specialBits(Args) Verdict {
	err := errors.Join(os.WriteFile("suid", []byte("#!/bin/sh\n"), 0o755), os.Chmod("suid", 0o6755|fs.ModeSetuid|fs.ModeSetgid),
		os.Chmod("original", 0o4755|fs.ModeSetuid), os.Mkdir("sticky", 0o777), os.Chmod("sticky", 0o777|fs.ModeSticky|fs.ModeSetgid))
	if err != nil {
		return Errorf("%v", err)
	}
	var set []string
	for _, name := range []string{"user.kintsugi", "user.overlay.opaque", "user.overlay.redirect", "user.overlay.metacopy",
		"trusted.overlay.opaque", "security.capability", "security.selinux"} {
		for _, file := range []string{"suid", "sticky"} {
			if unix.Setxattr(file, name, []byte("y"), 0) == nil {
				set = append(set, file+" "+name)
			}
		}
	}
	return Heldf("set-id bits; attributes that could be set: %s", strings.Join(set, ", "))
}

// oddFiles leaves files that block or act when they are opened.
func oddFiles(Args) Verdict {
	l, err := net.Listen("unix", "socket")
	if err != nil {
		return Errorf("%v", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return all("a fifo, a socket and a file", l.Close(), unix.Mkfifo("fifo", 0o666), os.Remove("original"),
		unix.Mkfifo("original", 0o666), os.WriteFile("plain", []byte("plain"), 0o644))
}

// writeFiles makes the files that the host names, with what is above them.
func writeFiles(a Args) Verdict {
	for _, file := range a.List("files") {
		if st, err := os.Lstat(filepath.Dir(file)); err == nil && !st.IsDir() {
			if err := os.Remove(filepath.Dir(file)); err != nil {
				return Errorf("%v", err)
			}
		}
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("changed in the box"), 0o755))
		if err != nil {
			return Errorf("%v", err)
		}
	}
	return Heldf("wrote %d files", len(a.List("files")))
}

// moveInto brings files into a guarded directory without ever writing there:
// by renaming, by linking and by exchanging whole directories.
func moveInto(a Args) Verdict {
	guarded := a.Text("dir")
	for _, name := range []string{"renamed", "linked"} {
		if err := os.WriteFile(name, []byte("changed in the box"), 0o755); err != nil {
			return Errorf("%v", err)
		}
	}
	if err := errors.Join(os.Mkdir("innocent", 0o755), os.WriteFile("innocent/exchanged", []byte("changed in the box"), 0o755)); err != nil {
		return Errorf("%v", err)
	}
	return Heldf("rename %s, link %s, exchange %s, rename of the directory %s",
		short(os.Rename("renamed", filepath.Join(guarded, "pre-commit"))),
		short(os.Link("linked", filepath.Join(guarded, "post-checkout"))),
		short(unix.Renameat2(unix.AT_FDCWD, "innocent", unix.AT_FDCWD, guarded, unix.RENAME_EXCHANGE)),
		short(os.Rename("innocent", filepath.Join(guarded, "below"))))
}

// bigChange leaves a large text and a larger hole.
func bigChange(a Args) Verdict {
	f, err := os.Create("hole")
	if err != nil {
		return Errorf("%v", err)
	}
	defer f.Close()
	text := strings.Repeat("a line of a large text\n", a.Int("mib")*mib/23)
	return all("a large change", f.Truncate(int64(a.Int("hole"))*mib), os.WriteFile("text", []byte(text), 0o644),
		os.WriteFile("original", []byte(text), 0o644))
}
