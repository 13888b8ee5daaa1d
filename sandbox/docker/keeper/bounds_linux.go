package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
	"kintsugi/sandbox/callfilter"
)

// A watcher looks often at first, because a fork bomb is quick.
const (
	firstLook = 2 * time.Millisecond
	slowLook  = 50 * time.Millisecond
)

// What a box may have queued counts against the engine's own user, who has tens
// of thousands of signals and timers, and 800 kB of message queues.
const (
	maxPending = 4096
	maxQueued  = 200_000 // bytes
)

// set takes on the limits, which the program inherits. Memory that no process is
// seen to have cannot be watched: there is none.
func (b *Bounds) set() error {
	if err := callfilter.Install(callfilter.Uncounted()...); err != nil {
		return err
	}
	limit := func(what int, n int64) error {
		if n <= 0 {
			return nil
		}
		var old unix.Rlimit
		if err := unix.Getrlimit(what, &old); err != nil {
			return err
		}
		most := min(uint64(n), old.Max)
		return unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most})
	}
	return errors.Join(
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}), limit(unix.RLIMIT_FSIZE, b.FileSize), limit(unix.RLIMIT_CPU, b.CPU),
		limit(unix.RLIMIT_NOFILE, b.OpenFiles), limit(unix.RLIMIT_NPROC, b.Tasks),
		limit(unix.RLIMIT_SIGPENDING, maxPending), limit(unix.RLIMIT_MSGQUEUE, maxQueued),
	)
}

// watch looks at the box until it has ended, ends it when it takes too much
// memory, and remembers the most that it took.
func (p *program) watch(b *Bounds) {
	for pause := firstLook; ; pause = min(pause*2, slowLook) {
		select {
		case <-p.ended:
			return
		case <-time.After(pause):
		}
		u := sample()
		p.most.Store(max(p.most.Load(), u.Memory))
		// The one that could not start another has often given up by now.
		if b.Tasks > 0 && int64(u.Processes+ownTasks()) >= b.Tasks-1 {
			p.crowded.Store(true)
		}
		if b.Memory > 0 && u.Memory > b.Memory {
			p.starved.Store(true)
			_ = unix.Kill(-1, unix.SIGKILL)
		}
	}
}

// sample adds up all processes of the container but this one. Memory that some
// of them share counts for each.
func sample() sandbox.Usage {
	var u sandbox.Usage
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		u.Memory += 1024 * (value(text, "RssAnon:") + value(text, "RssShmem:"))
		u.Processes += int(value(text, "Threads:"))
	}
	return u
}

// value is the number behind a word.
func value(text []byte, key string) int64 {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(key)); ok {
			if f := bytes.Fields(rest); len(f) > 0 {
				n, _ := strconv.ParseInt(string(f[0]), 10, 64)
				return n
			}
		}
	}
	return 0
}
