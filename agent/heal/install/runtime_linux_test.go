package install

import (
	"context"
	"os"
	"testing"

	"kintsugi/sandbox"
	"kintsugi/sandbox/namespace"
)

func realRuntime(t testing.TB) sandbox.Runtime {
	t.Helper()
	rt := namespace.New(namespace.Options{})
	if a := rt.Probe(context.Background()); !a.OK {
		if os.Getenv("CI") != "" {
			t.Fatalf("no boxes here: %s", a.Reason)
		}
		t.Skipf("no boxes here: %s", a.Reason)
	}
	return rt
}
