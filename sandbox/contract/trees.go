package contract

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kintsugi/sandbox"
	"kintsugi/sandbox/workspace"
)

func workspaceKept(t *trial) {
	project := t.files(map[string]string{"a": "A", "gone": "", "sub/b": "B", "deep/er/c": "C", "deep/er/d": "D"})
	first := t.files(map[string]string{"a": "newer A"})
	top := t.dir()
	upper, work := filepath.Join(top, "upper"), filepath.Join(top, "work")
	for _, dir := range []string{upper, work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spec := sh("cat a sub/b; echo C >c; rm gone deep/er/c; echo more >>sub/b; ln -s a link; ls")
	spec.Dir = project
	spec.Workspace = sandbox.Workspace{Path: project, Lower: []string{first}, Upper: upper, Work: work}
	t.wants(spec, "newer ABa\nc\ndeep\nlink\nsub\n")
	if got := t.text(filepath.Join(upper, "sub/b")); got != "Bmore\n" {
		t.Errorf("the upper directory has %q", got)
	}
	if to, err := os.Readlink(filepath.Join(upper, "link")); err != nil || to != "a" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	for _, gone := range []string{"gone", "deep/er/c"} {
		if st, err := os.Lstat(filepath.Join(upper, gone)); err != nil || st.Mode()&os.ModeCharDevice == 0 {
			t.Errorf("no whiteout of %s: %v", gone, err)
		}
	}
	for _, same := range []string{"a", "deep/er/d"} {
		if _, err := os.Lstat(filepath.Join(upper, same)); err == nil {
			t.Errorf("%s is in the upper directory although nothing changed it", same)
		}
	}
	if got := t.text(filepath.Join(project, "sub/b")); got != "B" {
		t.Errorf("the project changed: %q", got)
	}
}

func workspaceDropped(t *trial) {
	project := t.files(map[string]string{"a": "A"})
	for range 2 {
		spec := sh("cat a; echo B >>a; ls -A")
		spec.Dir, spec.Workspace = project, sandbox.Workspace{Path: project}
		t.wants(spec, "Aa\n")
	}
}

// oddNames has a project whose own name is odd, and odder ones in it, which
// must come back byte by byte.
func oddNames(t *trial) {
	odd := filepath.Join(t.files(map[string]string{"a,b:c d/a": "A"}), "a,b:c d")
	top := t.dir()
	w := sandbox.Workspace{Path: odd, Upper: filepath.Join(top, "upper"), Work: filepath.Join(top, "work")}
	for _, dir := range []string{w.Upper, w.Work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spec := sh(`cat a; for n in "$(printf 'new\nline')" "$(printf 'bad\377')" "-r" ' x ' "$(printf '\033[31m')"; do echo "$n" >"./$n"; done`)
	spec.Dir, spec.Workspace = odd, w
	t.wants(spec, "A")
	for _, name := range []string{"new\nline", "bad\xff", "-r", " x ", "\x1b[31m"} {
		if got := t.text(filepath.Join(w.Upper, name)); got != name+"\n" {
			t.Errorf("%q has %q", name, got)
		}
	}
}

func workspaceSource(t *trial) {
	source := t.files(map[string]string{"a": "A"})
	spec := sh("pwd; cat a")
	spec.Dir, spec.Workspace = "/projects/mine", sandbox.Workspace{Path: "/projects/mine", Source: source}
	t.wants(spec, "/projects/mine\nA")
}

// checkpoint carries changes through a store, over two checkpoints, to the
// project.
func checkpoint(t *trial) {
	project := t.files(map[string]string{"a": "old\n", "b": "B\n", "dir/c": "C\n"})
	s, err := workspace.Open(filepath.Join(t.dir(), "work"), project, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, script := range []string{"echo new >a; rm b; mkdir x; echo y >x/y; chmod 700 dir/c", "test ! -e b && cat a x/y && rm -r x && echo z >z"} {
		d, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		spec := sh(script)
		spec.Dir = project
		spec.Workspace = sandbox.Workspace{Path: project, Lower: d.Lower, Upper: d.Upper, Work: d.Work}
		if o := t.run(spec); o.ExitCode != 0 {
			t.Fatalf("%s: %+v %q", script, o.Result, o.err)
		}
		if _, err := s.Commit(d); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for c, err := range s.Changes(s.Head()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Kind.Letter()+" "+c.Path)
	}
	slices.Sort(got)
	if want := "A z,D b,M a,m dir/c"; strings.Join(got, ",") != want {
		t.Fatalf("changes %v, want %s", got, want)
	}
	if _, err := s.Apply(context.Background(), s.Head(), workspace.Selection{}, workspace.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if t.text(filepath.Join(project, "a")) != "new\n" || t.text(filepath.Join(project, "z")) != "z\n" {
		t.Error("the project does not have what was applied")
	}
	if _, err := os.Lstat(filepath.Join(project, "b")); err == nil {
		t.Error("b is still there")
	}
}

func layers(t *trial) {
	newest := t.files(map[string]string{"usr/bin/kin-hello": "#!/bin/sh\necho newest\n", "node_modules/m": "M", "var/lib/kin/x": "X"})
	older := t.files(map[string]string{"usr/bin/kin-hello": "#!/bin/sh\necho older\n", "usr/share/kin/y": "Y", "node_modules/n": "N"})
	spec := sh("kin-hello; cat /usr/share/kin/y /node_modules/m /node_modules/n /var/lib/kin/x; echo x >/var/tmp/x; echo x 2>/dev/null >/node_modules/x || echo no")
	spec.Layers = []string{newest, older}
	t.wants(spec, "newest\nYMNXno\n")
	t.wants(sh("kin-hello 2>/dev/null || echo gone"), "gone\n")
}

// layerThatRemoves takes files away from the layer below it, as a program that is
// made newer does.
func layerThatRemoves(t *trial) {
	older := t.files(map[string]string{"opt/kin/a": "A", "opt/kin/b": "B", "opt/gone/deep/c": "C"})
	tree := filepath.Join(t.dir(), "layer")
	if err := os.MkdirAll(filepath.Join(tree, "opt"), 0o755); err != nil {
		t.Fatal(err)
	}
	build := sh("rm -r /opt/gone /opt/kin/a && echo new >/opt/kin/b && mkdir /opt/gone && echo D >/opt/gone/d")
	build.Layers, build.Capture = []string{older}, tree
	t.wants(build, "")
	spec := sh("cd /opt && find kin gone | sort | tr '\\n' ' '; cat kin/b gone/d")
	spec.Layers = []string{tree, older}
	t.wants(spec, "gone gone/d kin kin/b new\nD\n")
}

func capture(t *trial) {
	layer := t.files(map[string]string{"opt/kin/old": "old"})
	tree := filepath.Join(t.dir(), "layer")
	for _, d := range []string{"usr/share/kin", "opt/kin", "var/lib/kin", "kintsugi"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spec := sh("cat /opt/kin/old; for d in /usr/share/kin /opt/kin /var/lib/kin /kintsugi; do echo new >$d/new || exit 1; done")
	spec.Layers, spec.Capture = []string{layer}, tree
	t.wants(spec, "old")
	for _, f := range []string{"usr/share/kin/new", "opt/kin/new", "var/lib/kin/new", "kintsugi/new"} {
		if got := t.text(filepath.Join(tree, f)); got != "new\n" {
			t.Errorf("%s was captured as %q", f, got)
		}
	}
	if _, err := os.Lstat(filepath.Join(tree, "opt/kin/old")); err == nil {
		t.Error("what a layer below has was captured too")
	}
	spec = sh("cat /usr/share/kin/new /kintsugi/new")
	spec.Layers = []string{tree}
	t.wants(spec, "new\nnew\n")
}

func mounts(t *trial) {
	dir := t.files(map[string]string{"f": "F", "g": "G"})
	if err := os.Chmod(filepath.Join(dir, "f"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := sh("cat /in/f /one; rm /in/g; echo x >/in/new; echo x 2>/dev/null >/ro/new")
	spec.Mounts = []sandbox.Mount{{Source: dir, Target: "/in", Writable: true}, {Source: dir, Target: "/ro"}, {Source: filepath.Join(dir, "f"), Target: "/one"}}
	if o := t.run(spec); o.out != "FF" || o.ExitCode == 0 {
		t.Fatalf("saw %q %q %+v", o.out, o.err, o.Result)
	}
	if got := t.text(filepath.Join(dir, "new")); got != "x\n" {
		t.Errorf("the host has %q", got)
	}
	if _, err := os.Lstat(filepath.Join(dir, "g")); err == nil {
		t.Error("what was removed in the box is still there")
	}
}
