//go:build !linux

package keeper

import (
	"fmt"
	"os"
)

// Main says that keepers run in containers only.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "kintsugi: this program runs inside Linux containers only")
	return 125
}
