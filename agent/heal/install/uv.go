package install

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"kintsugi/sandbox"
	"kintsugi/sandbox/gateway"
)

// uvPath is where a box finds uv.
const uvPath = "/kintsugi-tools/uv"

// uvPatience is how long an installation waits for uv to be fetched. On a slow
// line the first one does without, while the download goes on for the next.
const uvPatience = 4 * time.Second

// uv is a path on the host of an uv that runs in a box of that platform, or ""
// when there is none: the user's own, the one fetched before, or one that can
// be had soon. patience bounds the last.
func (in *Installer) uv(ctx context.Context, platform string, patience time.Duration) string {
	if in.WithoutUV {
		return ""
	}
	if own := in.ownUV(); own != "" {
		return own
	}
	key := Key("tool", "uv", platform)
	if l, ok := in.tools().Find(key); ok {
		return filepath.Join(l.Tree, "uv")
	}
	if in.Mirror == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l, err := in.fetchUV(ctx, key, platform)
	if err != nil {
		return ""
	}
	return filepath.Join(l.Tree, "uv")
}

// ownUV is the user's uv. Only a file that anyone may run can be shown to a
// box.
func (in *Installer) ownUV() string {
	var environ []string
	if in.Mirror != nil {
		environ = in.Mirror.Environ
	}
	for _, kv := range environ {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			file, err := filepath.EvalSymlinks(filepath.Join(dir, "uv"))
			if err != nil {
				continue
			}
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 == 0o111 && runsHere(file) {
				return file
			}
		}
	}
	return ""
}

// runsHere sorts out scripts and shims, which lead to files that a box does
// not see.
func runsHere(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) != "#!" && exec.Command(file, "--version").Run() == nil
}

// fetchUV takes uv out of its wheel, which holds a static program.
func (in *Installer) fetchUV(ctx context.Context, key, platform string) (Layer, error) {
	g, err := in.Mirror.gateway(ctx, "pip")
	if err != nil {
		return Layer{}, err
	}
	fits := uvWheels(platform)
	if fits == nil {
		return Layer{}, errors.New("no uv is known for " + platform)
	}
	wheel, e, err := g.Wheel(ctx, "uv", gateway.Session{}, fits)
	if err != nil {
		return Layer{}, err
	}
	defer wheel.Close()
	b, err := in.tools().begin()
	if err != nil {
		return Layer{}, err
	}
	defer b.drop()
	if err := unzipProgram(wheel, "uv", filepath.Join(b.tree, "uv")); err != nil {
		return Layer{}, err
	}
	return b.finish(Layer{
		Key: key, Manager: "tool", Packages: []string{"uv"}, Versions: []string{"uv " + e.Version}, Installed: in.Now(),
		Artefacts: []Artefact{{Ecosystem: "pip", Name: "uv", Version: e.Version, File: e.Artefact, Hash: e.Hash}},
	})
}

// uvWheels says which wheels of uv run on a platform, as Python names it
// ("linux-x86_64"). Those for musl are static and run on any Linux.
func uvWheels(platform string) func(file string) bool {
	arch, ok := strings.CutPrefix(platform, "linux-")
	if !ok {
		return nil
	}
	return regexp.MustCompile(`-musllinux_1_[12]_` + regexp.QuoteMeta(arch) + `\.whl$`).MatchString
}

// maxProgram bounds what is unpacked as a program, in bytes.
const maxProgram = 256 << 20

// unzipProgram writes the program of that name in a wheel's scripts to file.
func unzipProgram(wheel *os.File, name, file string) error {
	info, err := wheel.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(wheel, info.Size())
	if err != nil {
		return err
	}
	for _, f := range z.File {
		if path.Base(f.Name) == name && strings.HasSuffix(path.Dir(f.Name), ".data/scripts") {
			return unzipOne(f, file)
		}
	}
	return fmt.Errorf("the wheel has no program %s", name)
}

func unzipOne(f *zip.File, file string) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxProgram+1))
	if n > maxProgram {
		err = errors.Join(err, errors.New("the program is too large"))
	}
	return errors.Join(err, out.Close())
}

// uvSpec is a box in which uv installs into the site folder of p. Its cache
// lies beside the site so that files need not be copied.
func uvSpec(uv string, p python, base string) sandbox.Spec {
	return sandbox.Spec{
		Argv: []string{
			uvPath, "pip", "install", "--python", p.Executable, "--target", p.Site, "--only-binary", ":all:",
			"--link-mode", "hardlink", "--cache-dir", uvCache, "--no-progress",
		},
		Mounts: []sandbox.Mount{
			{Source: base, Target: "/kintsugi", Writable: true},
			{Source: uv, Target: uvPath},
		},
		Env: []string{"UV_NO_CONFIG=1", "UV_PYTHON_DOWNLOADS=never", "NO_COLOR=1"},
	}
}

const uvCache = "/kintsugi/.uv"

// uvProgress makes uv's lines short enough for a status line.
func uvProgress(r Request) Request {
	show := r.Progress
	r.Progress = func(line string) {
		for _, word := range []string{"Downloading", "Resolved", "Installed"} {
			if strings.HasPrefix(line, word) {
				show(strings.ToLower(word[:1]) + line[1:])
			}
		}
	}
	return r
}

// uvReason is what uv says went wrong: a tree of sentences, broken into lines.
func uvReason(output string) string {
	_, tree, ok := strings.Cut(output, "  × ")
	if !ok {
		if _, tree, ok = strings.Cut("\n"+output, "\nerror: "); !ok {
			return ""
		}
	}
	tree, _, _ = strings.Cut(tree, "\n\n")
	words := strings.Fields(strings.NewReplacer("╰─▶", ":", "├─▶", ":", "│", " ", "cause: ", ": ").Replace(tree))
	return strings.TrimSuffix(strings.ReplaceAll(strings.Join(words, " "), " :", ":"), ".")
}
