package docker

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/image"

	"kintsugi/sandbox"
)

// twoNodes are two real engines that have the same image, the second reached by
// a way that can be cut.
func twoNodes(t *testing.T) (*Nodes, *relay) {
	t.Helper()
	hosts := needNodes(t)
	way := &relay{path: filepath.Join(t.TempDir(), "second.sock"), to: strings.TrimPrefix(hosts[1], "unix://")}
	way.open(t)
	t.Cleanup(way.cut)
	n := NewNodes(Options{Engine: Docker, Image: testImage, StateDir: t.TempDir()}, []string{hosts[0], "unix://" + way.path})
	t.Cleanup(func() { n.Close() })
	for _, x := range n.list {
		giveImage(t, x.Runtime)
	}
	return n, way
}

// open starts a box that waits for the end of its input.
func open(t *testing.T, rt sandbox.Runtime) (sandbox.Box, func()) {
	t.Helper()
	in, end := io.Pipe()
	b, err := rt.Start(context.Background(), sandbox.Spec{Argv: []string{"sh", "-c", "cat"}, Env: sandbox.BaseEnv(os.Environ()), Stdin: in, Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return b, func() { end.Close() }
}

// has says whether an engine has a container of that name.
func (x *node) has(t *testing.T, name string) bool {
	t.Helper()
	api, err := x.api()
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.ContainerInspect(context.Background(), name)
	if err != nil && !notFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// TestWorkSideBySideUsesAllNodes puts four variants beside each other: each
// stays on its engine, and both engines have two.
func TestWorkSideBySideUsesAllNodes(t *testing.T) {
	t.Parallel()
	n, _ := twoNodes(t)
	var mu sync.Mutex
	on := map[string]int{}
	var all sync.WaitGroup
	for range 4 {
		place := n.Beside()
		all.Go(func() {
			for range 2 {
				b, end := open(t, place)
				mu.Lock()
				for _, x := range n.list {
					if x.has(t, b.ID()) {
						on[x.label]++
					}
				}
				mu.Unlock()
				end()
				if r, err := b.Wait(); err != nil || r.ExitCode != 0 {
					t.Errorf("%+v, %v", r, err)
				}
			}
		})
	}
	all.Wait()
	for _, x := range n.list {
		if on[x.label] != 4 {
			t.Errorf("%d of 8 boxes were on %s, want half of them", on[x.label], x.label)
		}
	}
	if n.Root() != n.Beside().(sandbox.Rooted).Root() {
		t.Error("the nodes name their images differently")
	}
}

// TestNodeGoesAway: what ran there fails and says where, what runs elsewhere is
// not touched, and new work goes elsewhere.
func TestNodeGoesAway(t *testing.T) {
	t.Parallel()
	n, way := twoNodes(t)
	lanes := []sandbox.Runtime{n.Beside(), n.Beside()}
	first, end := open(t, lanes[0])
	second, _ := open(t, lanes[1])
	if !n.list[1].has(t, second.ID()) {
		t.Fatal("the second box is not on the second node")
	}
	way.cut()
	if _, err := second.Wait(); err == nil || !strings.Contains(err.Error(), "node "+n.list[1].label+": the engine went away in the middle of the run") {
		t.Errorf("the box of the node that is gone ended with: %v", err)
	}
	end()
	if r, err := first.Wait(); err != nil || r.ExitCode != 0 {
		t.Errorf("the other box: %+v, %v", r, err)
	}
	for _, rt := range []sandbox.Runtime{lanes[1], n.Beside(), n.Beside(), n} {
		b, end := open(t, rt)
		end()
		if _, err := b.Wait(); err != nil || b.(placed).at != n.list[0] {
			t.Errorf("afterwards, at %s: %v", b.(placed).at.label, err)
		}
	}
}

// TestNodesWithoutEngine tells of each node why it does not work.
func TestNodesWithoutEngine(t *testing.T) {
	t.Parallel()
	n := NewNodes(Options{Engine: Docker, StateDir: t.TempDir(), Environ: []string{"HOME=" + t.TempDir()}}, []string{"unix:///nonexistent.sock", "nonesuch"})
	defer n.Close()
	a := n.Probe(t.Context())
	_, err := n.Start(t.Context(), sandbox.Spec{Argv: []string{"true"}})
	for _, text := range []string{a.Reason, err.Error()} {
		if a.OK || !strings.Contains(text, "unix:///nonexistent.sock: no engine answers") || !strings.Contains(text, `nonesuch: the Docker context "nonesuch" is not there`) {
			t.Errorf("got %q", text)
		}
	}
}

// TestNodeThatIsMissed: one that answers is enough, and the other is named.
func TestNodeThatIsMissed(t *testing.T) {
	t.Parallel()
	needDocker(t)
	n := NewNodes(Options{Engine: Docker, Image: testImage, StateDir: t.TempDir()}, []string{"unix:///nonexistent.sock", dockerHost()})
	defer n.Close()
	if a := n.Probe(t.Context()); !a.OK || !strings.HasPrefix(a.Reason, "unix:///nonexistent.sock: no engine answers") || len(a.Report) == 0 {
		t.Errorf("got %+v", a)
	}
}

// TestNodeWithAnotherImage is left out, once told.
func TestNodeWithAnotherImage(t *testing.T) {
	t.Parallel()
	hosts := needNodes(t)
	const name = "localhost/kintsugi-test/other:1"
	var told bytes.Buffer
	n := NewNodes(Options{Engine: Docker, Image: name, StateDir: t.TempDir(), Progress: func(s string) { told.WriteString(s + "\n") }}, hosts)
	defer n.Close()
	for i, x := range n.list {
		api, err := x.api()
		if err != nil {
			t.Fatal(err)
		}
		root := busyboxRoot(t)
		if i == 1 {
			root = bytes.NewReader(make([]byte, 1024)) // an archive of nothing
		}
		body, err := api.ImageImport(t.Context(), image.ImportSource{Source: root, SourceName: "-"}, name, image.ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, body)
		body.Close()
	}
	for range 4 {
		b, end := open(t, n.Beside())
		end()
		if b.(placed).at != n.list[0] {
			t.Error("a box is on the node with the other image")
		}
		_, _ = b.Wait()
	}
	if got := told.String(); strings.Count(got, "is not the one that "+hosts[0]+" has") != 1 {
		t.Errorf("told: %q", got)
	}
}

// TestWeakestPromise: nodes promise what all of them keep.
func TestWeakestPromise(t *testing.T) {
	t.Parallel()
	strong := sandbox.Report{{Promise: sandbox.PromiseMemory, Strength: sandbox.KernelEnforced, Mechanism: "a"}, {Promise: sandbox.PromiseCPU, Strength: sandbox.Watched}}
	weak := sandbox.Report{{Promise: sandbox.PromiseMemory, Strength: sandbox.NotKept, Mechanism: "b"}, {Promise: sandbox.PromiseCPU, Strength: sandbox.KernelEnforced}}
	got := weaker(strong, weak)
	if got[0].Strength != sandbox.NotKept || got[0].Mechanism != "b" || got[1].Strength != sandbox.Watched {
		t.Errorf("got %+v", got)
	}
}
