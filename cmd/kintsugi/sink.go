package main

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/term"

	"kintsugi/sandbox/inert"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// colourWanted follows NO_COLOR and the terminal.
func colourWanted(f *os.File) bool {
	return isTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// discardSink drops the raw output: the events tell it.
type discardSink struct{}

func (discardSink) Attempt(int, bool) (stdout, stderr io.Writer) { return io.Discard, io.Discard }
func (discardSink) Ended(bool) error                             { return nil }

// liveSink passes output on as it comes. What goes to a terminal is made
// harmless; what goes to a pipe or a file is passed byte for byte.
type liveSink struct{ stdout, stderr io.Writer }

func newLiveSink(stdout, stderr *os.File) *liveSink {
	return &liveSink{stdout: guarded(stdout), stderr: guarded(stderr)}
}

func (s *liveSink) Attempt(int, bool) (stdout, stderr io.Writer) { return s.stdout, s.stderr }
func (s *liveSink) Ended(bool) error                             { return flush(s.stdout, s.stderr) }

// guarded puts a filter before a terminal.
func guarded(f *os.File) io.Writer {
	if !isTerminal(f) {
		return f
	}
	return &filtered{out: f, filter: newLineFilter()}
}

// newLineFilter makes a lone carriage return visible.
func newLineFilter() *inert.Filter { return inert.New() }

type filtered struct {
	out    io.Writer
	filter *inert.Filter
	buf    []byte
}

// Write passes harmless text on. A progress bar that rewrites its line gets a
// line for each state: on a terminal nothing may hide beneath anything.
func (w *filtered) Write(p []byte) (int, error) {
	w.buf = w.filter.Append(w.buf[:0], p)
	_, err := w.out.Write(bytes.ReplaceAll(w.buf, []byte("␍"), []byte("\n")))
	return len(p), err
}

func (w *filtered) flush() error {
	_, err := io.WriteString(w.out, w.filter.Flush())
	return err
}

func flush(writers ...io.Writer) error {
	var errs []error
	for _, w := range writers {
		if f, ok := w.(*filtered); ok {
			errs = append(errs, f.flush())
		}
	}
	return errors.Join(errs...)
}

// heldSink keeps the output of an attempt until it is known to be the final
// one, so that a pipe never sees the output of an attempt that was mended. The
// last possible attempt is passed on as it comes.
type heldSink struct {
	out, err         io.Writer
	heldOut, heldErr *spool
	direct           bool
}

func newHeldSink(stdout, stderr *os.File) *heldSink {
	return &heldSink{out: guarded(stdout), err: guarded(stderr)}
}

func (s *heldSink) Attempt(_ int, last bool) (stdout, stderr io.Writer) {
	if s.direct = last; last {
		return s.out, s.err
	}
	s.heldOut, s.heldErr = &spool{}, &spool{}
	return s.heldOut, s.heldErr
}

func (s *heldSink) Ended(final bool) error {
	if s.direct {
		return flush(s.out, s.err)
	}
	if !final {
		return errors.Join(s.heldOut.drop(), s.heldErr.drop())
	}
	return errors.Join(s.heldErr.pour(s.err), s.heldOut.pour(s.out), flush(s.out, s.err))
}

// spoolMemory is what a spool keeps in memory before it turns to a file.
const spoolMemory = 1 << 20

// spool holds bytes: few in memory, many in an unlinked temporary file.
type spool struct {
	buf  bytes.Buffer
	file *os.File
}

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.buf.Len()+len(p) <= spoolMemory {
		return s.buf.Write(p)
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return 0, err
		}
	}
	return s.file.Write(p)
}

func (s *spool) open() error {
	f, err := os.CreateTemp("", "kintsugi-out-*")
	if err != nil {
		return err
	}
	_ = os.Remove(f.Name())
	s.file = f
	_, err = s.buf.WriteTo(f)
	return err
}

func (s *spool) pour(w io.Writer) error {
	if s.file == nil {
		_, err := s.buf.WriteTo(w)
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, s.file)
	return errors.Join(err, s.drop())
}

func (s *spool) drop() error {
	s.buf.Reset()
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}
