//go:build !linux

package install

import (
	"testing"

	"kintsugi/sandbox"
)

func realRuntime(t testing.TB) sandbox.Runtime {
	t.Helper()
	t.Skip("no runtime of this platform can be tested without an engine")
	return nil
}
