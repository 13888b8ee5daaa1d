package namespace

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
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

// sample adds up a process and its descendants, leaving out init itself.
func sample(init int) sandbox.Usage {
	var u sandbox.Usage
	todo := children(init)
	for len(todo) > 0 {
		pid := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], children(pid)...)
		u.Memory += private(pid)
		threads, cpu := counts(pid)
		u.Processes += threads
		u.CPU += cpu
	}
	return u
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

// private is the memory of a process that no file backs, in bytes.
func private(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident, shared int64
	_, _ = fmt.Sscan(string(text), &size, &resident, &shared)
	return (resident - shared) * int64(os.Getpagesize())
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
