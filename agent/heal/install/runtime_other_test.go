//go:build !linux

package install

import (
	"testing"

	"kintsugi/sandbox"
)

func realRuntime(t *testing.T) sandbox.Runtime {
	t.Helper()
	t.Skip("no runtime of this platform can be tested without an engine")
	return nil
}
