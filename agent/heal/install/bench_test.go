package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// benchRounds is how often each way is measured; the best round counts,
// because a shared machine only ever adds time.
const benchRounds = 3

// BenchmarkPandas compares an installation of pandas by the client itself, on
// this machine and past the gateway, with ours: in boxes, through an empty
// gateway (cold), through one that another session filled (cached), and where
// the layer is there already (layer). All make byte code. "first" is a machine
// without uv, which fetches it on the way; its direct client is pip.
func BenchmarkPandas(b *testing.B) {
	for _, client := range []string{"pip", "uv", "first"} {
		b.Run(client, func(b *testing.B) {
			for b.Loop() {
				comparePandas(b, client)
			}
		})
	}
}

func comparePandas(b *testing.B, client string) {
	direct, cold, cached, layer := time.Hour, time.Hour, time.Hour, time.Hour
	r := pots("pandas")
	for range benchRounds {
		in := benchInstaller(b, client)
		argv := []string{"/usr/bin/python3", "-m", "pip", "install", "-q", "--no-cache-dir"}
		if client == "uv" {
			argv = []string{in.ownUV(), "pip", "install", "-q", "--python", "/usr/bin/python3", "--compile-bytecode", "--cache-dir", b.TempDir()}
		}
		argv = append(argv, "--only-binary", ":all:", "--target", b.TempDir(), "pandas")
		direct = min(direct, timed(func() { mustRun(b, argv...) }))
		cold = min(cold, timed(func() { mustInstall(b, in, r) }))
		in.Store = Store{Dir: b.TempDir()}
		cached = min(cached, timed(func() { mustInstall(b, in, r) }))
		layer = min(layer, timed(func() { mustInstall(b, in, r) }))
	}
	b.ReportMetric(direct.Seconds(), "direct-s")
	b.ReportMetric(cold.Seconds()/direct.Seconds(), "cold/direct")
	b.ReportMetric(direct.Seconds()/cached.Seconds(), "direct/cached")
	b.ReportMetric(direct.Seconds()/layer.Seconds(), "direct/layer")
	b.ReportMetric(float64(layer.Microseconds())/1000, "layer-ms")
}

func benchInstaller(b *testing.B, client string) *Installer {
	in := &Installer{
		Runtime: realRuntime(b), Store: Store{Dir: b.TempDir()}, Mirror: &Mirror{CacheDir: b.TempDir(), Environ: os.Environ()},
		Now: time.Now, WithoutUV: client == "pip",
	}
	b.Cleanup(in.Mirror.Close)
	if client == "uv" {
		withUV(b, in)
	}
	return in
}

func mustInstall(b *testing.B, in *Installer, r Request) Layer {
	b.Helper()
	l, err := in.Install(context.Background(), r)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// BenchmarkImport says what byte code is worth: a program that imports pandas,
// with and without it.
func BenchmarkImport(b *testing.B) {
	in := benchInstaller(b, "pip")
	l := mustInstall(b, in, pots("pandas"))
	bare := b.TempDir()
	if out, err := exec.Command("cp", "-r", l.Tree, bare).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	mustRun(b, "find", bare, "-name", "__pycache__", "-prune", "-exec", "rm", "-r", "{}", "+")
	for name, tree := range map[string]string{"with": l.Tree, "without": filepath.Join(bare, "tree")} {
		b.Run(name, func(b *testing.B) {
			site, _ := filepath.Glob(filepath.Join(tree, "kintsugi/python/lib/python3*/site-packages"))
			for b.Loop() {
				cmd := exec.Command("/usr/bin/python3", "-B", "-c", "import pandas")
				cmd.Env = append(os.Environ(), "PYTHONPATH="+site[0])
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}
