//go:build !unix

package shelf

import (
	"os"
	"time"
)

// Locks says that an open file keeps others out, and that its folder may be
// renamed.
const Locks = false

func share(*os.File) bool { return true }

// leaseAge stands in for locks: a folder that was used within it is left alone.
const leaseAge = 24 * time.Hour

func unused(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && time.Since(info.ModTime()) > leaseAge
}
