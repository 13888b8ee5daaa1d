package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Host describes the machine that the figures are from.
type Host struct {
	System string `json:"system"`
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Root   bool   `json:"root"`
}

// DescribeHost reads what this machine says of itself.
func DescribeHost() Host {
	h := Host{System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Root: os.Geteuid() == 0}
	if data, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		h.Kernel = strings.TrimSpace(string(data))
	}
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(data), "\n") {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				h.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	return h
}

// WriteTable prints the result for people: milliseconds, and how many times
// bwrap's p50 of the same level each contestant takes.
func (r Result) WriteTable(w io.Writer) {
	user := "an ordinary user"
	if r.Host.Root {
		user = "root"
	}
	fmt.Fprintf(w, "%s, kernel %s, %d cores (%s), as %s\n\n", r.Host.System, r.Host.Kernel, r.Host.Cores, r.Host.CPU, user)
	fmt.Fprintf(w, "%-20s %7s %5s  %26s  %26s  %7s\n", "", "at once", "runs", "first byte p50/p95/p99 ms", "whole run p50/p95/p99 ms", "× bwrap")
	for _, row := range r.Rows {
		if row.Error != "" && row.Runs == 0 {
			fmt.Fprintf(w, "%-20s %7d %5d  %s\n", row.Name, row.Concurrent, row.Runs, row.Error)
			continue
		}
		fmt.Fprintf(w, "%-20s %7d %5d  %26s  %26s  %7s\n", row.Name, row.Concurrent, row.Runs, row.FirstByte, row.Whole, r.ratio(row))
	}
	for _, a := range r.Absent {
		fmt.Fprintf(w, "%-20s left out: %s\n", a.Name, a.Why)
	}
}

func (s Spread) String() string { return fmt.Sprintf("%.1f / %.1f / %.1f", s.P50, s.P95, s.P99) }

// Ratio is a contestant's p50 of whole runs over bwrap's at the same level;
// 0 when bwrap took no part.
func (r Result) Ratio(name string, concurrent int) float64 {
	own, peer := 0.0, 0.0
	for _, row := range r.Rows {
		if row.Concurrent != concurrent {
			continue
		}
		switch row.Name {
		case name:
			own = row.Whole.P50
		case "bwrap":
			peer = row.Whole.P50
		}
	}
	if peer == 0 {
		return 0
	}
	return own / peer
}

func (r Result) ratio(row Row) string {
	if v := r.Ratio(row.Name, row.Concurrent); v > 0 {
		return fmt.Sprintf("%.2f", v)
	}
	return ""
}

// WriteJSON prints the result for programs.
func (r Result) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
