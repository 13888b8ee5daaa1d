package sandbox

import (
	"io"
	"sync"
	"sync/atomic"
)

// Meter lets a box's output through until its limit is reached. Both streams
// of a box share one Meter. Its memory does not depend on what passes.
type Meter struct {
	left    atomic.Int64
	dropped atomic.Int64
	over    func()
	spent   atomic.Bool
}

// NewMeter returns a Meter for limit bytes; a negative limit is none. over is
// called once, when the first byte beyond the limit arrives.
func NewMeter(limit int64, over func()) *Meter {
	m := &Meter{over: over}
	if limit < 0 {
		limit = 1<<63 - 1
	}
	m.left.Store(limit)
	return m
}

// copyBuffer is how much of a stream is in our memory at a time.
const copyBuffer = 32 << 10

// buffers are kept between boxes; what was in one is overwritten by the next.
var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// Copy moves src to dst until src ends, dst fails or the limit is reached.
// What comes after that is read and counted, not written, so that the program
// is never stuck on a full pipe. A nil dst discards without counting as
// dropped.
func (m *Meter) Copy(dst io.Writer, src io.Reader) {
	kept := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(kept)
	buffer := kept[:]
	for {
		n, err := src.Read(buffer)
		if n > 0 {
			dst = m.pass(dst, buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// pass writes what the limit lets through and returns where the next bytes go.
func (m *Meter) pass(dst io.Writer, data []byte) io.Writer {
	left := m.left.Add(-int64(len(data)))
	if left < 0 {
		extra := min(-left, int64(len(data)))
		m.dropped.Add(extra)
		data = data[:int64(len(data))-extra]
		if m.spent.CompareAndSwap(false, true) {
			defer m.over()
		}
	}
	if dst == nil || len(data) == 0 {
		return dst
	}
	if _, err := dst.Write(data); err != nil {
		return nil
	}
	return dst
}

// Dropped is the number of bytes beyond the limit so far.
func (m *Meter) Dropped() int64 { return m.dropped.Load() }

// Spent says whether the limit was reached.
func (m *Meter) Spent() bool { return m.spent.Load() }
