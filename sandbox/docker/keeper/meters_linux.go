package keeper

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// meters read the container's own control group. What an engine does not show
// reads as 0.
type meters struct{ memoryDir, pidsDir, cpuDir string }

const groupRoot = "/sys/fs/cgroup"

// findMeters finds the group's files, of version 2 or 1. Where no group is the
// container's own, there are none.
func findMeters(own bool) meters {
	if !own {
		return meters{"/nonexistent", "/nonexistent", "/nonexistent"}
	}
	if _, err := os.Stat(groupRoot + "/cgroup.controllers"); err == nil {
		return meters{groupRoot, groupRoot, groupRoot}
	}
	return meters{groupRoot + "/memory", groupRoot + "/pids", groupRoot + "/cpuacct"}
}

func (m meters) memory() int64 { return first(m.memoryDir, "memory.current", "memory.usage_in_bytes") }
func (m meters) peak() int64   { return first(m.memoryDir, "memory.peak", "memory.max_usage_in_bytes") }
func (m meters) tasks() int    { return int(first(m.pidsDir, "pids.current")) }
func (m meters) refused() int64 {
	return word(m.pidsDir, "max", "pids.events")
}
func (m meters) killed() int64 {
	return word(m.memoryDir, "oom_kill", "memory.events", "memory.oom_control")
}

func (m meters) cpu() time.Duration {
	if us := word(m.cpuDir, "usage_usec", "cpu.stat"); us > 0 {
		return time.Duration(us) * time.Microsecond
	}
	return time.Duration(first(m.cpuDir, "cpuacct.usage"))
}

// first is the number in the first file that is there.
func first(dir string, names ...string) int64 {
	for _, name := range names {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
			return n
		}
	}
	return 0
}

// word is the number behind a word in the first file that is there.
func word(dir, key string, names ...string) int64 {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			if f := bytes.Fields(line); len(f) == 2 && string(f[0]) == key {
				n, _ := strconv.ParseInt(string(f[1]), 10, 64)
				return n
			}
		}
	}
	return 0
}
