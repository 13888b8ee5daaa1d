package namespace

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"kintsugi/sandbox"
)

// Where no control group counts for us, a watcher adds up what the processes
// of a box use. It looks often at first, because a fork bomb is quick.
const (
	firstLook = 2 * time.Millisecond
	slowLook  = 50 * time.Millisecond
)

// watch looks at the box until done is closed.
func (b *box) watch(done <-chan struct{}) {
	pause := firstLook
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		b.look()
		pause = min(pause*2, slowLook)
		timer.Reset(pause)
	}
}

// look takes one sample and reacts to it.
func (b *box) look() {
	b.mu.Lock()
	u := sample(b.pid)
	if b.limits.Memory > 0 && u.Memory > b.limits.Memory {
		u.Memory = divided(b.pid)
	}
	b.mu.Unlock()
	b.most.Store(max(b.most.Load(), u.Memory))
	// The one that could not start another has often given up by now.
	if b.limits.Processes > 0 && u.Processes >= b.limits.Processes-1 {
		b.crowded.Store(true)
	}
	if b.limits.Memory > 0 && u.Memory > b.limits.Memory {
		b.bloated.Store(true)
		b.end()
	}
}

// sample adds up a box's processes, leaving out init itself. Memory that some
// of them share counts for each.
func sample(init int) sandbox.Usage {
	var u sandbox.Usage
	for _, pid := range descendants(init) {
		u.Memory += resident(pid)
		threads, cpu := counts(pid)
		u.Processes += threads
		u.CPU += cpu
	}
	return u
}

// divided adds up a box's memory exactly: what is shared is divided among
// those who share it. That takes the kernel longer to find out. A process may
// hide its share, but not what it has.
func divided(init int) (bytes int64) {
	for _, pid := range descendants(init) {
		share, open := inKilobytes(pid, "smaps_rollup", "Pss_Anon:", "Pss_Shmem:")
		if !open {
			share = resident(pid)
		}
		bytes += share
	}
	return bytes
}

// resident is the memory of a process that no file backs, in bytes.
func resident(pid int) int64 {
	bytes, _ := inKilobytes(pid, "status", "RssAnon:", "RssShmem:")
	return bytes
}

func descendants(init int) []int {
	all := children(init)
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// children lists the children of all threads of a process.
func children(pid int) []int {
	var out []int
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	for _, t := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			continue
		}
		for _, word := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(word)); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// inKilobytes adds up values of a process that /proc gives in kB. The result is
// in bytes. It says whether the values could be read.
func inKilobytes(pid int, file string, names ...string) (bytes int64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && slices.Contains(names, fields[0]) {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			bytes += n << 10
		}
	}
	return bytes, true
}

// clockTick is the unit of times in /proc, fixed for user space.
const clockTick = time.Second / 100

// counts are the threads of a process and the CPU time they took.
func counts(pid int) (threads int, cpu time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	end := bytes.LastIndexByte(text, ')') // the name before may hold anything
	fields := bytes.Fields(text[end+1:])
	if end < 0 || len(fields) < 18 {
		return 0, 0
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(fields[i-3]), 10, 64)
		return n
	}
	return int(number(20)), time.Duration(number(14)+number(15)) * clockTick
}
