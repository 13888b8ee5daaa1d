package abuse

import (
	"bytes"
	"strings"
	"sync"

	"kintsugi/sandbox/abuse/probe"
)

// headSize and tailSize bound what a capture keeps, in bytes.
const headSize, tailSize = 64 << 10, 8 << 10

// capture takes the output of a box: it keeps the first and the last of it
// and counts the rest.
type capture struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte
	total int64
	calls int
	ready chan struct{} // closed when the probe says ready
	told  bool
}

func newCapture() *capture { return &capture{ready: make(chan struct{})} }

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(p))
	c.calls++
	if room := headSize - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(room, len(p))]...)
	}
	c.tail = append(c.tail, p[max(0, len(p)-tailSize):]...)
	if over := len(c.tail) - tailSize; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	if !c.told && bytes.Contains(c.tail, []byte(`{"verdict":"ready"}`)) {
		c.told = true
		close(c.ready)
	}
	return len(p), nil
}

func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.head)
}

func (c *capture) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// verdict is the last final verdict in the output.
func (c *capture) verdict() (probe.Verdict, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(string(c.tail), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if v, ok := probe.Parse(lines[i]); ok && v.Verdict != probe.Ready {
			return v, true
		}
	}
	return probe.Verdict{}, false
}
