package gateway

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// benchRounds is how often each way is measured; the best round counts,
// because a shared machine only ever adds time.
const benchRounds = 3

// BenchmarkInstall compares the same client going direct, through an empty
// gateway, and through a gateway that another session filled. It reports
// cold/direct (smaller is better) and direct/second (larger is better).
func BenchmarkInstall(b *testing.B) {
	for _, c := range []struct {
		name, eco string
		argv      []string
	}{
		{"pip", "pip", []string{"python3", "-m", "pip", "download", "-q", "--no-cache-dir", "--only-binary", ":all:", "-d", "out", "pandas"}},
		{"npm", "npm", []string{"npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", ".", "--cache", "cache", "express@4"}},
		{"go", "go", []string{"env", "GOMODCACHE=mod", "GOFLAGS=-modcacherw -mod=mod", "go", "mod", "download", "-x", "github.com/spf13/cobra@v1.8.0"}},
		{"cargo", "cargo", []string{"cargo", "fetch", "-q"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := realIndex(b, c.eco)
			for b.Loop() {
				direct, cold, second := time.Hour, time.Hour, time.Hour
				for range benchRounds {
					direct = min(direct, timed(func() { install(b, nil, c.eco, c.argv) }))
					fresh := serveReal(b, Options{CacheDir: b.TempDir(), Upstreams: m.opts.Upstreams})
					cold = min(cold, timed(func() { install(b, fresh, c.eco, c.argv) }))
					second = min(second, timed(func() { install(b, fresh, c.eco, c.argv) }))
				}
				b.ReportMetric(direct.Seconds(), "direct-s")
				b.ReportMetric(cold.Seconds()/direct.Seconds(), "cold/direct")
				b.ReportMetric(direct.Seconds()/second.Seconds(), "direct/second")
			}
		})
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// install runs a client in a directory of its own, through m or direct.
func install(b *testing.B, m *mirror, eco string, argv []string) {
	b.Helper()
	dir := b.TempDir()
	write(b, dir+"/package.json", `{"name":"x","version":"1.0.0"}`)
	write(b, dir+"/Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\nregex = \"1\"\n")
	write(b, dir+"/src/lib.rs", "")
	write(b, dir+"/go.mod", "module x\n\ngo 1.21\n")
	argv = absolute(argv, dir)
	if m != nil {
		m.runs(b, eco, dir, argv...)
		return
	}
	env := append(os.Environ(), "HOME="+dir, "PIP_FIND_LINKS=", "CARGO_HOME="+dir+"/home")
	env = append(env, nowhere(dir)[len(nowhere(dir))-2:]...)
	run(b, dir, env, argv...)
}

// absolute puts dir in front of the arguments that are folders.
func absolute(argv []string, dir string) []string {
	out := append([]string{}, argv...)
	for i, a := range out {
		switch a {
		case "out", "cache":
			out[i] = filepath.Join(dir, a)
		case "GOMODCACHE=mod":
			out[i] = "GOMODCACHE=" + dir + "/mod"
		}
	}
	return out
}
