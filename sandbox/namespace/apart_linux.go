package namespace

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// cleaners take apart the boxes whose programs are gone, while their callers go
// on. That takes the kernel a good part of the time that a box does, so few are
// at work at a time: of many boxes that end together, results come first.
type cleaners struct {
	room chan struct{} // one place for each box that is not gone yet

	mu    sync.Mutex
	live  int                        // boxes whose programs are not gone
	queue []func()                   // what is to be done
	work  int                        // how many are at it
	busy  map[fileID]<-chan struct{} // the directories that boxes wrote to
}

// maxApart is how many boxes of one process may wait for a cleaner.
const maxApart = 32

func newCleaners() *cleaners {
	return &cleaners{room: make(chan struct{}, maxApart), busy: map[fileID]<-chan struct{}{}}
}

// enter notes that a box begins.
func (c *cleaners) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live++
}

// exit notes that a box has no programs, any more or at all.
func (c *cleaners) exit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live--
}

// last says whether no more than one box has programs.
func (c *cleaners) last() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live <= 1
}

// leave has vanish run by a cleaner. Until that is done the directories that the
// box wrote to are still part of a mount, whatever they are called by then.
func (c *cleaners) leave(written []string, vanish func()) {
	c.exit()
	c.room <- struct{}{}
	done, ids := make(chan struct{}), identify(written)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.busy[id] = done
	}
	c.queue = append(c.queue, func() {
		vanish()
		c.forget(ids)
		close(done)
		<-c.room
	})
	if c.work < max(1, runtime.GOMAXPROCS(0)/2) {
		c.work++
		go c.clean()
	}
}

func (c *cleaners) forget(ids []fileID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		delete(c.busy, id)
	}
}

// clean is one cleaner.
func (c *cleaners) clean() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		next()
		c.mu.Lock()
	}
	c.work--
}

// settle returns when every box that waited for a cleaner is gone.
func (c *cleaners) settle() {
	for range maxApart {
		c.room <- struct{}{}
	}
	for range maxApart {
		<-c.room
	}
}

// await returns when no box that waits for a cleaner has the directories. The
// kernel refuses, or complains of, a second mount of them.
func (c *cleaners) await(dirs []string) {
	c.mu.Lock()
	idle := len(c.busy) == 0
	c.mu.Unlock()
	if idle {
		return
	}
	for _, id := range identify(dirs) {
		c.mu.Lock()
		done := c.busy[id]
		c.mu.Unlock()
		if done != nil {
			<-done
		}
	}
}

// fileID tells a file whatever its name is.
type fileID struct{ dev, ino uint64 }

// identify finds the files at paths; what is not there is left out.
func identify(paths []string) []fileID {
	var out []fileID
	for _, path := range paths {
		var st unix.Stat_t
		if unix.Stat(path, &st) == nil {
			out = append(out, fileID{st.Dev, st.Ino})
		}
	}
	return out
}
