package namespace

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kintsugi/sandbox"
)

// victims are who is killed at a fault point: the workbench, the maker of the
// box, its process 1, or its program.
var victims = []string{"workbench", "maker", "init", "program"}

const (
	faultRounds = 6 // workbenches per victim and point, two of each kind...
	faultBoxes  = 3 // ...and the boxes of each that survives
)

// faulty is a workbench that runs boxes, in one of which, at a point, somebody
// is killed: "point victim kind which". Boxes of kind 1 are made ready, those of
// kind 2 for just what will be asked for. Whatever happened, the boxes after it
// must be right.
func faulty(fault string) {
	var point, victim string
	var kind, which int
	if _, err := fmt.Sscan(fault, &point, &victim, &kind, &which); err != nil {
		panic(err)
	}
	var mu sync.Mutex
	var seen []sandbox.Box
	r := New(Options{StateDir: os.Getenv("STATE"), Warm: min(kind, 1), fault: func(at string, b sandbox.Box) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(seen, b) {
			seen = append(seen, b)
		}
		if at == point && slices.Index(seen, b) == which {
			strike(victim, b.(*box))
		}
	}})
	for number := range faultBoxes {
		spec := sandbox.Spec{Argv: []string{"sh", "-c", "echo whole"}, Env: sandbox.BaseEnv(os.Environ())}
		switch kind {
		case 1:
			_ = r.Warm(nil)
		case 2:
			_ = r.Warm(&spec)
		}
		err := oneRight(r, spec)
		if err != nil && number != which {
			fmt.Printf("box %d after %q: %v\n", number, fault, err)
			os.Exit(1)
		}
	}
	_ = r.Close()
}

func strike(victim string, b *box) {
	pid := os.Getpid()
	switch victim {
	case "maker":
		pid = b.slot.maker.pid
	case "init":
		pid = b.pid
	case "program":
		if all := children(b.pid); len(all) > 0 {
			pid = all[0]
		} else {
			return
		}
	}
	if pid > 1 {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

func oneRight(r *Runtime, spec sandbox.Spec) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var out strings.Builder
	spec.Stdout = &out
	b, err := r.Start(ctx, spec)
	if err != nil {
		return err
	}
	result, err := b.Wait()
	if err == nil && (result.ExitCode != 0 || out.String() != "whole\n") {
		err = fmt.Errorf("%+v %q", result, out.String())
	}
	return err
}

// TestKilledAtEachPoint kills each victim at each point in the lives of more
// than 200 boxes, then starts once, and wants everything to be as before.
func TestKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	state := newRuntime(t).options.StateDir
	mounts := mountLines(t, state)
	died, n, boxes := 0, 0, 0
	for _, point := range faultPoints {
		for _, victim := range victims {
			for round := range faultRounds {
				which := round / 2
				fault := fmt.Sprintf("%s %s %d %d", point, victim, round%3, which)
				n++
				boxes += which + 1 // at least
				if survives(t, state, fault) {
					boxes += faultBoxes - which - 1
				} else {
					died++
				}
			}
		}
	}
	if want := len(faultPoints) * faultRounds; died != want || boxes < 200 {
		t.Errorf("%d of %d workbenches died, want %d; %d boxes", died, n, want, boxes)
	}
	r := open(t, Options{StateDir: state})
	got, err := r.Reconcile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d workbenches, %d killed, %d boxes; the next start removed %+v", n, died, boxes, got)
	if left := groupsOf(t, r); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "slot-*")); len(left) > 0 {
		t.Errorf("leases are left: %v", left)
	}
	if left := holders(t, state); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if now := mountLines(t, state); now != mounts {
		t.Errorf("%d mounts before, %d after", mounts, now)
	}
}

// survives runs a faulty workbench and says whether it came to its end.
func survives(t *testing.T, state, fault string) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), faultEnv+"="+fault, "STATE="+state)
	out, err := cmd.CombinedOutput()
	killed := cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == -1
	if err != nil && !killed {
		t.Errorf("%s: %v: %s", fault, err, out)
	}
	return !killed
}

// holders are the processes that have a lease of this directory open: makers
// and boxes.
func holders(t *testing.T, state string) []string {
	t.Helper()
	var out []string
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, filepath.Join(state, "slot-")) {
			out = append(out, l)
		}
	}
	return out
}

// mountLines counts the host's mounts where boxes might leave some: below the
// leases and over the directories that a box's root is made on. Engines come and
// go with others meanwhile.
func mountLines(t *testing.T, state string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		at := strings.Fields(line)[4]
		if slices.ContainsFunc(slices.Concat(stageDirs, []string{state}), func(dir string) bool { return within(at, dir) }) {
			n++
		}
	}
	return n
}
