package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"kintsugi/agent/event"
	"kintsugi/sandbox/workspace"
	"kintsugi/ui"
)

// readArtefact reads a file of a checkpoint, at most limit bytes of it.
func readArtefact(s *workspace.Store, a event.Artefact, limit int64) ([]byte, error) {
	v, err := s.View(a.Checkpoint)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	f, _, err := v.Open(a.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// recordedFiles reads the artefacts of a recorded session. Its workspace is
// opened when the first one is wanted.
func recordedFiles(sum event.Summary) ui.FileReader {
	open := sync.OnceValues(func() (*kept, error) { return openKept(sum, true) })
	return func(a event.Artefact, limit int64) ([]byte, error) {
		k, err := open()
		if err != nil {
			return nil, err
		}
		return readArtefact(k.Store, a, limit)
	}
}

// artefact reads an artefact of the session.
func (s *session) artefact(a event.Artefact, limit int64) ([]byte, error) {
	return readArtefact(s.store.Store, a, limit)
}

// saveDir is where artefacts are saved unless the user says otherwise: the
// folder for downloads, or the home.
func saveDir(p places) string {
	if dir := filepath.Join(p.home, "Downloads"); exists(dir) {
		return dir
	}
	return p.home
}

// Keep implements ui.Keeper. It makes a new file, through no link, and never
// touches what is there.
func (c *controller) Keep(a event.Artefact, path string) {
	c.aside(func() error {
		if err := c.s.keep(a, path); err != nil {
			return err
		}
		return c.tell("saved a copy of %s as %s", a.Path, path)
	})
}

func (s *session) keep(a event.Artefact, path string) error {
	p, err := findPlaces()
	if err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(path, "~"+string(filepath.Separator)); ok {
		path = filepath.Join(p.home, rest)
	}
	return s.copyOut(a, path)
}

// copyOut writes an artefact to a new file.
func (s *session) copyOut(a event.Artefact, path string) error {
	v, err := s.store.View(a.Checkpoint)
	if err != nil {
		return err
	}
	defer v.Close()
	from, _, err := v.Open(a.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and was not touched; choose another name", path)
	}
	if err != nil {
		return fmt.Errorf("the copy cannot be made: %w", err)
	}
	if _, err = io.Copy(to, from); err != nil {
		return errors.Join(fmt.Errorf("the copy failed: %w", err), to.Close(), os.Remove(path))
	}
	return to.Close()
}

// viewerExt is the extension by which the desktop finds a program that only shows a
// file, empty for the rest: a program could run what a box made.
func viewerExt(media string) string {
	switch media {
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "image/bmp":
		return ".bmp"
	case "application/pdf":
		return ".pdf"
	case "text/csv":
		return ".csv"
	case "text/plain", "text/tab-separated-values":
		return ".txt"
	}
	return ""
}

// Open implements ui.Keeper: the desktop's program gets a copy.
func (c *controller) Open(a event.Artefact) {
	c.aside(func() error {
		ext := viewerExt(a.Media)
		if ext == "" {
			return fmt.Errorf("%s is of a kind that a program could run; save a copy and open that yourself", a.Path)
		}
		program, err := opener()
		if err != nil {
			return err
		}
		dir, err := os.MkdirTemp(c.s.dir, "shown-")
		if err != nil {
			return err
		}
		path := filepath.Join(dir, "shown"+ext)
		if err := c.s.copyOut(a, path); err != nil {
			return err
		}
		return launch(append(program, path))
	})
}

// opener is the desktop's way to open a file.
func opener() ([]string, error) {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}, nil
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}, nil
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil, errors.New("there is no desktop here to open files; save a copy instead")
	}
	path, err := exec.LookPath("xdg-open")
	if err != nil {
		return nil, errors.New("xdg-open is not installed; save a copy instead")
	}
	return []string{path}, nil
}

// launch starts a program that lives on by itself.
func launch(argv []string) error {
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// artefact reads an artefact of the session.
func (c *controller) artefact(a event.Artefact, limit int64) ([]byte, error) {
	s := c.session()
	if s == nil {
		return nil, errNoSession
	}
	return s.artefact(a, limit)
}

// changes compares the session with the project.
func (c *controller) changes() (ui.Changes, error) {
	s := c.session()
	if s == nil {
		return ui.Changes{}, errNoSession
	}
	return s.changes()
}

var errNoSession = errors.New("the session could not be opened")

// aside does something short beside the work, and notes what goes wrong.
func (c *controller) aside(f func() error) {
	if c.session() == nil {
		return
	}
	if err := f(); err != nil {
		c.note(err)
	}
}

var _ ui.Keeper = (*controller)(nil)
