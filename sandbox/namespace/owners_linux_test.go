package namespace

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"kintsugi/sandbox"
)

// TestProjectOfSomebodyElse wants root's boxes to write into the project of an
// ordinary user as that user's own, whatever the user's id.
func TestProjectOfSomebodyElse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has boxes in projects of others")
	}
	t.Parallel()
	for _, id := range []int{1001, 65535, 70_000} {
		r := newRuntime(t)
		dir := t.TempDir()
		project := filepath.Join(dir, "project")
		for _, d := range []string{project, filepath.Join(project, "sub"), filepath.Join(dir, "upper"), filepath.Join(dir, "work")} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []string{project, filepath.Join(project, "sub")} {
			if err := os.Chown(p, id, id); err != nil {
				t.Fatal(err)
			}
		}
		spec := sh("stat -c %u:%g . sub; echo x >a; echo x >sub/b; stat -c %u:%g a sub/b")
		spec.Dir = project
		spec.Workspace = sandbox.Workspace{Path: project, Upper: filepath.Join(dir, "upper"), Work: filepath.Join(dir, "work")}
		if o := run(t, r, spec); o.out != "0:0\n0:0\n0:0\n0:0\n" {
			t.Errorf("owner %d: %q %q", id, o.out, o.err)
		}
		spec.Workspace = sandbox.Workspace{}
		spec.Mounts = []sandbox.Mount{{Source: project, Target: project, Writable: true}}
		if o := run(t, r, spec); o.out != "0:0\n0:0\n0:0\n0:0\n" {
			t.Errorf("owner %d, mounted: %q %q", id, o.out, o.err)
		}
		if st, err := os.Stat(filepath.Join(project, "sub/b")); err != nil || int(st.Sys().(*syscall.Stat_t).Uid) != id {
			t.Errorf("owner %d: the file is not the owner's: %v", id, err)
		}
	}
}

func TestSwappedMapsEveryIDOnce(t *testing.T) {
	t.Parallel()
	for _, id := range []int{0, 1, 1000, idRange - 1, idRange, 500_000} {
		files, boxes := map[int]bool{}, map[int]bool{}
		var ours int
		for _, m := range swapped(id, firstID) {
			for i := range m.Size {
				if files[m.ContainerID+i] || boxes[m.HostID+i] {
					t.Fatalf("%d: mapped twice in %v", id, swapped(id, firstID))
				}
				files[m.ContainerID+i], boxes[m.HostID+i] = true, true
				if m.ContainerID+i == id {
					ours = m.HostID + i
				}
			}
		}
		if ours != firstID || len(files) < idRange {
			t.Errorf("%d is shown as %d, %d ids are mapped", id, ours-firstID, len(files))
		}
	}
}
