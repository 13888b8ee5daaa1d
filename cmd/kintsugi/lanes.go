package main

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"kintsugi/sandbox"
)

// mostLanes bounds how many remedies are tried side by side: more than a few
// equally good ones there never are.
const mostLanes = 3

// lanesFor is how many remedies can be tried at once: one on each node, and on
// this machine one for each core, as far as each box can have its memory.
func lanesFor(l sandbox.Limits, nodes int) int {
	if nodes > 1 {
		return min(nodes, mostLanes)
	}
	n := min(runtime.NumCPU(), mostLanes)
	if free := freeMemory(); free > 0 {
		n = min(n, int(free/max(l.WithDefaults().Memory, 1)))
	}
	return max(n, 1)
}

// freeMemory is what the system could give to new processes, in bytes; 0 when
// it does not say.
func freeMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
