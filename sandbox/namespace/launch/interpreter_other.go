//go:build !linux || (!amd64 && !arm64)

package launch

import "errors"

// Supported says whether this architecture has an interpreter.
const Supported = false

func interpreter() ([]byte, error) {
	return nil, errors.New("launch: no interpreter for this system")
}
