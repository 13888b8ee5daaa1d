package namespace

import (
	"testing"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/contract"
)

// fresh is a runtime for the contract's tests.
func fresh(state string) (sandbox.Runtime, error) { return New(Options{StateDir: state}), nil }

func TestContract(t *testing.T) {
	contract.Run(t, contract.Subject{Open: fresh, Patience: time.Second})
}
