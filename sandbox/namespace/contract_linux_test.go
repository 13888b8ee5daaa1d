package namespace

import (
	"context"
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
	for name, open := range map[string]func(state string) (sandbox.Runtime, error){
		"cold": func(state string) (sandbox.Runtime, error) {
			return New(Options{StateDir: state, Root: root, RootName: "busybox"}), nil
		},
		"warm": func(state string) (sandbox.Runtime, error) {
			return ready{Runtime: New(Options{StateDir: state, Root: root, RootName: "busybox", Warm: 1})}, nil
		},
		"fitted": func(state string) (sandbox.Runtime, error) {
			return ready{New(Options{StateDir: state, Root: root, RootName: "busybox", Warm: 1}), true}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			contract.Run(t, contract.Subject{Patience: time.Second, Open: open})
		})
	}
	o := newRuntime(t).options
	o.Root, o.RootName, o.Warm = root, "busybox", 1
	rt := open(t, o)
	if err := rt.Warm(nil); err != nil {
		t.Fatal(err)
	}
	init := nextWarm(rt)
	shell(t, rt, "ls -d /bin/bash /usr/lib 2>/dev/null; ls /opt; touch /opt/x 2>/dev/null || echo read-only", "read-only\n")
	if init == 0 || nextWarm(rt) == init {
		t.Error("the box that was made ready was not used")
	}
}

// ready is a runtime whose boxes are all made ready before they are asked for.
type ready struct {
	*Runtime
	told bool // what is asked for
}

func (r ready) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	var next *sandbox.Spec
	if r.told {
		next = &spec
	}
	_ = r.Warm(next) // a spec that makes no sense is Start's to refuse
	return r.Runtime.Start(ctx, spec)
}

// TestContractOfWarmBoxes runs the suite in boxes that were made ready.
func TestContractOfWarmBoxes(t *testing.T) {
	for name, told := range map[string]bool{"for any program": false, "fitted": true} {
		t.Run(name, func(t *testing.T) {
			contract.Run(t, contract.Subject{Patience: time.Second, Open: func(state string) (sandbox.Runtime, error) {
				return ready{New(Options{StateDir: state, Warm: 1}), told}, nil
			}})
		})
	}
}
