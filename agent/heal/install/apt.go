package install

import (
	"bufio"
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kintsugi/sandbox"
)

// aptBase is where apt keeps its state inside a remedy box.
const aptBase = "/kintsugi-apt"

// listsFresh is how old package lists may be before they are fetched again.
// Older ones name versions that may be gone.
const listsFresh = 7 * 24 * time.Hour

// finishing are commands that complete a package whose maintainer scripts were
// not run: package, command.
//
//go:embed finish.tsv
var finishing string

func (in *Installer) apt(ctx context.Context, r Request) (Layer, error) {
	system, arch, err := in.debian(ctx, r)
	if err != nil {
		return Layer{}, err
	}
	r.Packages = sorted(r.Packages)
	return in.made(r, system+" "+arch, nil, func(r Request, b *build, l *Layer) error {
		var got fetched
		files, err := in.runApt(ctx, r, b, &got)
		if err != nil {
			return err
		}
		l.took(files)
		if err := in.finishDebs(ctx, r, *l, b); err != nil {
			return err
		}
		if err := in.verifyDebs(ctx, r, b); err != nil {
			return err
		}
		_ = os.RemoveAll(filepath.Join(b.dir, "apt"))
		return nil
	})
}

// debian finds out whether the box is a Debian-like system at all.
func (in *Installer) debian(ctx context.Context, r Request) (system, arch string, err error) {
	out, _, err := in.ask(ctx, sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", `. /etc/os-release; echo "$ID $VERSION_ID"; dpkg --print-architecture; command -v apt-get >/dev/null`},
		Dir:  "/", Env: r.Env,
	})
	system, rest, ok := strings.Cut(out, "\n")
	if err != nil || !ok {
		return "", "", &Error{Manager: "apt", Reason: "this system has no apt; install " + strings.Join(r.Packages, " ") + " with its own package manager"}
	}
	if root := sandbox.RootOf(in.Runtime); root != "" { // what is missing depends on what is there
		system += " " + Key(root)[:12]
	}
	return system, strings.TrimSpace(rest), nil
}

// runApt fetches and unpacks, and says what it fetched.
func (in *Installer) runApt(ctx context.Context, r Request, b *build, got *fetched) ([]Artefact, error) {
	name := "apt-lists"
	if root := sandbox.RootOf(in.Runtime); root != "" {
		name += "-" + Key(root)[:12]
	}
	lists, err := in.tools().shared(name)
	if err != nil {
		return nil, err
	}
	work := filepath.Join(b.dir, "apt")
	for _, dir := range []string{"state", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			return nil, err
		}
	}
	if !in.freshLists(lists) {
		r.Progress("reading package lists")
		if err := in.aptBox(ctx, r, b, lists, got, "update", "-o", "APT::Update::Error-Mode=any"); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(lists, listsStamp), nil, 0o644); err != nil {
			return nil, err
		}
	}
	r.Progress("fetching " + strings.Join(r.Packages, ", "))
	install := append([]string{"install", "--download-only", "--yes", "--no-install-recommends", "--no-remove"}, r.Packages...)
	if err := in.aptBox(ctx, r, b, lists, got, install...); err != nil {
		return nil, err
	}
	files, err := debs(filepath.Join(work, "cache", "archives"))
	if err == nil && len(files) == 0 {
		err = &Error{Manager: "apt", Reason: "the system says that these packages are installed already", There: true}
	}
	if err == nil {
		err = checkPinned(r, files)
	}
	if err != nil {
		return nil, err
	}
	r.Progress("unpacking " + strings.Join(r.Packages, ", "))
	return files, in.extract(ctx, r, work, b)
}

// listsStamp is written beside the lists when they were fetched; the lists
// themselves carry the times of the archive.
const listsStamp = "fetched"

// freshLists says whether the package lists in dir are there and young.
func (in *Installer) freshLists(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, listsStamp))
	return err == nil && (in.Mirror == nil || in.Mirror.Offline || in.Now().Sub(info.ModTime()) < listsFresh)
}

// aptBox runs apt-get with state, cache and lists of our own: it needs no
// rights, takes no locks of the system and runs nobody's scripts.
func (in *Installer) aptBox(ctx context.Context, r Request, b *build, lists string, got *fetched, args ...string) error {
	const listDir = aptBase + "-lists"
	argv := []string{
		"apt-get", "-q",
		"-o", "Dir::State=" + aptBase + "/state", "-o", "Dir::State::lists=" + listDir,
		"-o", "Dir::State::status=/var/lib/dpkg/status", "-o", "Dir::Cache=" + aptBase + "/cache",
		"-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1",
		"-o", "APT::Update::Post-Invoke::=", "-o", "DPkg::Post-Invoke::=",
	}
	spec := sandbox.Spec{
		Argv: argv, Dir: aptBase, Env: r.Env,
		Mounts: []sandbox.Mount{
			{Source: filepath.Join(b.dir, "apt"), Target: aptBase, Writable: true},
			{Source: lists, Target: listDir, Writable: true},
		},
	}
	if err := in.connect(ctx, r, &spec, filepath.Join(b.dir, "gateway"), got); err != nil {
		return err
	}
	spec.Argv = append(spec.Argv, args...)
	return in.run(ctx, "apt", spec, aptProgress(r), got)
}

func aptProgress(r Request) Request {
	show := r.Progress
	r.Progress = func(line string) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[0], "Get:") {
			show("fetching " + f[4])
		}
	}
	return r
}

// extract unpacks every fetched package into the layer. Top-level directories
// that are links on the host (lib, bin) are links in the layer as well. Names
// that a package's set-up would hand to the alternatives system are linked.
func (in *Installer) extract(ctx context.Context, r Request, work string, b *build) error {
	const script = `set -e
cd ` + aptBase + `-layer
for d in bin sbin lib lib32 lib64 libx32; do
  if [ -L /$d ]; then mkdir -p usr/$d; ln -s usr/$d $d; fi
done
for deb in ` + aptBase + `/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$deb" | tar -x --no-same-owner --no-same-permissions --keep-directory-symlink -f -
done
for deb in ` + aptBase + `/cache/archives/*.deb; do
  dpkg-deb --ctrl-tarfile "$deb" | tar -xOf - ./postinst 2>/dev/null |
    sed -e ':a' -e '/\\$/N; s/\\\n/ /; ta' |
    awk '/^[a-z_]+=[/][^ $]*$/ { i = index($0, "="); of[substr($0, 1, i - 1)] = substr($0, i + 1) }
      { for (name in of) gsub("[$]" name "/", of[name] "/"); print }' |
    grep -o -e '--install  */[a-zA-Z0-9_./+-]*  *[^ ]*  */[a-zA-Z0-9_./+-]*' |
    while read -r _ link _ target; do
      if [ -e ".$target" ] && [ ! -e ".$link" ] && [ ! -e "$link" ]; then mkdir -p ".${link%/*}"; ln -s "$target" ".$link"; fi
    done || true
done
for tool in usr/lib/jvm/*/bin/*; do # a Java hands them over in a loop of its set-up
  link=usr/bin/${tool##*/}
  if [ -x "$tool" ] && [ ! -L "$link" ] && [ ! -e "/$link" ]; then mkdir -p usr/bin; ln -s "/$tool" "$link"; fi
done
for d in bin sbin lib lib32 lib64 libx32; do
  if [ -L $d ]; then rm $d; rmdir usr/$d 2>/dev/null || true; fi
done
find . -type d ! -perm -u+w -exec chmod u+w {} +`
	res, out, err := in.box(ctx, sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Dir: "/tmp", Env: r.Env,
		Mounts: []sandbox.Mount{
			{Source: work, Target: aptBase},
			{Source: b.tree, Target: aptBase + "-layer", Writable: true},
		},
	}, r)
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fail("apt", out, res)
	}
	return nil
}

// finishDebs runs what a package's own set-up would have done and the program
// cannot do without.
func (in *Installer) finishDebs(ctx context.Context, r Request, l Layer, b *build) error {
	scan := bufio.NewScanner(strings.NewReader(finishing))
	for scan.Scan() {
		name, script, ok := strings.Cut(scan.Text(), "\t")
		if !ok || strings.HasPrefix(name, "#") || !hasDeb(l.Versions, name) {
			continue
		}
		res, out, err := in.box(ctx, sandbox.Spec{
			Argv: []string{"/bin/sh", "-c", script}, Dir: "/", Env: r.Env, Layers: r.Layers, Capture: b.tree,
		}, r)
		if err != nil {
			return err
		}
		if res.ExitCode != 0 {
			return fail("apt", out, res)
		}
	}
	return nil
}

// hasDeb says whether a package is among those of a layer; a name with a star
// stands for all that begin so.
func hasDeb(versions []string, name string) bool {
	prefix, family := strings.CutSuffix(name, "*")
	if !family {
		prefix += " "
	}
	return slices.ContainsFunc(versions, func(v string) bool { return strings.HasPrefix(v, prefix) })
}

// verifyDebs looks for commands and libraries in a box that has the layer.
func (in *Installer) verifyDebs(ctx context.Context, r Request, b *build) error {
	const script = `for want in "$@"; do
  case "$want" in
    *.so|*.so.*) found=$(find /usr/lib /usr/local/lib -name "$want" 2>/dev/null | head -n 1);;
    *.h|*.hpp) found=$(find /usr/include /usr/lib -path "*/$want" 2>/dev/null | head -n 1);;
    *) found=$(command -v "$want" || true);;
  esac
  [ -n "$found" ] || echo "$want"
done`
	if len(r.Verify) == 0 {
		return nil
	}
	out, _, err := in.ask(ctx, sandbox.Spec{
		Argv: append([]string{"/bin/sh", "-c", script, "sh"}, r.Verify...), Dir: "/",
		Layers: append([]string{b.tree}, r.Layers...), Env: r.Env,
	})
	if err != nil {
		return &Error{Manager: "apt", Reason: "cannot check the installation: " + err.Error()}
	}
	if missing := strings.Fields(out); len(missing) > 0 {
		return &Error{Manager: "apt", Reason: "installed, but there is still no " + strings.Join(missing, ", ")}
	}
	return nil
}
