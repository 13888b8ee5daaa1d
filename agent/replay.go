package agent

import (
	"io"
	"os"
	"sync"
)

// replay lets several attempts read the same input from the start. It reads
// its source only as far as an attempt asks, and keeps what was read in an
// unlinked temporary file, so that gigabytes of input cost no memory.
type replay struct {
	mu      sync.Mutex
	more    *sync.Cond
	src     io.Reader
	spool   *os.File
	size    int64
	err     error // what ended the source
	reading bool
}

func newReplay(src io.Reader) *replay {
	r := &replay{src: src}
	r.more = sync.NewCond(&r.mu)
	return r
}

// reader starts again at the first byte.
func (r *replay) reader() *replayReader { return &replayReader{r: r} }

// Close frees the spool. Readers must be closed before.
func (r *replay) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spool == nil {
		return nil
	}
	return r.spool.Close()
}

type replayReader struct {
	r      *replay
	off    int64
	closed bool
}

// Read gives spooled bytes first; it starts a read of the source when there
// are none, and returns when either side has news.
func (d *replayReader) Read(p []byte) (int, error) {
	r := d.r
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch {
		case d.closed:
			return 0, io.EOF
		case d.off < r.size:
			n, err := r.spool.ReadAt(p[:min(int64(len(p)), r.size-d.off)], d.off)
			d.off += int64(n)
			if n > 0 {
				err = nil
			}
			return n, err
		case r.err != nil:
			return 0, r.err
		case !r.reading:
			r.reading = true
			go r.fill()
		}
		r.more.Wait()
	}
}

// Close ends a Read that waits, at the end of an attempt.
func (d *replayReader) Close() error {
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	d.closed = true
	d.r.more.Broadcast()
	return nil
}

func (r *replay) fill() {
	buf := make([]byte, 32<<10)
	n, err := r.src.Read(buf)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.more.Broadcast()
	r.reading = false
	if n > 0 {
		if werr := r.store(buf[:n]); werr != nil {
			err = werr
		}
	}
	if err != nil {
		r.err = err
	}
}

func (r *replay) store(p []byte) error {
	if r.spool == nil {
		f, err := os.CreateTemp("", "kintsugi-stdin-*")
		if err != nil {
			return err
		}
		_ = os.Remove(f.Name()) // on Windows it stays until the file is closed
		r.spool = f
	}
	n, err := r.spool.WriteAt(p, r.size)
	r.size += int64(n)
	return err
}
