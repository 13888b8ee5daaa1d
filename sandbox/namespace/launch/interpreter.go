//go:build linux && (amd64 || arm64)

package launch

import (
	"bytes"
	"errors"
	"unsafe"
)

// Supported says whether this architecture has an interpreter.
const Supported = true

// interpreterAddr returns the address of the interpreter's first instruction.
func interpreterAddr() unsafe.Pointer

// maxInterpreter bounds the search for the end marker, in bytes.
const maxInterpreter = 1024

// interpreter returns the machine code of the interpreter.
func interpreter() ([]byte, error) {
	text := unsafe.Slice((*byte)(interpreterAddr()), maxInterpreter)
	end := bytes.Index(text, []byte("KINTSUGI"))
	if end <= 0 {
		return nil, errors.New("launch: the interpreter has no end marker")
	}
	return text[:end], nil
}
