package docker

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kintsugi/sandbox"
	"kintsugi/sandbox/workspace/beneath"
)

// TestLayerWithMarks lays a layer that has both kinds of an overlay's marks over
// the image: a name that is gone, and a folder that hides what was in it.
func TestLayerWithMarks(t *testing.T) {
	t.Parallel()
	needDocker(t)
	older, layer := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(older, "opt/kin/a"): "A", filepath.Join(older, "opt/whole/b"): "B", filepath.Join(layer, "opt/whole/c"): "C", filepath.Join(layer, "opt/kin/d"): "D",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kin, err := beneath.OpenOwn(filepath.Join(layer, "opt/kin"))
	if err != nil {
		t.Fatal(err)
	}
	defer kin.Close()
	whole, err := beneath.OpenOwn(filepath.Join(layer, "opt/whole"))
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if err := kin.MakeWhiteout("a"); err != nil {
		t.Skipf("this user can make no whiteouts: %v", err)
	}
	if err := whole.SetOpaque(); err != nil {
		t.Skipf("this file system keeps no marks of overlays: %v", err)
	}
	if got, err := removals(layer); err != nil || !slices.Equal(got, []string{"opt/kin/a", "opt/whole/"}) {
		t.Fatalf("removes %q, %v", got, err)
	}
	rt := New(Options{Engine: Docker, Host: dockerHost(), Image: testImage, StateDir: t.TempDir()})
	defer rt.Close()
	giveImage(t, rt)
	var out bytes.Buffer
	b, err := rt.Start(t.Context(), sandbox.Spec{
		Argv: []string{"sh", "-c", "cd /opt && find . | sort | tr '\n' ' '; ls -A /.kintsugi"}, Layers: []string{layer, older},
		Env: sandbox.BaseEnv(os.Environ()), Stdout: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Wait(); err != nil || out.String() != ". ./kin ./kin/d ./whole ./whole/c keeper\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
