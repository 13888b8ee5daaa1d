//go:build !linux

package heal

import "time"

var processStart = time.Now()

// cpuTime stands in for processor time where that is not at hand.
func cpuTime() time.Duration { return time.Since(processStart) }
