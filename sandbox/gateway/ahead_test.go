package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/dirhash"
)

// goOrigin publishes versions of example.test/m, with a checksum database.
type goOrigin struct {
	*origin
	up Upstream
}

const modulePages = "/go/example.test/m/@v/"

func newGoOrigin(t *testing.T, versions ...string) goOrigin {
	o := goOrigin{origin: newOrigin(t)}
	o.up = o.upstream("go")
	o.up.Sum = "sum.example.test"
	o.text("/go/sumdb/sum.example.test/supported", "", "")
	for _, v := range versions {
		data := moduleZip(t, "example.test/m", v, "module example.test/m\n")
		path := filepath.Join(t.TempDir(), "m.zip")
		write(t, path, string(data))
		h1, err := dirhash.HashZip(path, dirhash.Hash1)
		if err != nil {
			t.Fatal(err)
		}
		o.text("/go/sumdb/sum.example.test/lookup/example.test/m@"+v, "text/plain", "1\nexample.test/m "+v+" "+h1+"\nexample.test/m "+v+"/go.mod h1:x\n\nsigned\n")
		o.text(modulePages+v+".info", "", `{"Version":"`+v+`"}`)
		o.text(modulePages+v+".zip", "", string(data))
	}
	return o
}

// hold makes a file of the origin wait half-way until release is closed or the
// gateway goes away, which is told on gone.
func (o goOrigin) hold(path string) (half, release, gone chan struct{}) {
	half, release, gone = make(chan struct{}, 16), make(chan struct{}), make(chan struct{}, 16)
	o.mu.Lock()
	whole := o.pages[path]
	o.mu.Unlock()
	o.on(path, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "PK")
		w.(http.Flusher).Flush()
		half <- struct{}{}
		select {
		case <-release:
			whole(&skipping{w, 2}, r)
		case <-r.Context().Done():
			gone <- struct{}{}
		}
	})
	return half, release, gone
}

// skipping leaves out the first bytes.
type skipping struct {
	http.ResponseWriter
	n int
}

func (s *skipping) Write(p []byte) (int, error) {
	n := min(s.n, len(p))
	s.n -= n
	m, err := s.ResponseWriter.Write(p[n:])
	return n + m, err
}

// until waits for what the gateway does by itself.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still no " + what)
		}
	}
}

// The zip is on its way when the client has only asked about the version; the
// record of the request for it says where it came from.
func TestGoZipComesAhead(t *testing.T) {
	t.Parallel()
	o := newGoOrigin(t, "v1.0.0")
	m := open(t, Options{Upstreams: []Upstream{o.up}})
	m.get(t, modulePages+"v1.0.0.info")
	until(t, "zip in the cache", func() bool { return m.store.has(byURL(o.URL + modulePages + "v1.0.0.zip")) })
	if status, _ := m.get(t, modulePages+"v1.0.0.zip"); status != 200 || o.asked(modulePages+"v1.0.0.zip") != 1 {
		t.Errorf("%d, the upstream was asked %d times", status, o.asked(modulePages+"v1.0.0.zip"))
	}
	if e := m.last(t, 2); e.Hit || e.Verified != "sumdb" || e.Upstream != "127.0.0.1" {
		t.Errorf("the record says %+v", e)
	}
	m.get(t, modulePages+"v1.0.0.zip")
	if e := m.last(t, 3); !e.Hit {
		t.Errorf("the second time the record says %+v", e)
	}
	off := open(t, Options{Upstreams: []Upstream{o.up}, CacheDir: m.store.dir, Offline: true})
	off.store.forget(byURL(o.URL + modulePages + "v1.0.0.zip"))
	off.get(t, modulePages+"v1.0.0.info")
	mustRefuse(t, off, modulePages+"v1.0.0.zip", statusAbsent, "offline")
}

// What came ahead is not served unless its hash is right.
func TestWrongZipAhead(t *testing.T) {
	t.Parallel()
	o := newGoOrigin(t, "v1.0.0")
	zip := modulePages + "v1.0.0.zip"
	bad := moduleZip(t, "example.test/m", "v1.0.0", "module evil\n")
	checked := make(chan struct{}, 16)
	o.on(zip, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bad); checked <- struct{}{} })
	m := open(t, Options{Upstreams: []Upstream{o.up}})
	m.get(t, modulePages+"v1.0.0.info")
	await(t, checked, "download ahead")
	mustRefuse(t, m, zip, statusPolicy, "checksum database")
	until(t, "empty parts", func() bool {
		left, err := os.ReadDir(filepath.Join(m.store.dir, "parts"))
		return err == nil && len(left) == 0
	})
	if m.store.has(byURL(o.URL + zip)) {
		t.Error("the wrong zip is in the cache")
	}
}

// Rules and bounds of a session hold for what comes ahead.
func TestAheadIsBounded(t *testing.T) {
	t.Parallel()
	o := newGoOrigin(t, "v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0")
	zips := func() (n int) {
		for i := range 4 {
			n += o.asked(fmt.Sprintf("%sv1.%d.0.zip", modulePages, i))
		}
		return n
	}
	rule := func(_, name string) error { return errors.New(name + " is not for you") }
	m := openSession(t, Options{Upstreams: []Upstream{o.up}}, Session{Allow: rule})
	mustRefuse(t, m, modulePages+"v1.0.0.info", statusPolicy, "not for you")
	if n := o.asked(""); n != 0 {
		t.Errorf("a refused module made %d requests", n)
	}

	half, release, _ := o.hold(modulePages + "v1.0.0.zip")
	half2, release2, _ := o.hold(modulePages + "v1.1.0.zip")
	m = open(t, Options{Upstreams: []Upstream{o.up}})
	m.get(t, modulePages+"v1.0.0.info")
	m.get(t, modulePages+"v1.1.0.info")
	await(t, half, "first zip")
	await(t, half2, "second zip")
	m.get(t, modulePages+"v1.2.0.info")
	m.get(t, modulePages+"v1.3.0.info")
	if n := zips(); n != aheadFiles {
		t.Errorf("%d zips at once, want %d", n, aheadFiles)
	}
	close(release)
	close(release2)

	m = open(t, Options{Upstreams: []Upstream{o.up}, Limits: Limits{Artefact: 100}})
	o.on(modulePages+"v1.2.0.info", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	sent := make(chan int, 16)
	o.on(modulePages+"v1.2.0.zip", func(w http.ResponseWriter, r *http.Request) {
		n, err := 0, error(nil)
		for chunk := make([]byte, 4<<10); err == nil && r.Context().Err() == nil; n++ {
			_, err = w.Write(chunk)
		}
		sent <- n
	})
	m.get(t, modulePages+"v1.2.0.info")
	select {
	case <-sent: // it was stopped
	case <-time.After(10 * time.Second):
		t.Error("an endless zip is fetched without end")
	}
	mustRefuse(t, m, modulePages+"v1.2.0.zip", statusPolicy, "larger than")
}

// What nobody waits for ends with the session; who does wait gets it.
func TestAheadEndsWithItsSession(t *testing.T) {
	t.Parallel()
	o := newGoOrigin(t, "v1.0.0")
	zip := modulePages + "v1.0.0.zip"
	half, release, gone := o.hold(zip)
	second := make(chan struct{}, 16)
	m := openSession(t, Options{Upstreams: []Upstream{o.up}}, Session{Allow: func(_, _ string) error { second <- struct{}{}; return nil }})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.ServeSession(l, Session{}) }()
	other := &mirror{Gateway: m.Gateway, base: "http://" + l.Addr().String()}
	other.get(t, modulePages+"v1.0.0.info")
	await(t, half, "download ahead")
	got := make(chan string, 1)
	go func() { _, body := m.get(t, zip); got <- body }()
	await(t, second, "second client")
	l.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	await(t, gone, "end of the download")
	await(t, half, "download for the other session")
	close(release)
	if body := <-got; !strings.HasPrefix(body, "PK") || strings.Contains(body, "kintsugi") {
		t.Errorf("the other session got %q", body)
	}
}

// Close leaves nobody behind who still writes to the cache.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	o := newGoOrigin(t, "v1.0.0")
	half, _, _ := o.hold(modulePages + "v1.0.0.zip")
	m := open(t, Options{Upstreams: []Upstream{o.up}})
	m.get(t, modulePages+"v1.0.0.info")
	await(t, half, "download")
	m.Close()
	if left, err := os.ReadDir(filepath.Join(m.store.dir, "parts")); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Serve(l); err != nil {
		t.Error(err)
	}
	if c, err := l.Accept(); err == nil {
		c.Close()
		t.Error("a closed gateway listens")
	}
}
