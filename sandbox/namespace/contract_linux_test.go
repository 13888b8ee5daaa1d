package namespace

import (
	"errors"
	"os"
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

// TestContractOfAnImage runs the suite in boxes that see an image: nothing but
// a busybox.
func TestContractOfAnImage(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "kintsugi-root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := errors.Join(os.Chmod(root, 0o755), contract.Busybox(root)); err != nil {
		t.Fatal(err)
	}
	contract.Run(t, contract.Subject{Patience: time.Second, Open: func(state string) (sandbox.Runtime, error) {
		return New(Options{StateDir: state, Root: root, RootName: "busybox"}), nil
	}})
	o := newRuntime(t).options
	o.Root, o.RootName = root, "busybox"
	rt := open(t, o)
	shell(t, rt, "ls -d /bin/bash /usr/lib 2>/dev/null; ls /opt; touch /opt/x 2>/dev/null || echo read-only", "read-only\n")
}
