package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// benchRounds is how often each way is measured, in turns; medians count.
const benchRounds = 5

// BenchmarkInstall compares the same client going direct, through an empty
// gateway, and through a gateway that another session filled. It reports
// cold/direct (smaller is better) and direct/second (larger is better).
func BenchmarkInstall(b *testing.B) {
	for _, c := range benchClients {
		b.Run(c.eco, func(b *testing.B) { compare(b, c.eco, c.argv, benchRounds, nil) })
	}
}

// BenchmarkHomeLink is the same behind a link of a home: 20 Mbit/s, 30 ms. On
// a faster network the client's own work hides what the cache saves.
func BenchmarkHomeLink(b *testing.B) {
	for _, c := range benchClients {
		b.Run(c.eco, func(b *testing.B) {
			proxy := newLink(b, 20e6/8, 30*time.Millisecond)
			compare(b, c.eco, c.argv, 1, []string{"HTTPS_PROXY=" + proxy, "https_proxy=" + proxy})
		})
	}
}

var benchClients = []struct {
	eco  string
	argv []string
}{
	{"pip", []string{"python3", "-m", "pip", "download", "-q", "--no-cache-dir", "--only-binary", ":all:", "-d", "out", "pandas"}},
	{"npm", []string{"npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", ".", "--cache", "cache", "express@4", "typescript"}},
	{"go", []string{"env", "GOMODCACHE=mod", "GOFLAGS=-modcacherw -mod=mod", "go", "mod", "download", "github.com/aws/aws-sdk-go@v1.50.0"}},
	{"cargo", []string{"cargo", "fetch", "-q"}},
}

// compare runs one client direct, cold and warm, with link set for whoever
// goes out to the registry.
func compare(b *testing.B, eco string, argv []string, rounds int, link []string) {
	m := realIndex(b, eco)
	for b.Loop() {
		var direct, cold, second []time.Duration
		for range rounds {
			direct = append(direct, timed(func() { install(b, nil, eco, argv, link) }))
			fresh := serveReal(b, Options{CacheDir: b.TempDir(), Upstreams: m.opts.Upstreams, Environ: append(os.Environ(), link...)})
			cold = append(cold, timed(func() { install(b, fresh, eco, argv, nil) }))
			second = append(second, timed(func() { install(b, fresh, eco, argv, nil) }))
		}
		b.ReportMetric(median(direct), "direct-s")
		b.ReportMetric(median(cold)/median(direct), "cold/direct")
		b.ReportMetric(median(direct)/median(second), "direct/second")
	}
}

// median gives seconds.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return times[len(times)/2].Seconds()
}

// newLink is a proxy that is as slow as a link: bytes per second for all
// connections together, and a delay for each new one.
func newLink(b *testing.B, rate float64, delay time.Duration) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	k := &link{rate: rate, delay: delay}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go k.serve(c)
		}
	}()
	return "http://" + l.Addr().String()
}

type link struct {
	rate  float64
	delay time.Duration

	mu   sync.Mutex
	free time.Time // when the line is free again
}

func (k *link) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	if err != nil || req.Method != http.MethodConnect {
		return
	}
	time.Sleep(k.delay)
	up, err := net.Dial("tcp", req.Host)
	if err != nil {
		return
	}
	defer up.Close()
	fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(up, r); up.Close() }()
	buf := make([]byte, 16<<10)
	for {
		n, err := up.Read(buf)
		if n > 0 {
			k.wait(n)
			if _, err := c.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait takes the time that n bytes need on the line.
func (k *link) wait(n int) {
	k.mu.Lock()
	if now := time.Now(); k.free.Before(now) {
		k.free = now
	}
	k.free = k.free.Add(time.Duration(float64(n) / k.rate * float64(time.Second)))
	until := k.free
	k.mu.Unlock()
	time.Sleep(time.Until(until))
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// install runs a client in a directory of its own, through m or direct.
func install(b *testing.B, m *mirror, eco string, argv, link []string) {
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
	run(b, dir, append(env, link...), argv...)
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
