package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test binary be a second process with a gateway of its own.
func TestMain(m *testing.M) {
	if spec := os.Getenv("GATEWAY_TEST_CHILD"); spec != "" {
		os.Exit(child(strings.Split(spec, " ")))
	}
	os.Exit(m.Run())
}

// child asks a gateway for one path: cache directory, index, path.
func child(args []string) int {
	g, err := New(Options{CacheDir: args[0], Environ: []string{}, Upstreams: []Upstream{{Ecosystem: "pip", URL: args[1], Private: true}}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	file := strings.TrimPrefix(args[2], "/pip/files/")
	project, file, _ := strings.Cut(file, "/")
	p := g.adapters["pip"].(*pip)
	f, err := p.find(g.life, project, file)
	if err == nil {
		_, err = g.artefact(g.life, p.artefact(project, f), &Entry{})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func startChild(t *testing.T, cache, index, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GATEWAY_TEST_CHILD="+strings.Join([]string{cache, index, path}, " "))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// slow publishes a wheel whose download stops half-way until release is closed.
func (o *origin) slow(project, content string) (file string, half chan struct{}, release chan struct{}) {
	file = o.wheel(project, "1.0", content)
	half, release = make(chan struct{}, 16), make(chan struct{})
	o.on("/files/"+file, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = io.WriteString(w, content[:len(content)/2])
		w.(http.Flusher).Flush()
		half <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, content[len(content)/2:])
	})
	return file, half, release
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("no " + what)
	}
}

func TestKilledDownload(t *testing.T) {
	t.Parallel()
	o, cache := newOrigin(t), t.TempDir()
	content := strings.Repeat("whole", 100_000)
	file, half, release := o.slow("six", content)
	first := startChild(t, cache, o.URL+"/pip", "/pip/files/six/"+file)
	await(t, half, "download in the other process")
	if err := first.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	if err := first.Wait(); err == nil {
		t.Fatal("the killed process ended well")
	}
	if blobs, _ := filepath.Glob(cache + "/blobs/*/*/*"); len(blobs) > 0 {
		t.Errorf("half a file was published: %v", blobs)
	}
	close(release)
	m := open(t, Options{CacheDir: cache, Upstreams: []Upstream{o.upstream("pip")}})
	if status, body := m.get(t, "/pip/files/six/"+file); status != 200 || body != content {
		t.Errorf("after the kill: %d, %d bytes", status, len(body))
	}
	if left, _ := os.ReadDir(cache + "/parts"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestTwoProcessesFetchOnce(t *testing.T) {
	t.Parallel()
	o, cache := newOrigin(t), t.TempDir()
	content := strings.Repeat("whole", 100_000)
	file, half, release := o.slow("six", content)
	other := startChild(t, cache, o.URL+"/pip", "/pip/files/six/"+file)
	await(t, half, "download in the other process")
	m := open(t, Options{CacheDir: cache, Upstreams: []Upstream{o.upstream("pip")}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if status, body := m.get(t, "/pip/files/six/"+file); status != 200 || body != content {
			t.Errorf("%d, %d bytes", status, len(body))
		}
	}()
	select {
	case <-done:
		t.Error("answered before the other process was done")
	case <-time.After(5 * lockPollTest):
	}
	close(release)
	await(t, done, "answer")
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
	if n := o.asked("/files/" + file); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}

// lockPollTest is long enough for a waiting process to look several times.
const lockPollTest = 40 * time.Millisecond

func TestManyWantOneFile(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	file, half, release := o.slow("six", "content")
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}})
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			if status, body := m.get(t, "/pip/files/six/"+file); status != 200 || body != "content" {
				t.Errorf("%d %q", status, body)
			}
		})
	}
	await(t, half, "download")
	close(release)
	wg.Wait()
	if n := o.asked("/files/" + file); n != 1 || o.asked("/pip/six/") > 12 {
		t.Errorf("fetched %d times, the page %d times", n, o.asked("/pip/six/"))
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t), &clock{at: time.Now()}
	file, half, release := o.slow("six", strings.Repeat("x", 1000))
	told := make(chan Progress, 100)
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}, Now: c.now, OnProgress: func(p Progress) { told <- p }})
	done := make(chan struct{})
	go func() { defer close(done); m.get(t, "/pip/files/six/"+file) }()
	await(t, half, "download")
	c.move(progressEvery)
	close(release)
	await(t, done, "answer")
	select {
	case p := <-told:
		if p.Ecosystem != "pip" || p.Name != "six" || p.Version != "1.0" || p.File != file || p.Got == 0 || p.Total != 1000 {
			t.Errorf("%+v", p)
		}
	default:
		t.Error("no progress was told")
	}
}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t), &clock{at: time.Now()}
	matched := 0
	o.on("/pip/six/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Cache-Control", "public, max-age=1800")
		if r.Header.Get("If-None-Match") == `"v1"` {
			matched++
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", pipJSON)
		_, _ = io.WriteString(w, pipPage("six", "six-1.0-py3-none-any.whl", sha("x")))
	})
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}, Now: c.now, Limits: Limits{Fresh: time.Minute, FreshMost: time.Hour}})
	for i, step := range []struct {
		wait           time.Duration
		asked, matched int
	}{{0, 1, 0}, {0, 1, 0}, {20 * time.Minute, 1, 0}, {15 * time.Minute, 2, 1}, {10 * time.Minute, 2, 1}, {2 * time.Hour, 3, 2}} {
		c.move(step.wait)
		if status, body := m.get(t, "/pip/simple/six/"); status != 200 || !strings.Contains(body, "six-1.0") {
			t.Fatalf("step %d: %d %s", i, status, body)
		}
		if o.asked("") != step.asked || matched != step.matched {
			t.Errorf("step %d: asked %d times, %d unchanged; want %d and %d", i, o.asked(""), matched, step.asked, step.matched)
		}
	}
	o.Close()
	c.move(24 * time.Hour)
	if status, _ := m.get(t, "/pip/simple/six/"); status != 200 {
		t.Errorf("an index that does not answer: %d", status)
	}
	if e := m.last(t, 7); !e.Stale {
		t.Errorf("the record does not say that the page is old: %+v", e)
	}
}

func TestOffline(t *testing.T) {
	t.Parallel()
	o, cache := newOrigin(t), t.TempDir()
	file := o.wheel("six", "1.0", "x")
	two := strings.Replace(pipPage("six", "../../files/"+file, sha("x")), `"files":[`, `"files":[{"filename":"six-2.0-py3-none-any.whl","url":"/2","hashes":{"sha256":"`+sha("y")+`"}},`, 1)
	o.text("/pip/six/", pipJSON, two)
	o.text("/npm/ms", "application/json", `{"name":"ms","dist-tags":{"latest":"2.0.0"},"versions":{"2.0.0":{"name":"ms","version":"2.0.0","dist":{"tarball":"`+
		o.URL+`/files/ms-2.0.0.tgz","integrity":"sha256-LXEWQrcmsEQBYnyp++6gM5mD4mIpRs+CpqGKUkFlCDM="}}}}`)
	o.text("/cargo/config.json", "", `{"dl":"`+o.URL+`/files/{crate}-{version}"}`)
	o.text("/cargo/3/c/cfg", "", `{"name":"cfg","vers":"1.0.0","cksum":"`+sha("x")+`"}`+"\n"+`{"name":"cfg","vers":"2.0.0","cksum":"`+sha("y")+`"}`+"\n")
	ups := []Upstream{o.upstream("pip"), o.upstream("npm"), o.upstream("cargo")}
	online := open(t, Options{CacheDir: cache, Upstreams: ups})
	for _, path := range []string{"/pip/files/six/" + file, "/npm/ms", "/cargo/3/c/cfg"} {
		if status, body := online.get(t, path); status != 200 {
			t.Fatalf("%s: %d %s", path, status, body)
		}
	}
	asked := o.asked("")
	off := open(t, Options{CacheDir: cache, Upstreams: ups, Offline: true})
	status, body := off.get(t, "/pip/simple/six/", "Accept", pipJSON)
	if status != 200 || !strings.Contains(body, "six-1.0") || strings.Contains(body, "six-2.0") {
		t.Errorf("only what is here may be offered: %d %s", status, body)
	}
	if status, body := off.get(t, "/pip/files/six/"+file); status != 200 || body != "x" {
		t.Errorf("the file: %d %q", status, body)
	}
	if status, body := off.get(t, "/npm/ms"); status != 200 || strings.Contains(body, "2.0.0") {
		t.Errorf("only what is here may be offered: %d %s", status, body)
	}
	if status, body := off.get(t, "/cargo/3/c/cfg"); status != 200 || !strings.Contains(body, "1.0.0") || strings.Contains(body, "2.0.0") {
		t.Errorf("only what is here may be offered: %d %s", status, body)
	}
	mustRefuse(t, off, "/pip/simple/seven/", statusAbsent, "seven is not in the package cache (offline); in the cache for pip: six 1.0")
	mustRefuse(t, off, "/npm/other", statusAbsent, "in the cache for npm: nothing")
	if o.asked("") != asked {
		t.Errorf("offline, but the upstream was asked %d times", o.asked("")-asked)
	}
}

// Without a network one time-out must do for all packages.
func TestNetworkGone(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	file := o.wheel("six", "1.0", "x")
	c := &clock{at: time.Now()}
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}, Now: c.now})
	if status, _ := m.get(t, "/pip/files/six/"+file); status != 200 {
		t.Fatal(status)
	}
	o.Close()
	c.move(2 * time.Hour)
	mustRefuse(t, m, "/pip/simple/seven/", statusAbsent, "six 1.0")
	if status, body := m.get(t, "/pip/simple/six/"); status != 200 || !strings.Contains(body, file) {
		t.Errorf("%d %s", status, body)
	}
	if !m.down.is(strings.TrimPrefix(o.URL, "http://")) {
		t.Error("the host is not known to be down")
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	o, c, dir := newOrigin(t), &clock{at: time.Now().Add(-48 * time.Hour)}, t.TempDir()
	m := open(t, Options{CacheDir: dir, Upstreams: []Upstream{o.upstream("pip")}, Now: c.now})
	files := map[string]string{}
	for _, p := range []string{"aa", "bb", "cc"} {
		files[p] = o.wheel(p, "1.0", strings.Repeat(p, 50_000))
		m.get(t, "/pip/files/"+p+"/"+files[p])
		c.move(time.Hour)
	}
	m.get(t, "/pip/files/aa/"+files["aa"]) // used again: bb is now the oldest
	if err := os.WriteFile(filepath.Join(dir, "parts", "sha256-abandoned"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := m.Info()
	if err != nil || in.Artefacts != 3 || in.Bytes < 300_000 || len(in.By) != 1 || fmt.Sprint(in.By[0].Packages) != "[aa 1.0 bb 1.0 cc 1.0]" {
		t.Errorf("%+v %v", in, err)
	}
	if freed, err := m.Prune(250_000); err != nil || freed < 100_000 {
		t.Errorf("freed %d, %v", freed, err)
	}
	if in, _ = CacheInfo(dir); fmt.Sprint(in.By[0].Packages) != "[aa 1.0 cc 1.0]" {
		t.Errorf("kept %v", in.By[0].Packages)
	}
	if _, err := os.Stat(filepath.Join(dir, "parts", "sha256-abandoned")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a part that nobody writes is still there")
	}
	if _, err := PruneCache(dir, 0); err != nil {
		t.Error(err)
	}
	if in, _ = CacheInfo(dir); in.Bytes != 0 {
		t.Errorf("%d bytes left", in.Bytes)
	}
	if status, _ := m.get(t, "/pip/files/bb/"+files["bb"]); status != 200 {
		t.Errorf("after pruning: %d", status)
	}
}

func TestBoundedWhileFilling(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	m := open(t, Options{Upstreams: []Upstream{o.upstream("pip")}, Limits: Limits{Cache: 1 << 20}})
	for i := range 30 {
		p := fmt.Sprintf("p%d", i)
		f := o.wheel(p, "1.0", strings.Repeat(p, 40_000))
		if status, body := m.get(t, "/pip/files/"+p+"/"+f); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	if in, err := m.Info(); err != nil || in.Bytes > 1<<20+1<<18 || in.Artefacts < 3 {
		t.Errorf("%+v %v", in, err)
	}
}

// A file that was cut short on disk is fetched again.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	o, dir := newOrigin(t), t.TempDir()
	file := o.wheel("six", "1.0", "content")
	m := open(t, Options{CacheDir: dir, Upstreams: []Upstream{o.upstream("pip")}})
	m.get(t, "/pip/files/six/"+file)
	for pattern, data := range map[string]string{"/blobs/*/*/*": "con", "/pages/pip/*": "{}", "/files/pip/*": "not json"} {
		found, _ := filepath.Glob(dir + pattern)
		if len(found) == 0 {
			t.Fatalf("nothing in %s", pattern)
		}
		for _, f := range found {
			if err := os.WriteFile(f, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if status, body := m.get(t, "/pip/files/six/"+file); status != 200 || body != "content" {
			t.Errorf("%s damaged: %d %q", pattern, status, body)
		}
	}
}
